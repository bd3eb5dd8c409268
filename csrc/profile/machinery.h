/* machinery.h - which functions of the interpreter say nothing about a program. */
#ifndef PROFTRACE_PROFILE_MACHINERY_H
#define PROFTRACE_PROFILE_MACHINERY_H

#include <stdbool.h>

/* The interpreter's loop itself. */
bool machinery_is_loop(const char *name);

/* How the interpreter calls, imports, starts programs and gets memory. */
bool machinery_is_hidden(const char *name);

/* A file of the C library, by its path: where programs and threads begin. */
bool machinery_is_c_library(const char *path);

/* A program file of Python's, by its path. */
bool machinery_is_python(const char *path);

#endif
