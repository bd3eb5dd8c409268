/* linetable.h - lines of instructions, from co_linetable (base/location_entry.h). */
#ifndef PROFTRACE_PROFILE_LINETABLE_H
#define PROFTRACE_PROFILE_LINETABLE_H

#include "profile/vec.h"

/* From code unit `first_unit` to the next run's: `line`, 0 = the code has none there. */
struct line_run {
    uint32_t first_unit;
    uint32_t line;
};

struct line_runs {
    struct line_run *items; /* owned; n of them, ascending, the last one is the end (line 0) */
    size_t n;
    size_t room;
};

/*
 * Decodes a table; neighbours with the same line become one run. A malformed table gives the runs
 * before the fault. -1 when there is no memory left.
 */
NODISCARD int line_runs_decode(struct line_runs *runs, const uint8_t *table, size_t n_bytes,
                               uint32_t first_line);
void line_runs_release(struct line_runs *runs);

/* The line of the instruction at `unit`; 0 when it has none or lies behind the table. */
NODISCARD uint32_t line_runs_find(const struct line_runs *runs, uint32_t unit);

#endif
