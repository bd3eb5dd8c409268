/* collector.h - the type _lines.Collector: a profiler that is switched on and off (collect.h). */
#ifndef PROFTRACE_PYTHON_COLLECTOR_H
#define PROFTRACE_PYTHON_COLLECTOR_H

#include "python/compat.h"

#include "base/compiler.h"
#include "lines/result.h"

/* Adds the type to the module. -1 with an exception set. */
NODISCARD int collector_add_type(PyObject *module);

/* Results of collectors are of this process. */
void collector_describe(const struct result_settings *process);

#endif
