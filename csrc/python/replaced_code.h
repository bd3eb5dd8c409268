/*
 * replaced_code.h - functions that get other code (`f.__code__ = ...`) while they are profiled: the
 * events are those of the code object, and would be lost without a word.
 */
#ifndef PROFTRACE_PYTHON_REPLACED_CODE_H
#define PROFTRACE_PYTHON_REPLACED_CODE_H

#include "python/compat.h"

#include "base/compiler.h"

/*
 * Calls `callback(function, code)` before a function whose code is in the registry gets one that is
 * not. -1 with an exception set.
 */
NODISCARD int replaced_code_watch(PyObject *callback);

#endif
