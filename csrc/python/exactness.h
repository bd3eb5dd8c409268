/*
 * exactness.h - the self-check of block counters: runs a piece of Python under them, or with every
 * single instruction counted, and says how often each instruction ran.
 */
#ifndef PROFTRACE_PYTHON_EXACTNESS_H
#define PROFTRACE_PYTHON_EXACTNESS_H

#include "python/compat.h"

/* The method table's entry: count_instructions(codes, run, derive, /). */
extern const char exactness_doc[];
PyObject *exactness_count(PyObject *module, PyObject *args);

#endif
