/* rules_view.h - what LINE events and instruction counts mean, as Python objects. */
#ifndef PROFTRACE_PYTHON_RULES_VIEW_H
#define PROFTRACE_PYTHON_RULES_VIEW_H

#include "python/compat.h"

#include "base/compiler.h"

/*
 * Returns what lines/statements.h says of a code object, for tests and self-checks: the code units
 * whose LINE event does not count, its credits as (unit, line), and its terms as (line,
 * coefficient, unit, completed), or None instead of the terms if there are none. NULL with an
 * exception set.
 */
NODISCARD PyObject *rules_view_describe(PyCodeObject *code);

#endif
