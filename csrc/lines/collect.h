/*
 * collect.h - what was counted between two moments, for profilers that are switched on and off.
 *
 * Code objects are counted once, however many profilers want them; each of these takes the
 * differences of the totals over the times in which it was on. All of it needs the GIL.
 */
#ifndef PROFTRACE_LINES_COLLECT_H
#define PROFTRACE_LINES_COLLECT_H

#include "lines/account.h"

/* All zero = off, and nothing collected. */
struct collection {
    struct account_totals sum;  /* of the times that are over */
    struct account_totals base; /* at the start of the one that is not */
    bool is_on;
};

/* -1 when memory is out; then nothing has changed. */
NODISCARD int collect_start(struct collection *collection);
NODISCARD int collect_stop(struct collection *collection);

/* What there is up to now, for account_totals_release. -1 when memory is out. */
NODISCARD int collect_totals(const struct collection *collection, struct account_totals *totals);

void collect_release(struct collection *collection);

#endif
