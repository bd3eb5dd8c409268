/*
 * exits.h - the ways out of the process that no atexit handler sees: os._exit and exec.
 *
 * The functions in `os` and `posix` are replaced by builtins of the same name and signature that
 * end the session (lines/ending.h) and then call the real ones.
 */
#ifndef PROFTRACE_PYTHON_EXITS_H
#define PROFTRACE_PYTHON_EXITS_H

#include "python/compat.h"

#include "base/compiler.h"

#include <stdbool.h>

/* -1 with an exception set. */
NODISCARD int exits_install(void);

/* Whether what the next exec makes of this process goes on with the session. */
void exits_exec_is_followed(bool is_followed);

#endif
