/*
 * python_heap.h - what pymalloc has taken from the system, and what of it objects use: the rest is
 * slack, which no report of allocations shows.
 *
 * Only for captures of Python's allocators: there every object is an event of its own, so arenas
 * are not counted among the allocations. Objects in arenas from before the capture do not count.
 */
#ifndef PROFTRACE_HISTORY_PYTHON_HEAP_H
#define PROFTRACE_HISTORY_PYTHON_HEAP_H

#include "format/record.h"
#include "history/live_map.h"
#include "history/ranges.h"
#include "history/reduce.h"

#define N_DOMAINS 4 /* enum event_domain */

struct arena_state {
    int64_t arenas;
    int64_t arena_bytes;
    int64_t used_bytes; /* as requested, of objects in the arenas */
    int64_t used_blocks;
};

struct python_heap {
    bool traced; /* the capture has the events of Python's allocators */
    struct ranges arenas;
    struct arena_state now;
    struct arena_state at_peak; /* of all that is allocated */
    struct arena_state at_end;  /* at the mark, or at the end of the log */
    uint64_t peak_moment;
    bool marked;
    struct amount domains[N_DOMAINS]; /* everything ever allocated, by domain */
};

/* An ARENA event, or the MUNMAP of any range. -1: no memory left. */
NODISCARD int python_heap_map(struct python_heap *heap, uint64_t start, uint64_t end);
NODISCARD int python_heap_unmap(struct python_heap *heap, uint64_t start, uint64_t end);

/* Counts an allocation of one of Python's allocators; sets whether its block lies in an arena. */
void python_heap_add(struct python_heap *heap, const struct event *event, struct live_block *block);
/* A block that lies in an arena came back (sign 1) or went (sign -1). */
void python_heap_change(struct python_heap *heap, const struct live_block *block, int sign);

/* After each event: `moment` counts the peaks of all that is allocated. */
static inline void python_heap_note_peak(struct python_heap *heap, uint64_t moment)
{
    if (unlikely(heap->peak_moment != moment)) {
        heap->peak_moment = moment;
        heap->at_peak = heap->now;
    }
}

void python_heap_mark(struct python_heap *heap);
void python_heap_finish(struct python_heap *heap);
void python_heap_release(struct python_heap *heap);

#endif
