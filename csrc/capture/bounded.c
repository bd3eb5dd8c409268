/* bounded.c - see bounded.h. */
#include "capture/bounded.h"

#include "base/arena.h" /* pages */
#include "base/page_vec.h"
#include "base/ticks.h" /* mono_now_ns */
#include "capture/backlog.h"
#include "capture/compact.h"
#include "capture/reorder.h"
#include "capture/state.h"
#include "history/checkpoint.h"

#include <errno.h>
#include <sched.h>

#define CHECKPOINT_NS 5000000000ull
#define LEAST_JOURNAL_BYTES ((uint64_t)4 << 20) /* events between two checkpoints may take this */
#define SEGMENTS 4u                             /* of a ring: it is cut to one of them */
#define GAP_ATTEMPTS 50

/* A checkpoint in the log. */
struct kept_checkpoint {
    uint64_t at;  /* offset in the log */
    uint64_t end; /* behind it */
};

struct bounded {
    struct history history;
    struct backlog backlog;
    struct reorder reorder;
    PAGE_VEC(uint64_t) applied; /* events, by stream */
    PAGE_VEC(struct checkpoint_cut) cuts;
    PAGE_VEC(struct kept_checkpoint) kept;
    uint64_t ring_bytes; /* 0: only sums are kept */
    uint64_t last_ns;    /* when the last checkpoint was written */
    uint64_t journal_at; /* offset in the log behind the last one */
    uint64_t last_bytes; /* of it */
    bool is_cut;         /* the log begins with the first checkpoint of `kept` */
    bool failed;         /* no memory: the log goes on as one of all events */
};

int bounded_start_locked(struct bounded **bounded, const struct capture_options *options)
{
    bounded_release(bounded);
    if (!options->aggregate && options->ring_bytes == 0)
        return 0;
    *bounded = pages_alloc(sizeof **bounded);
    if (*bounded == NULL || backlog_start(&(*bounded)->backlog) != 0 ||
        reorder_start(&(*bounded)->reorder) != 0) {
        bounded_release(bounded);
        errno = ENOMEM;
        return -1;
    }
    (*bounded)->ring_bytes = options->ring_bytes;
    (*bounded)->history.sample_bytes = options->sample_bytes;
    (*bounded)->history.python_heap.traced = options->python_allocators;
    (*bounded)->last_ns = mono_now_ns();
    return 0;
}

void bounded_release(struct bounded **bounded)
{
    struct bounded *old = *bounded;
    *bounded = NULL;
    if (old == NULL)
        return;
    history_release(&old->history);
    backlog_release(&old->backlog);
    reorder_release(&old->reorder);
    page_vec_release(&old->applied);
    page_vec_release(&old->cuts);
    page_vec_release(&old->kept);
    pages_free(old, sizeof *old);
}

/* ---- events ------------------------------------------------------------------------------- */

/* A site's stack is the node, its thread the stream. */
static void apply(void *context, const struct event *event, uint32_t stream)
{
    struct bounded *bounded = context;
    if (bounded->failed)
        return;
    if (page_vec_reserve(&bounded->applied, stream + 1ul) != 0 ||
        history_apply(&bounded->history, event, stream, stream, event->node) != APPLY_OK) {
        bounded->failed = true;
        return;
    }
    if (bounded->applied.n <= stream)
        bounded->applied.n = stream + 1ul;
    bounded->applied.items[stream]++;
}

static void apply_run(struct bounded *bounded, const struct backlog_run *run)
{
    struct event event;
    unsigned n;
    for (uint64_t at = 0; at < run->n_words; at += n) {
        n = raw_event_get(run->words + at, run->n_words - at, &event);
        if (n == 0)
            break;
        reorder_put(&bounded->reorder, &event, run->stream, apply, bounded);
    }
}

static void apply_backlog(struct bounded *bounded)
{
    struct backlog_run run;
    while (backlog_next(&bounded->backlog, &run)) {
        if (run.n_words != 0)
            apply_run(bounded, &run);
        else
            reorder_advance(&bounded->reorder, apply, bounded);
    }
}

static void put_by(struct bounded *bounded, uint32_t stream, const uint64_t *words, size_t n_words)
{
    if (backlog_add(&bounded->backlog, stream, words, n_words))
        return;
    apply_backlog(bounded);
    if (!backlog_add(&bounded->backlog, stream, words, n_words))
        apply_run(bounded, &(struct backlog_run){stream, (uint32_t)n_words, words});
}

void bounded_take_locked(struct capture_state *state)
{
    struct bounded *bounded = state->bounded;
    if (bounded == NULL || bounded->failed)
        return;
    for (struct capture_thread *thread = state->live; thread != NULL; thread = thread->next) {
        uint64_t n_words;
        if (thread->slot == NULL)
            continue;
        n_words = __atomic_load_n(&thread->slot->committed_bytes, __ATOMIC_ACQUIRE) / 8;
        if (n_words > thread->taken_words)
            put_by(bounded, thread->stream, thread->words + thread->taken_words,
                   n_words - thread->taken_words);
        thread->taken_words = (uint32_t)n_words;
    }
    put_by(bounded, 0, NULL, 0);
}

