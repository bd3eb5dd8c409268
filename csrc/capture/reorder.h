/*
 * reorder.h - events of several streams in the order of their seqs, as soon as that is known.
 *
 * A seq is a run: the event that took it, and those of its stream behind it that have none of their
 * own. Seqs have no gaps but those that are taken and whose event is not committed yet, so a run
 * waits until all before it were there. What comes to a run that was applied is applied at once:
 * events from before there was a second thread, and those that a thread adds to its run while no
 * other thread takes a seq.
 */
#ifndef PROFTRACE_CAPTURE_REORDER_H
#define PROFTRACE_CAPTURE_REORDER_H

#include "base/page_vec.h"
#include "format/record.h"

struct waiting_event {
    struct event event;
    uint32_t next; /* of its run, plus 1; 0 = it is the last */
};

struct waiting_run {
    uint32_t first; /* in `events`, plus 1; 0 = there is none */
    uint32_t last;
    uint32_t stream;
};

struct reorder {
    struct waiting_run *runs; /* owned pages; by seq, n_slots of them, a power of two */
    uint64_t n_slots;
    uint64_t n_waiting; /* runs */
    uint64_t next;      /* seq that is applied next */
    PAGE_VEC(struct waiting_event) events;
    PAGE_VEC(uint64_t) last_seqs; /* by stream */
};

typedef void (*reorder_apply)(void *context, const struct event *event, uint32_t stream);

NODISCARD int reorder_start(struct reorder *reorder);
void reorder_release(struct reorder *reorder);

/* Lets the event wait, or applies it if it belongs to what was. Without memory it is applied too.
 */
void reorder_put(struct reorder *reorder, const struct event *event, uint32_t stream,
                 reorder_apply apply, void *context);

/* Applies what can be: to be called when each stream's events up to one moment are in. */
void reorder_advance(struct reorder *reorder, reorder_apply apply, void *context);

static inline bool reorder_waits(const struct reorder *reorder)
{
    return reorder->n_waiting != 0;
}

/* Applies all that waits; what is missing comes late. */
void reorder_skip(struct reorder *reorder, reorder_apply apply, void *context);

#endif
