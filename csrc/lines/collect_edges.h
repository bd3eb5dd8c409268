/* collect_edges.h - who called whom between two moments; for collect.c. */
#ifndef PROFTRACE_LINES_COLLECT_EDGES_H
#define PROFTRACE_LINES_COLLECT_EDGES_H

#include "lines/account.h"

/*
 * Takes the calls of `less` off those of the totals, and adds those of `more`; of each place there
 * is one left, in order. -1 when memory is out; then nothing has changed.
 */
NODISCARD int collect_edges(struct account_totals *totals, const struct account_totals *less,
                            const struct account_totals *more);

#endif