/*
 * Takes everything. Another thread may have stamped an event and not committed it yet: that is a
 * matter of a moment, unless a signal handler has interrupted it. Then its event comes late.
 */
static void take_all(struct capture_state *state)
{
    struct bounded *bounded = state->bounded;
    bounded_take_locked(state);
    apply_backlog(bounded);
    for (int i = 0; i < GAP_ATTEMPTS && reorder_waits(&bounded->reorder); i++) {
        sched_yield();
        bounded_take_locked(state);
        apply_backlog(bounded);
    }
    reorder_skip(&bounded->reorder, apply, bounded);
}

/* ---- checkpoints -------------------------------------------------------------------------- */

static int write_records(void *context, const void *records, size_t n_bytes, uint32_t n_records)
{
    struct block_header block = {.kind = BLOCK_CHECKPOINT, .n_records = n_records};
    return writer_try_block(context, &block, records, n_bytes);
}

static int find_cuts(struct capture_state *state)
{
    struct bounded *bounded = state->bounded;
    bounded->cuts.n = 0;
    for (struct capture_thread *thread = state->live; thread != NULL; thread = thread->next) {
        struct checkpoint_cut *cut = page_vec_add(&bounded->cuts);
        if (cut == NULL)
            return -1;
        cut->stream = thread->stream;
        cut->ordinal =
            thread->stream < bounded->applied.n ? bounded->applied.items[thread->stream] : 0;
    }
    return 0;
}

/* Appends a checkpoint to the log; what there is of it is taken back if that fails. */
static int append_checkpoint(struct capture_state *state, bool with_live)
{
    struct bounded *bounded = state->bounded;
    struct output_file *file = &state->writer.file;
    const struct checkpoint_sink sink = {write_records, &state->writer};
    const uint64_t at = file->n_bytes;
    struct kept_checkpoint *kept = page_vec_add(&bounded->kept);
    if (kept == NULL || find_cuts(state) != 0)
        return -1;
    if (checkpoint_write(&bounded->history, bounded->cuts.items, bounded->cuts.n, with_live,
                         &sink) != 0) {
        bounded->kept.n--;
        if (output_truncate(file, at) != 0)
            writer_fail(&state->writer, errno);
        return -1;
    }
    *kept = (struct kept_checkpoint){at, file->n_bytes};
    bounded->last_bytes = file->n_bytes - at;
    return 0;
}

/* Which checkpoint the log may begin with. */
static size_t first_to_keep(const struct bounded *bounded, uint64_t end)
{
    size_t first = bounded->kept.n - 1;
    uint64_t events = end - bounded->kept.items[first].end;
    while (first > 0 && events < bounded->ring_bytes) {
        first--;
        events += bounded->kept.items[first + 1].at - bounded->kept.items[first].end;
    }
    return events < bounded->ring_bytes ? SIZE_MAX : first;
}

/* The log begins with an older checkpoint from here on. A failure leaves it as it is. */
static void drop_old(struct capture_state *state)
{
    struct bounded *bounded = state->bounded;
    const size_t first = first_to_keep(bounded, state->writer.file.n_bytes);
    uint64_t moved_by;
    if (first == SIZE_MAX || (first == 0 && bounded->is_cut) ||
        compact_log(&state->writer, bounded->kept.items[first].at, &moved_by) != 0)
        return;
    bounded->is_cut = true;
    bounded->kept.n -= first;
    for (size_t i = 0; i < bounded->kept.n; i++) {
        struct kept_checkpoint *kept = &bounded->kept.items[i];
        *kept = bounded->kept.items[i + first];
        kept->at -= moved_by;
        kept->end -= moved_by;
    }
}

static void checkpoint(struct capture_state *state, bool with_live)
{
    struct bounded *bounded = state->bounded;
    take_all(state);
    /* It may name what only the ring's dictionary has. */
    if (!bounded->failed && definitions_flush(&state->dict) == 0 &&
        append_checkpoint(state, with_live) == 0)
        drop_old(state);
    bounded->last_ns = mono_now_ns();
    bounded->journal_at = state->writer.file.n_bytes;
}

static bool is_due(const struct bounded *bounded, uint64_t n_bytes)
{
    const uint64_t journal = n_bytes - bounded->journal_at;
    uint64_t most = bounded->last_bytes * 2;
    if (bounded->ring_bytes != 0)
        return journal >= bounded->ring_bytes / SEGMENTS;
    if (most < LEAST_JOURNAL_BYTES)
        most = LEAST_JOURNAL_BYTES;
    return journal >= most || mono_now_ns() - bounded->last_ns >= CHECKPOINT_NS;
}

void bounded_checkpoint_if_due_locked(struct capture_state *state)
{
    struct bounded *bounded = state->bounded;
    if (bounded == NULL || bounded->failed || !is_due(bounded, state->writer.file.n_bytes))
        return;
    if (state_flush_all_locked() == 0)
        checkpoint(state, true);
}

void bounded_finish_locked(struct capture_state *state)
{
    struct bounded *bounded = state->bounded;
    if (bounded != NULL && !bounded->failed && bounded->ring_bytes == 0)
        checkpoint(state, false);
}
