/*
 * listening.h - functions of the module _lines by which profilers in the program say which code is
 * to be heard for now. Without any, the tool id can be given back.
 */
#ifndef PROFTRACE_PYTHON_LISTENING_H
#define PROFTRACE_PYTHON_LISTENING_H

#include "python/compat.h"

/* METH_NOARGS. */
extern const char listening_claim_doc[], listening_release_doc[];
PyObject *listening_claim(PyObject *self, PyObject *unused);
PyObject *listening_release(PyObject *self, PyObject *unused);

/* METH_O, a code object. */
extern const char listening_silence_doc[], listening_wake_doc[], listening_await_start_doc[];
PyObject *listening_silence(PyObject *self, PyObject *code);
PyObject *listening_wake(PyObject *self, PyObject *code);
PyObject *listening_await_start(PyObject *self, PyObject *code);

#endif
