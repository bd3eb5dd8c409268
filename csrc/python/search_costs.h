/*
 * search_costs.h - how long the interpreter searches for the line of an event (line_search.h).
 */
#ifndef PROFTRACE_PYTHON_SEARCH_COSTS_H
#define PROFTRACE_PYTHON_SEARCH_COSTS_H

#include "base/compiler.h"
#include "python/compat.h"

/*
 * Returns, by code unit, what a search costs, as line_search.h wants it; the caller frees it with
 * PyMem_RawFree. NULL when no event of the code needs one, or memory is out.
 */
NODISCARD uint32_t *search_costs_measure(PyCodeObject *code, const int32_t *line_of_unit,
                                         uint32_t n_units);

#endif
