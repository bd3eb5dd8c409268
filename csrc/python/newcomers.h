/*
 * newcomers.h - code that begins to run and is not profiled: shall it be?
 *
 * Who wants code without naming its objects (a file, a module, all below a folder) is asked when it
 * starts for the first time, through the PY_START event; code that is not wanted answers DISABLE
 * and has no event from then on. Functions inside a profiled one wait for their own start, so that
 * those that never run are in no result.
 */
#ifndef PROFTRACE_PYTHON_NEWCOMERS_H
#define PROFTRACE_PYTHON_NEWCOMERS_H

#include "python/compat.h"

#include "base/compiler.h"
#include "lines/account.h"

#include <stdbool.h>

/* Whether a PY_START event can be of code that nobody has decided about. */
extern bool newcomers_are_possible;

/*
 * Asks `select(code, globals)`, which registers the code it wants and returns whether it did. Files
 * that `verdicts` (a dict of names) says False of are not asked about. -1 with an exception set.
 */
NODISCARD int newcomers_ask(PyObject *select, PyObject *verdicts);

/*
 * Decides about a code object that is starting and is not registered. Returns what the callback has
 * to: None (it may be registered now), DISABLE, or NULL with an exception that a signal handler of
 * the program has raised meanwhile.
 */
PyObject *newcomers_meet(struct lines_thread *thread, PyObject *code);

/* The answer for code whose PY_START events are of no use; what this returns is owned. */
PyObject *newcomers_dismiss(PyObject *code);

/* Whether newcomers_dismiss may have been called for this code object. */
bool newcomers_were_dismissed(const PyObject *code);

/* Lets PY_START events come again that were answered with DISABLE. -1 with an exception set. */
NODISCARD int newcomers_recall(void);

#endif
