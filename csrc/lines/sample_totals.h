/* sample_totals.h - the samples' part of the result: adds all tallies to what was counted. */
#ifndef PROFTRACE_LINES_SAMPLE_TOTALS_H
#define PROFTRACE_LINES_SAMPLE_TOTALS_H

#include "lines/account.h"

/* How many edges sample_add may add at the most, if it is called at once. */
uint32_t sample_count_edges(void);

/*
 * Adds times, samples, errors and at most n_edges edges and one of each code object, for which
 * there is room behind those in the totals. The hits, calls and errors of both regimes must be in
 * already. Takes no lock and allocates nothing.
 */
void sample_add(struct account_totals *totals, uint32_t n_edges);

#endif
