/* search_costs.c - see search_costs.h. */
#include "python/search_costs.h"

#include "base/ticks.h"
#include "lines/clock.h"

#include <string.h>

#define TRIES 4
/* The interpreter keeps how far the line is from where it is usual for the unit, in a byte. */
#define UNITS_PER_LINE_SHIFT 4
#define LEAST_NEAR (-125)
#define MOST_NEAR 127

static bool is_searched(const PyCodeObject *code, uint32_t unit, int32_t line)
{
    int64_t distance = (int64_t)line - code->co_firstlineno - (unit >> UNITS_PER_LINE_SHIFT);
    return line > 0 && (distance < LEAST_NEAR || distance > MOST_NEAR);
}

/* The same walk that the interpreter does, to the last unit: the best of a few. */
static double longest_search_ticks(PyCodeObject *code, uint32_t n_units)
{
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        uint64_t start = ticks_now(), taken;
        if (PyCode_Addr2Line(code, (int)(n_units - 1) * 2) < 0)
            PyErr_Clear();
        taken = ticks_now() - start;
        best = taken < best ? taken : best;
    }
    return (double)best;
}

/*
 * Numbers the rows of the line table up to each unit; returns how many rows there are. The first
 * byte of a row has the highest bit, and says in the lowest three how many units it is for.
 */
static uint32_t number_rows(const PyCodeObject *code, uint32_t *row_of_unit, uint32_t n_units)
{
    const uint8_t *table = (const uint8_t *)PyBytes_AS_STRING(code->co_linetable);
    Py_ssize_t n_bytes = PyBytes_GET_SIZE(code->co_linetable);
    uint32_t n_rows = 0, unit = 0;
    for (Py_ssize_t i = 0; i < n_bytes; i++) {
        if (!(table[i] & 0x80))
            continue;
        n_rows++;
        for (uint32_t n = (table[i] & 7u) + 1; n > 0 && unit < n_units; n--)
            row_of_unit[unit++] = n_rows;
    }
    return n_rows;
}

uint32_t *search_costs_measure(PyCodeObject *code, const int32_t *line_of_unit, uint32_t n_units)
{
    uint32_t *costs, n_searched = 0, n_rows;
    double per_row;
    for (uint32_t unit = 0; COMPAT_SEARCHES_LINES && unit < n_units; unit++)
        n_searched += is_searched(code, unit, line_of_unit[unit]);
    if (n_searched == 0 || (costs = PyMem_RawCalloc(n_units, sizeof *costs)) == NULL)
        return NULL;
    n_rows = number_rows(code, costs, n_units);
    per_row = longest_search_ticks(code, n_units) / (n_rows + 1.0) * (1 << PROBE_SHIFT);
    for (uint32_t unit = 0; unit < n_units; unit++) {
        double cost = is_searched(code, unit, line_of_unit[unit]) ? costs[unit] * per_row : 0;
        costs[unit] = cost < UINT32_MAX ? (uint32_t)cost : UINT32_MAX;
    }
    return costs;
}
