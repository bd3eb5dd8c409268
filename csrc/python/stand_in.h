/*
 * stand_in.h - functions of ours in the place of functions of the interpreter: the program calls
 * them by the same name, and they call the real ones.
 */
#ifndef PROFTRACE_PYTHON_STAND_IN_H
#define PROFTRACE_PYTHON_STAND_IN_H

#include "python/compat.h"

#include "base/compiler.h"

#include <stdbool.h>

/* For tables of PyMethodDef. */
#define STAND_IN(name, function) \
    {name, (PyCFunction)(void (*)(void))(function), METH_VARARGS | METH_KEYWORDS, NULL}

/*
 * Puts a function into a module under the name that `method` has, with the documentation of the
 * real one, which is returned (a new reference). NULL with an exception set. `method` is changed
 * and has to live on.
 */
NODISCARD PyObject *stand_in_install(PyObject *module, PyMethodDef *method);

/*
 * Puts the real function back. False if somebody else has taken its place meanwhile, who may call
 * ours; no exception is left.
 */
NODISCARD bool stand_in_remove(PyObject *module, const PyMethodDef *method, PyObject *real);

/* The same for a function of `posix`, which is one of `os` too. */
NODISCARD PyObject *stand_in_install_os(PyMethodDef *method);

#endif
