/*
 * starts.h - the ways in which a Python program starts other programs.
 *
 * The functions of `os` are replaced by builtins of the same name and signature, and what
 * _posixsubprocess.fork_exec calls by a function of ours. They let Python code of ours change the
 * arguments first, so that a Python that is started is followed.
 */
#ifndef PROFTRACE_PYTHON_STARTS_H
#define PROFTRACE_PYTHON_STARTS_H

#include "python/compat.h"

#include "base/compiler.h"

/*
 * `adjust(name, args, kwargs)` returns the arguments to call the function with, as a tuple of both;
 * whatever it raises, the program's own are taken. To be called once, after exits_install. -1 with
 * an exception set.
 */
NODISCARD int starts_install(PyObject *adjust);

#endif
