/* demangle.h - names of C++ and Rust as people write them. */
#ifndef PROFTRACE_PROFILE_DEMANGLE_H
#define PROFTRACE_PROFILE_DEMANGLE_H

#include "base/compiler.h"

/*
 * A new text (malloc): the name as it is in the source, or a copy of the name when it is not
 * mangled or nobody here can tell. NULL without memory.
 */
NODISCARD char *demangle(const char *name);

#endif
