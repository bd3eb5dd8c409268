/*
 * checkpoint.h - the state of a history as table records, so that a log can go on from it and what
 * came before it need not be kept. docs/internals/log-format.md has the records.
 *
 * A checkpoint is written by the traced program, in which a site's stack is a node of the log and
 * its thread a stream; it is read into a history whose sites have rows of the reader's tables.
 */
#ifndef PROFTRACE_HISTORY_CHECKPOINT_H
#define PROFTRACE_HISTORY_CHECKPOINT_H

#include "history/history.h"

enum checkpoint_tag {
    CHECKPOINT_BEGIN = 20,
    CHECKPOINT_CUTS = 21,
    CHECKPOINT_SITES = 22,
    CHECKPOINT_THREADS = 23,
    CHECKPOINT_LIVE = 24,
    CHECKPOINT_RANGES = 25,
    CHECKPOINT_ARENAS = 26,
    CHECKPOINT_TOTALS = 27,
    CHECKPOINT_MARKS = 28,
    CHECKPOINT_END = 29,
    CHECKPOINT_USAGE = 30,
};

/* Of a stream: how many of its events are in the checkpoint. */
struct checkpoint_cut {
    uint32_t stream;
    uint64_t ordinal;
};

/* Takes table records as one block. -1: it cannot. */
struct checkpoint_sink {
    int (*write)(void *context, const void *records, size_t n_bytes, uint32_t n_records);
    void *context;
};

/*
 * Writes all of a history. Without `with_live` what is live is left out: no event can follow then.
 * Mappings are numbered anew. -1 when the sink or memory fails.
 */
NODISCARD int checkpoint_write(struct history *history, const struct checkpoint_cut *cuts,
                               size_t n_cuts, bool with_live, const struct checkpoint_sink *sink);

/* Reads a checkpoint into an empty history, block by block, in their order. */
struct checkpoint_loader {
    struct history *history;
    /* The reader's rows; UINT32_MAX: no memory left. */
    uint32_t (*stack_row)(void *context, uint32_t node);
    uint32_t (*thread_row)(void *context, uint32_t stream);
    void *context;
    bool with_live;             /* it says what is live: events may follow */
    PAGE_VEC(uint32_t) entries; /* of the history's sites, by the checkpoint's number */
};

enum checkpoint_verdict { CHECKPOINT_OK, CHECKPOINT_MALFORMED, CHECKPOINT_NO_MEMORY };

NODISCARD enum checkpoint_verdict checkpoint_load(struct checkpoint_loader *loader,
                                                  const uint8_t *records, size_t n_bytes);
/* Completes what the last block does not say itself. MALFORMED: its numbers do not agree. */
NODISCARD enum checkpoint_verdict checkpoint_loaded(struct checkpoint_loader *loader);
void checkpoint_loader_release(struct checkpoint_loader *loader);

/* Whether the sums over the sites are the totals, and what is live (if it is told) theirs. */
NODISCARD enum checkpoint_verdict checkpoint_check(const struct history *history, bool with_live);

/* The cuts of a block, for who has to know them before the rest: false: no more, or malformed. */
NODISCARD bool checkpoint_next_cut(struct get *record, struct checkpoint_cut *cut);

#endif
