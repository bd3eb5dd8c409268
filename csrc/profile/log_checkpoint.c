/* log_checkpoint.c - see log_checkpoint.h. */
#include "profile/log_checkpoint.h"

static void forget(struct log_checkpoint *checkpoint)
{
    for (size_t i = 0; i < checkpoint->blocks.n; i++)
        free(checkpoint->blocks.items[i].records);
    checkpoint->blocks.n = checkpoint->cuts.n = 0;
}

void log_checkpoint_release(struct log_checkpoint *checkpoint)
{
    forget(checkpoint);
    vec_release(&checkpoint->blocks);
    vec_release(&checkpoint->cuts);
}

static enum take_verdict take_cuts(struct log_checkpoint *checkpoint, struct get *record)
{
    uint64_t n = get_varint(record);
    struct checkpoint_cut cut;
    for (uint64_t i = 0; i < n; i++) {
        struct checkpoint_cut *added;
        if (!checkpoint_next_cut(record, &cut))
            return TAKE_MALFORMED;
        added = vec_add(&checkpoint->cuts);
        if (added == NULL)
            return TAKE_NO_MEMORY;
        *added = cut;
    }
    return TAKE_OK;
}

/* What the streams have before the cut is in the checkpoint. */
static enum take_verdict apply_cuts(struct log_reader *log)
{
    for (size_t i = 0; i < log->streams.n; i++) {
        struct stream *stream = &log->streams.items[i];
        stream->first_block = stream->last_block = 0;
    }
    for (size_t i = 0; i < log->checkpoint.cuts.n; i++) {
        const struct checkpoint_cut *cut = &log->checkpoint.cuts.items[i];
        struct stream *stream = log_reader_stream(log, cut->stream);
        if (stream == NULL)
            return TAKE_NO_MEMORY;
        stream->n_covered = cut->ordinal;
    }
    log->n_missing = 0;
    return TAKE_OK;
}

enum take_verdict log_checkpoint_take(struct log_reader *log, uint8_t *records, size_t n_bytes)
{
    struct log_checkpoint *checkpoint = &log->checkpoint;
    struct get from = get_over(records, n_bytes), record;
    struct block_payload *added;
    enum take_verdict verdict = TAKE_OK;
    bool ends = false;
    uint8_t tag;
    while (verdict == TAKE_OK && (tag = table_next(&from, &record)) != 0) {
        if (tag == CHECKPOINT_BEGIN) /* one before it has no end: its process was killed */
            forget(checkpoint);
        else if (tag == CHECKPOINT_CUTS)
            verdict = take_cuts(checkpoint, &record);
        ends = tag == CHECKPOINT_END;
    }
    added = verdict == TAKE_OK && !from.bad ? vec_add(&checkpoint->blocks) : NULL;
    if (added == NULL) {
        free(records);
        if (verdict != TAKE_OK)
            return verdict;
        return from.bad ? TAKE_MALFORMED : TAKE_NO_MEMORY;
    }
    *added = (struct block_payload){records, n_bytes};
    checkpoint->is_complete = ends;
    return ends ? apply_cuts(log) : TAKE_OK;
}

struct loading {
    struct log_reader *log;
    const struct stacks *stacks;
};

static uint32_t stack_row(void *context, uint32_t node)
{
    return stacks_row_of_node(((struct loading *)context)->stacks, node);
}

static uint32_t thread_row(void *context, uint32_t stream)
{
    return dictionary_thread_row(&((struct loading *)context)->log->dict, stream);
}

enum checkpoint_verdict log_checkpoint_load(struct log_reader *log, const struct stacks *stacks,
                                            struct history *history)
{
    struct loading loading = {log, stacks};
    struct checkpoint_loader loader = {
        .history = history, .stack_row = stack_row, .thread_row = thread_row, .context = &loading};
    enum checkpoint_verdict verdict = CHECKPOINT_OK;
    for (size_t i = 0; i < log->checkpoint.blocks.n && verdict == CHECKPOINT_OK; i++) {
        const struct block_payload *block = &log->checkpoint.blocks.items[i];
        verdict = checkpoint_load(&loader, block->records, block->n_bytes);
    }
    if (verdict == CHECKPOINT_OK)
        verdict = checkpoint_loaded(&loader);
    checkpoint_loader_release(&loader);
    log_checkpoint_release(&log->checkpoint);
    return verdict;
}
