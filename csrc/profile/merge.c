/* merge.c - see merge.h. */
#include "profile/merge.h"

#include "format/pack.h"

enum step { STEP_EVENT, STEP_DONE, STEP_FAILED };

/* ---- the heap ------------------------------------------------------------------------------ */

static bool cursor_is_before(const struct cursor *a, const struct cursor *b)
{
    return a->key != b->key ? a->key < b->key : a->row < b->row;
}

/* The item at `at` may be too great for its place: moves it down. */
static void heap_sift_down(struct merge *merge, size_t at)
{
    struct cursor **heap = merge->heap.items;
    size_t n = merge->heap.n;
    struct cursor *moving = n == 0 ? NULL : heap[at];
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= n)
            break;
        if (child + 1 < n && cursor_is_before(heap[child + 1], heap[child]))
            child++;
        if (!cursor_is_before(heap[child], moving))
            break;
        heap[at] = heap[child];
        at = child;
    }
    if (n != 0)
        heap[at] = moving;
}

/* ---- one stream ---------------------------------------------------------------------------- */

static void cursor_close_block(struct cursor *cursor)
{
    free(cursor->payload);
    cursor->payload = NULL;
}

/* Takes a raw event; bytes need no alignment. False: not a whole event is left. */
static bool get_raw_event(struct get *from, struct event *event)
{
    uint64_t words[RAW_EVENT_MAX_WORDS];
    size_t n_bytes = get_left(from) < sizeof words ? get_left(from) : sizeof words;
    unsigned taken;
    memcpy(words, from->p, n_bytes);
    taken = raw_event_get(words, n_bytes / 8, event);
    from->p += taken * 8ul;
    return taken != 0;
}

/* Decodes the next event of the open block. */
static bool cursor_decode(struct cursor *cursor)
{
    if (cursor->n_left == 0)
        return false;
    if (cursor->is_raw ? !get_raw_event(&cursor->from, &cursor->event)
                       : !event_get(&cursor->from, &cursor->coder, &cursor->event))
        return false;
    cursor->n_left--;
    return true;
}

/* The events end here: the block has a right checksum and makes no sense all the same. */
static enum step cursor_fail(struct merge *merge, const struct cursor *cursor)
{
    merge->damaged = true;
    merge->log->damaged_at = cursor->block_at;
    return STEP_FAILED;
}

static enum step cursor_no_memory(struct merge *merge)
{
    merge->no_memory = true;
    return STEP_FAILED;
}

static enum step open_stored(struct merge *merge, struct cursor *cursor,
                             const struct event_block *block)
{
    cursor->payload = malloc(block_unpack_bytes(&block->header));
    if (cursor->payload == NULL)
        return cursor_no_memory(merge);
    cursor->is_raw = false;
    cursor->from = get_over(cursor->payload, block->header.raw_bytes);
    cursor->coder = EVENT_CODER_START(block->header.first_seq);
    if (block_unpack(merge->log->bytes + block->at, &block->header, cursor->payload) != 0)
        return cursor_fail(merge, cursor);
    return STEP_EVENT;
}

/* One area for all that unpacking needs: the payload, the raw events, the model. */
static bool reserve_scratch(struct merge *merge, size_t n_bytes)
{
    if (n_bytes <= merge->scratch_bytes)
        return true;
    free(merge->scratch);
    merge->scratch = malloc(n_bytes);
    merge->scratch_bytes = merge->scratch == NULL ? 0 : n_bytes;
    return merge->scratch != NULL;
}

static enum step open_packed(struct merge *merge, struct cursor *cursor,
                             const struct event_block *block)
{
    const struct block_header *header = &block->header;
    const size_t events_bytes = header->n_records * RAW_EVENT_MAX_WORDS * sizeof(uint64_t);
    const size_t model_bytes = (unpack_scratch_bytes(header->n_records) + 7) & ~(size_t)7;
    uint8_t *model, *events, *payload;
    size_t n_words;
    if (header->n_records > PACK_MOST_EVENTS)
        return cursor_fail(merge, cursor);
    if (!reserve_scratch(merge, model_bytes + events_bytes + block_unpack_bytes(header)))
        return cursor_no_memory(merge);
    model = merge->scratch;
    events = model + model_bytes;
    payload = events + events_bytes;
    if (block_unpack(merge->log->bytes + block->at, header, payload) != 0)
        return cursor_fail(merge, cursor);
    n_words = unpack_events(payload, header->raw_bytes, header->n_records, header->first_seq,
                            (uint64_t *)(void *)events, model);
    if (n_words == 0)
        return cursor_fail(merge, cursor);
    cursor->payload = malloc(n_words * sizeof(uint64_t));
    if (cursor->payload == NULL)
        return cursor_no_memory(merge);
    memcpy(cursor->payload, events, n_words * sizeof(uint64_t));
    cursor->is_raw = true;
    cursor->from = get_over(cursor->payload, n_words * sizeof(uint64_t));
    return STEP_EVENT;
}

