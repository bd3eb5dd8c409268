/*
 * ranges.h - what is mapped now: disjoint ranges in address order, which munmap may cut anywhere.
 *
 * A mapping is what one mmap made; its pieces are ranges. Bytes are accounted as requested (the
 * range ends where the request ended), cuts go by whole pages.
 */
#ifndef PROFTRACE_HISTORY_RANGES_H
#define PROFTRACE_HISTORY_RANGES_H

#include "base/page_vec.h"

#include <stdbool.h>

struct range {
    uint64_t start;
    uint64_t end;     /* behind the last byte, not rounded to a page */
    uint32_t entry;   /* row of the tally, plus 1 */
    uint32_t mapping; /* row of ranges.n_pieces */
};

/* A piece that was taken out; `last`: nothing of its mapping is left. */
struct taken_range {
    struct range range;
    bool last;
};

struct taken_ranges {
    struct taken_range *items; /* owned */
    size_t n;
    size_t room;
};

#define RANGES_IN_CHUNK 127 /* as many as fit a page */

/* Sorted arrays of bounded length in a sorted array: no insertion moves more than both. */
struct range_chunk {
    uint32_t n;
    struct range items[RANGES_IN_CHUNK];
};

struct ranges {
    PAGE_VEC(struct range_chunk *) chunks; /* each owned and not empty */
    PAGE_VEC(uint32_t) n_pieces;           /* by mapping */
};

/* Adds a new mapping; what it overlaps has been taken out before. -1: no memory left. */
NODISCARD int ranges_add(struct ranges *ranges, uint64_t start, uint64_t end, uint32_t entry);
/* Takes out whatever lies in start..end and appends the pieces to *taken. -1: no memory left. */
NODISCARD int ranges_take(struct ranges *ranges, uint64_t start, uint64_t end,
                          struct taken_ranges *taken);
/* Puts a piece back that ranges_take took out; its place is free. -1: no memory left. */
NODISCARD int ranges_put_back(struct ranges *ranges, const struct range *piece);
/* Whether an address lies in a range. */
bool ranges_hold(const struct ranges *ranges, uint64_t address);
/* Numbers the mappings anew, without those that are gone. What was taken out is not to come back.
 */
NODISCARD int ranges_renumber(struct ranges *ranges);
void ranges_release(struct ranges *ranges);

#endif
