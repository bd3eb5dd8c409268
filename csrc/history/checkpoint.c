/* checkpoint.c - see checkpoint.h: writing. */
#include "history/checkpoint.h"

#include "base/arena.h" /* pages */

#define BLOCK_BYTES ((size_t)1 << 20)
#define RECORD_ITEMS 4096u /* of a table, in one record */
#define ITEM_BYTES 192     /* no item takes more */
#define ROOM (BLOCK_BYTES + RECORD_ITEMS * ITEM_BYTES + 4096)

struct writing {
    const struct checkpoint_sink *sink;
    struct put to;
    uint8_t *start; /* owned pages */
    uint32_t n_records;
    uint8_t *record; /* the open one */
};

static void open_record(struct writing *w, enum checkpoint_tag tag)
{
    w->record = w->to.p;
    put_u8(&w->to, (uint8_t)tag);
    put_u32(&w->to, 0);
}

static int flush(struct writing *w)
{
    int failed = w->to.bad;
    if (!failed && w->n_records != 0)
        failed =
            w->sink->write(w->sink->context, w->start, (size_t)(w->to.p - w->start), w->n_records);
    w->to = put_over(w->start, ROOM);
    w->n_records = 0;
    return failed;
}

static int close_record(struct writing *w)
{
    struct put head = put_over(w->record + 1, 4);
    put_u32(&head, (uint32_t)(w->to.p - w->record - TABLE_RECORD_HEAD_BYTES));
    w->n_records++;
    return (size_t)(w->to.p - w->start) >= BLOCK_BYTES ? flush(w) : 0;
}

static void put_signed(struct put *to, int64_t value)
{
    put_varint(to, zigzag(value));
}

static void put_amount(struct put *to, const struct amount *amount)
{
    put_signed(to, amount->bytes);
    put_signed(to, amount->blocks);
}

/* The items of a table in records of at most RECORD_ITEMS each. */
#define PUT_ITEMS(w_, tag_, n_, put_item_)                            \
    for (size_t at_ = 0, end_, all_ = (n_); at_ < all_; at_ = end_) { \
        end_ = at_ + RECORD_ITEMS < all_ ? at_ + RECORD_ITEMS : all_; \
        open_record(w_, tag_);                                        \
        put_varint(&(w_)->to, end_ - at_);                            \
        for (size_t i = at_; i < end_; i++)                           \
            put_item_;                                                \
        if (close_record(w_) != 0)                                    \
            return -1;                                                \
    }

static void put_site(struct put *to, const struct history *history, size_t i)
{
    const struct site *site = &history->sites.items[i];
    const struct peak_site *peak = &history->peak.sites.items[i];
    const struct amount live = {site->bytes, site->blocks};
    uint64_t carry;
    memcpy(&carry, &site->carry, sizeof carry);
    put_varint(to, site->stack);
    put_varint(to, site->thread);
    put_u8(to, site->allocator);
    put_u64(to, carry);
    put_amount(to, &live);
    put_amount(to, peak->seen == history->peak.moment ? &peak->at_peak : &live);
    put_amount(to, &history->leaks.sites.items[i]);
    put_amount(to, &history->totals.sites.items[i]);
    put_amount(to, &history->temporary.sites.items[i]);
}

static int put_live(struct writing *w, const struct live_map *map)
{
    uint32_t n = 0;
    uint64_t address = 0;
    for (size_t slot = 0; slot < map->n_slots; slot++) {
        const struct live_block *block = &map->slots[slot];
        if (block->entry == 0)
            continue;
        if (n == 0)
            open_record(w, CHECKPOINT_LIVE);
        put_signed(&w->to, (int64_t)(block->address - address));
        put_varint(&w->to, block->size);
        put_varint(&w->to, block->entry);
        put_varint(&w->to, (uint64_t)block->blocks << 1 | block->in_arena);
        put_varint(&w->to, live_block_ordinal(block));
        address = block->address;
        if (++n < RECORD_ITEMS)
            continue;
        n = 0;
        address = 0;
        if (close_record(w) != 0)
            return -1;
    }
    return n == 0 ? 0 : close_record(w);
}

static int put_ranges(struct writing *w, const struct ranges *ranges, enum checkpoint_tag tag)
{
    uint64_t end = 0;
    open_record(w, tag);
    for (size_t chunk = 0; chunk < ranges->chunks.n; chunk++) {
        const struct range_chunk *items = ranges->chunks.items[chunk];
        for (uint32_t i = 0; i < items->n; i++) {
            const struct range *range = &items->items[i];
            put_varint(&w->to, range->start - end);
            put_varint(&w->to, range->end - range->start);
            put_varint(&w->to, range->entry);
            put_varint(&w->to, range->mapping);
            end = range->end;
        }
        if (chunk % 16 != 15)
            continue;
        end = 0;
        if (close_record(w) != 0)
            return -1;
        open_record(w, tag);
    }
    return close_record(w);
}

static void put_arenas(struct put *to, const struct arena_state *state)
{
    put_signed(to, state->arenas);
    put_signed(to, state->arena_bytes);
    put_signed(to, state->used_bytes);
    put_signed(to, state->used_blocks);
}

