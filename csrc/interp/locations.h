/*
 * locations.h - the line of one instruction, out of co_linetable.
 *
 * The table can only be read from its start, and long functions are run from their first line to
 * their last: so a search goes on where the one before it ended.
 */
#ifndef PROFTRACE_INTERP_LOCATIONS_H
#define PROFTRACE_INTERP_LOCATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where the last search ended: before an entry. All zero: nowhere. */
struct location_search {
    const uint8_t *table; /* borrowed: to be forgotten when its code object dies */
    size_t at;            /* bytes that are behind us */
    uint32_t unit;        /* of the entry */
    int64_t line;         /* of the entry before it, relative to the first line */
};

/*
 * Finds the line of a unit, relative to the code's first line. False: it has none, or lies behind
 * the table, or the table is malformed before it.
 */
bool locations_find(struct location_search *search, const uint8_t *table, size_t n_bytes,
                    uint32_t unit, int64_t *line);

#endif