static enum step cursor_open_block(struct merge *merge, struct cursor *cursor)
{
    const struct event_block *block = &merge->log->blocks.items[cursor->next_block - 1];
    enum step step;
    cursor->next_block = block->next;
    cursor->block_at = block->at;
    cursor->n_left = block->header.n_records;
    step = block->header.kind == BLOCK_PACKED ? open_packed(merge, cursor, block)
                                              : open_stored(merge, cursor, block);
    if (step == STEP_FAILED)
        return STEP_FAILED;
    for (uint32_t skipped = 0; skipped < block->n_skip; skipped++) {
        if (!cursor_decode(cursor))
            return cursor_fail(merge, cursor);
    }
    return STEP_EVENT;
}

/* The next raw event of the ring's tail. */
static bool cursor_decode_tail(struct cursor *cursor, struct event *event)
{
    struct get from = get_over(cursor->stream->tail + cursor->tail_at * 8,
                               (cursor->stream->tail_words - cursor->tail_at) * 8);
    const uint8_t *start = from.p;
    if (cursor->stream->tail == NULL || !get_raw_event(&from, event))
        return false; /* not a whole event: what was not committed */
    cursor->tail_at += (size_t)(from.p - start) / 8;
    return true;
}

/* A seq-less event counts as its stream's last seq; within a stream order never changes. */
static void cursor_set_event(struct cursor *cursor)
{
    cursor->has_event = true;
    if (cursor->event.seq > cursor->key)
        cursor->key = cursor->event.seq;
}

/* Makes the next event ready. */
static enum step cursor_advance(struct merge *merge, struct cursor *cursor)
{
    cursor->has_event = false;
    for (;;) {
        if (cursor->payload == NULL) {
            if (cursor->next_block == 0)
                break;
            if (cursor_open_block(merge, cursor) == STEP_FAILED)
                return STEP_FAILED;
        }
        if (cursor_decode(cursor)) {
            cursor_set_event(cursor);
            return STEP_EVENT;
        }
        if (cursor->n_left != 0 || cursor->from.bad || get_left(&cursor->from) != 0)
            return cursor_fail(merge, cursor); /* the payload and its record count disagree */
        cursor_close_block(cursor);
    }
    if (!cursor_decode_tail(cursor, &cursor->event))
        return STEP_DONE;
    cursor_set_event(cursor);
    return STEP_EVENT;
}

static void skip_covered_tail(struct cursor *cursor)
{
    struct event ignored;
    for (uint64_t i = 0; i < cursor->stream->tail_skip; i++) {
        if (!cursor_decode_tail(cursor, &ignored))
            return;
    }
}

/*
 * The seq of a stream's first event. The block's header does not say it: a block may begin with
 * events from before there was a second thread. The block is closed again, so that thousands of
 * threads which lived one after the other are not all in memory at once.
 */
static uint64_t first_seq(struct merge *merge, struct cursor *cursor)
{
    uint32_t block = cursor->next_block;
    uint64_t seq = merge->log->blocks.items[block - 1].header.first_seq;
    if (seq != 0 && cursor_open_block(merge, cursor) != STEP_FAILED && cursor_decode(cursor))
        seq = cursor->event.seq;
    cursor_close_block(cursor);
    cursor->next_block = block;
    merge->damaged = false; /* it is met again when its turn comes */
    return seq;
}

static void cursor_start(struct merge *merge, struct cursor *cursor, uint32_t row)
{
    cursor->row = row;
    cursor->stream = &merge->log->streams.items[row];
    cursor->next_block = cursor->stream->first_block;
    if (cursor->next_block != 0)
        cursor->key = first_seq(merge, cursor);
    skip_covered_tail(cursor);
}

/* ---- the merge ----------------------------------------------------------------------------- */

int merge_init(struct merge *merge, struct log_reader *log)
{
    size_t n_streams = log->streams.n;
    *merge = (struct merge){.log = log};
    if (vec_reserve(&merge->cursors, n_streams) != 0 || vec_reserve(&merge->heap, n_streams) != 0)
        return -1;
    for (size_t row = 0; row < n_streams; row++) {
        struct cursor *cursor = vec_add(&merge->cursors);
        cursor_start(merge, cursor, (uint32_t)row);
        merge->heap.items[merge->heap.n++] = cursor;
    }
    for (size_t at = n_streams / 2; at-- > 0;)
        heap_sift_down(merge, at);
    return 0;
}

void merge_release(struct merge *merge)
{
    for (size_t i = 0; i < merge->cursors.n; i++)
        cursor_close_block(&merge->cursors.items[i]);
    vec_release(&merge->cursors);
    vec_release(&merge->heap);
    free(merge->scratch);
}

/* Brings the first cursor of the heap to its next event and to its new place. */
static bool advance_first(struct merge *merge)
{
    enum step step = cursor_advance(merge, merge->heap.items[0]);
    if (step == STEP_FAILED)
        return false;
    if (step == STEP_DONE)
        merge->heap.items[0] = merge->heap.items[--merge->heap.n];
    heap_sift_down(merge, 0);
    return true;
}

bool merge_next(struct merge *merge, struct event *event, uint32_t *stream_row)
{
    struct cursor *first;
    do {
        if (merge->heap.n == 0)
            return false;
        first = merge->heap.items[0];
        if (first->has_event)
            break;
        if (!advance_first(merge))
            return false;
    } while (true);
    *event = first->event;
    *stream_row = first->row;
    if (advance_first(merge))
        return true;
    merge->heap.n = 0; /* this event is still good; nothing behind it is */
    return true;
}
