/*
 * history.h - applies events in order: keeps what is live, and tells the reducers every change.
 *
 * Logs are taken as they are: an allocation at a live address means that its free was not seen, a
 * free of an unknown address that its allocation was not, and neither is an error.
 */
#ifndef PROFTRACE_HISTORY_HISTORY_H
#define PROFTRACE_HISTORY_HISTORY_H

#include "base/table.h"
#include "format/record.h"
#include "history/live_map.h"
#include "history/python_heap.h"
#include "history/ranges.h"
#include "history/reduce.h"

/* What a stream freed last, in case that it did not happen. */
struct undo {
    uint64_t address;
    struct live_block block; /* entry 0 = it was a munmap */
    struct taken_ranges pieces;
    bool temporary; /* the block was, see reduce.h */
    bool valid;
};

struct history {
    uint64_t sample_bytes; /* of a sampled log, set before the first event; 0 = all events */
    PAGE_VEC(struct site) sites;
    struct table site_rows; /* stack, thread and allocator -> row of sites, plus 1 */
    struct live_map live;
    struct ranges ranges;
    struct python_heap python_heap; /* set `traced` before the first event */
    PAGE_VEC(struct undo) undos;    /* by row of the stream */
    PAGE_VEC(uint32_t) ordinals;    /* by thread: of its last allocation of a block */
    struct reduce_totals totals;
    struct reduce_peak peak;
    struct reduce_leaks leaks;
    struct reduce_temporary temporary;
    struct reduce_usage usage;
    struct reduce_marks marks;
    uint64_t n_lost; /* as the marks say */
    uint64_t n_events;
};

enum apply_verdict { APPLY_OK, APPLY_MALFORMED, APPLY_NO_MEMORY };

/*
 * `stack` is the row of the event's node; stream and thread are the rows of who did it. MALFORMED:
 * a size that no allocation can have.
 */
NODISCARD enum apply_verdict history_apply(struct history *history, const struct event *event,
                                           uint32_t stream, uint32_t thread, uint32_t stack);
/* The entry of a site, added when it is new; 0 = no memory left. */
NODISCARD uint32_t history_site(struct history *history, uint32_t stack, uint32_t thread,
                                uint8_t allocator);
/* No free that was seen can be taken back any more. */
void history_forget_undos(struct history *history);
/* Completes the reducers' columns. */
void history_finish(struct history *history);
void history_release(struct history *history);

#endif
