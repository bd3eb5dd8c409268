/* thread_name.h - what threading.Thread calls the thread that it is about to start. */
#ifndef PROFTRACE_PYTHON_THREAD_NAME_H
#define PROFTRACE_PYTHON_THREAD_NAME_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Called inside pthread_create. Writes the name as UTF-8 with an end, cut to whole characters, if
 * the calling thread runs Thread.start; false otherwise. Runs no Python code.
 */
bool thread_name_starting(char *name, size_t n_bytes);

#endif