static int put_totals(struct writing *w, const struct history *history)
{
    const struct reduce_totals *totals = &history->totals;
    const struct python_heap *heap = &history->python_heap;
    struct put *to = &w->to;
    open_record(w, CHECKPOINT_TOTALS);
    put_varint(to, history->n_events);
    put_varint(to, history->n_lost);
    put_signed(to, totals->bytes);
    put_signed(to, totals->n_allocations);
    put_signed(to, totals->n_frees);
    put_signed(to, totals->largest);
    put_signed(to, totals->smallest);
    for (int i = 0; i < SIZE_CLASSES; i++)
        put_signed(to, totals->sizes[i]);
    put_amount(to, &history->peak.live);
    put_amount(to, &history->peak.highest);
    put_u8(to, (uint8_t)(history->leaks.marked | heap->marked << 1));
    put_arenas(to, &heap->now);
    put_arenas(to, &heap->at_peak);
    put_arenas(to, &heap->at_end);
    for (int i = 0; i < N_DOMAINS; i++)
        put_amount(to, &heap->domains[i]);
    return close_record(w);
}

static int put_marks(struct writing *w, const struct reduce_marks *marks)
{
    PUT_ITEMS(w, CHECKPOINT_MARKS, marks->marks.n, ({
                  put_varint(&w->to, 0); /* a mark: its label */
                  put_varint(&w->to, marks->marks.items[i].label);
              }))
    PUT_ITEMS(w, CHECKPOINT_MARKS, marks->rows.n, ({
                  const struct mark_row *row = &marks->rows.items[i];
                  put_varint(&w->to, row->mark + 1ul); /* a row of it */
                  put_varint(&w->to, row->site + 1ul);
                  put_signed(&w->to, row->bytes);
                  put_signed(&w->to, row->blocks);
              }))
    return 0;
}

static void put_usage_row(struct put *to, const struct usage_row *row)
{
    put_signed(to, row->time_us);
    put_signed(to, row->known);
    for (unsigned i = 0; i < USAGE_FIELDS; i++)
        put_signed(to, row->fields[i]);
    put_signed(to, row->live_bytes);
    put_signed(to, row->live_blocks);
    put_signed(to, row->mapped_bytes);
    put_signed(to, row->arena_bytes);
}

static int put_usage(struct writing *w, const struct reduce_usage *usage)
{
    open_record(w, CHECKPOINT_USAGE);
    put_u8(&w->to, usage->marked);
    put_varint(&w->to, usage->n_taken);
    put_varint(&w->to, USAGE_FIELDS);
    put_usage_row(&w->to, &usage->now);
    put_usage_row(&w->to, &usage->highest);
    put_usage_row(&w->to, &usage->last);
    put_usage_row(&w->to, &usage->at_end);
    put_varint(&w->to, usage->rows.n);
    for (size_t i = 0; i < usage->rows.n; i++)
        put_usage_row(&w->to, &usage->rows.items[i]);
    return close_record(w);
}

static int put_cuts(struct writing *w, const struct checkpoint_cut *cuts, size_t n)
{
    PUT_ITEMS(w, CHECKPOINT_CUTS, n, ({
                  put_varint(&w->to, cuts[i].stream);
                  put_varint(&w->to, cuts[i].ordinal);
              }))
    return 0;
}

static int put_all(struct writing *w, struct history *history, bool with_live)
{
    PUT_ITEMS(w, CHECKPOINT_SITES, history->sites.n, put_site(&w->to, history, i))
    PUT_ITEMS(w, CHECKPOINT_THREADS, history->ordinals.n, ({
                  put_varint(&w->to, i);
                  put_varint(&w->to, history->ordinals.items[i]);
              }))
    if (put_totals(w, history) != 0 || put_marks(w, &history->marks) != 0 ||
        put_usage(w, &history->usage) != 0)
        return -1;
    if (!with_live)
        return 0;
    if (put_live(w, &history->live) != 0 || put_ranges(w, &history->ranges, CHECKPOINT_RANGES) != 0)
        return -1;
    return put_ranges(w, &history->python_heap.arenas, CHECKPOINT_ARENAS);
}

int checkpoint_write(struct history *history, const struct checkpoint_cut *cuts, size_t n_cuts,
                     bool with_live, const struct checkpoint_sink *sink)
{
    struct writing w = {.sink = sink, .start = pages_alloc(ROOM)};
    int failed = -1;
    if (w.start == NULL || ranges_renumber(&history->ranges) != 0 ||
        ranges_renumber(&history->python_heap.arenas) != 0)
        goto done;
    history_forget_undos(history);
    w.to = put_over(w.start, ROOM);
    open_record(&w, CHECKPOINT_BEGIN);
    put_u8(&w.to, with_live);
    if (close_record(&w) != 0 || put_cuts(&w, cuts, n_cuts) != 0 ||
        put_all(&w, history, with_live) != 0)
        goto done;
    open_record(&w, CHECKPOINT_END);
    failed = close_record(&w) != 0 || flush(&w) != 0 ? -1 : 0;
done:
    pages_free(w.start, ROOM);
    return failed;
}
