/* history.c - see history.h. */
#include "history/history.h"

#include <math.h>

#define PAGE_BYTES 4096u /* a munmap of a larger page says so itself: its length is rounded up */
#define LARGEST_SIZE ((uint64_t)1 << 48) /* more than any address space that programs get */
#define KIND_BITS 5                      /* allocation kinds are below 32 */
#define MOST_BLOCKS 0x7fffffffu          /* that one sampled block may stand for */

/* ---- sites --------------------------------------------------------------------------------- */

/* The row of a site, added when it is new, plus 1; 0 = no memory left. */
uint32_t history_site(struct history *history, uint32_t stack, uint32_t thread, uint8_t allocator)
{
    uint64_t key = (uint64_t)stack << 32 | (uint64_t)thread << KIND_BITS | allocator;
    uint32_t row = table_get(&history->site_rows, key);
    struct site *site;
    size_t n;
    if (likely(row != 0))
        return row;
    site = page_vec_add(&history->sites);
    if (site == NULL)
        return 0;
    n = history->sites.n;
    *site = (struct site){.stack = stack, .thread = thread, .allocator = allocator};
    if (table_put(&history->site_rows, key, (uint32_t)n) != 0)
        return 0;
#define GROW(name)                                    \
    if (reduce_##name##_grow(&history->name, n) != 0) \
        return 0;
    REDUCERS(GROW)
#undef GROW
    return (uint32_t)n;
}

static void tell(struct history *history, const struct change *change)
{
    struct site *site = &history->sites.items[change->site];
#define CHANGE(name) reduce_##name##_change(&history->name, site, change);
    REDUCERS(CHANGE)
#undef CHANGE
    site->bytes = sum_of(site->bytes, change->bytes);
    site->blocks = sum_of(site->blocks, change->blocks);
    python_heap_note_peak(&history->python_heap, history->peak.moment);
}

static void tell_gone(struct history *history, uint32_t entry, uint64_t bytes, int64_t blocks,
                      bool temporary)
{
    tell(history, &(struct change){.site = entry - 1,
                                   .bytes = -(int64_t)bytes,
                                   .blocks = -blocks,
                                   .temporary = temporary});
}

static void tell_back(struct history *history, uint32_t entry, uint64_t bytes, int64_t blocks,
                      bool temporary)
{
    tell(history,
         &(struct change){
             .site = entry - 1, .bytes = (int64_t)bytes, .blocks = blocks, .temporary = temporary});
}

static void tell_block_gone(struct history *history, const struct live_block *block, bool temporary)
{
    if (block->in_arena)
        python_heap_change(&history->python_heap, block, -1);
    tell_gone(history, block->entry, block->size, block->blocks, temporary);
}

/* ---- mappings ------------------------------------------------------------------------------ */

static uint64_t page_end(uint64_t address, uint64_t size)
{
    uint64_t end = address + size;
    if (end < address || end > UINT64_MAX - PAGE_BYTES)
        return UINT64_MAX;
    return (end + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
}

/* Unmaps, and appends what went to *taken. */
static int unmap(struct history *history, uint64_t address, uint64_t size,
                 struct taken_ranges *taken)
{
    size_t n_before = taken->n;
    if (ranges_take(&history->ranges, address, page_end(address, size), taken) != 0)
        return -1;
    for (size_t i = n_before; i < taken->n; i++) {
        const struct taken_range *piece = &taken->items[i];
        tell_gone(history, piece->range.entry, piece->range.end - piece->range.start, piece->last,
                  false);
    }
    return 0;
}

/* A new mapping takes the place of whatever was there (MAP_FIXED, or a munmap that we missed). */
static int clear_range(struct history *history, uint64_t address, uint64_t size)
{
    struct taken_ranges replaced = {0};
    int failed = unmap(history, address, size, &replaced);
    page_vec_release(&replaced);
    return failed;
}

/* ---- events -------------------------------------------------------------------------------- */

static bool is_python(const struct event *event)
{
    return event->kind >= EVENT_PYMALLOC_MALLOC && event->kind <= EVENT_PYMALLOC_REALLOC;
}

static bool is_mapping(const struct event *event)
{
    return (event->kind == EVENT_MMAP || event->kind == EVENT_ARENA) && event->size != 0 &&
           event->address <= UINT64_MAX - event->size;
}

/*
 * What an allocation of a sampled log stands for. One of `size` bytes is recorded with probability
 * p = 1 - exp(-size / mean distance), so it stands for 1 / p of its kind: nothing is estimated too
 * high or too low on average. Parts of blocks are carried over within a site. Mappings are recorded
 * always.
 */
static void weigh(struct history *history, const struct event *event, struct live_block *block)
{
    struct site *site = &history->sites.items[block->entry - 1];
    const double size = event->size == 0 ? 1 : (double)event->size;
    double weight, blocks;
    if (history->sample_bytes == 0)
        return;
    weight = -1 / expm1(-size / (double)history->sample_bytes);
    blocks = floor(weight + site->carry);
    if (blocks > MOST_BLOCKS)
        blocks = MOST_BLOCKS;
    site->carry += weight - blocks;
    block->blocks = (uint32_t)blocks & MOST_BLOCKS;
    block->size = LARGEST_SIZE - 1;
    if (weight * (double)event->size < (double)block->size)
        block->size = (uint64_t)(weight * (double)event->size + 0.5);
}

/* Gives the block its number among those of its thread. */
static int count_block(struct history *history, struct live_block *block)
{
    const uint32_t thread = history->sites.items[block->entry - 1].thread;
    if (page_vec_reserve(&history->ordinals, thread + 1ul) != 0)
        return -1;
    if (history->ordinals.n <= thread)
        history->ordinals.n = thread + 1ul;
    live_block_set_ordinal(block, ++history->ordinals.items[thread]);
    return 0;
}

static int allocate(struct history *history, const struct event *event, uint32_t entry)
{
    struct live_block block = {.address = LIVE_MAP_ADDRESS(event->address),
                               .size = event->size,
                               .entry = entry,
                               .blocks = 1};
    struct live_block replaced;
    if (is_mapping(event)) {
        if (clear_range(history, event->address, event->size) != 0 ||
            ranges_add(&history->ranges, event->address, event->address + event->size, entry) != 0)
            return -1;
    } else {
        weigh(history, event, &block);
        if (count_block(history, &block) != 0)
            return -1;
        if (is_python(event))
            python_heap_add(&history->python_heap, event, &block);
        if (live_map_put(&history->live, &block, &replaced) != 0)
            return -1;
        if (replaced.entry != 0)
            tell_block_gone(history, &replaced, false);
    }
    tell(history, &(struct change){.site = entry - 1,
                                   .allocation = true,
                                   .bytes = (int64_t)block.size,
                                   .blocks = block.blocks,
                                   .size = (int64_t)event->size});
    return 0;
}

static struct undo *undo_of(struct history *history, uint32_t stream)
{
    if (page_vec_reserve(&history->undos, stream + 1ul) != 0)
        return NULL;
    if (history->undos.n <= stream)
        history->undos.n = stream + 1ul;
    return &history->undos.items[stream];
}

/* Counts the allocations of the thread that made the block. */
static bool was_temporary(const struct history *history, const struct live_block *block)
{
    const uint32_t thread = history->sites.items[block->entry - 1].thread;
    return history->ordinals.items[thread] - live_block_ordinal(block) <= TEMPORARY_DISTANCE;
}

static int release(struct history *history, const struct event *event, uint32_t stream)
{
    struct undo *undo = undo_of(history, stream);
    if (undo == NULL)
        return -1;
    undo->address = event->address;
    undo->pieces.n = 0;
    undo->block.entry = 0;
    if (event->kind == EVENT_MUNMAP) {
        undo->valid = true;
        if (history->python_heap.traced &&
            python_heap_unmap(&history->python_heap, event->address,
                              page_end(event->address, event->size)) != 0)
            return -1;
        return unmap(history, event->address, event->size, &undo->pieces);
    }
    undo->valid = live_map_take(&history->live, event->address, &undo->block);
    if (undo->valid) {
        undo->temporary = was_temporary(history, &undo->block);
        tell_block_gone(history, &undo->block, undo->temporary);
    }
    return 0;
}

static int put_pieces_back(struct history *history, const struct taken_ranges *pieces)
{
    for (size_t i = 0; i < pieces->n; i++) {
        const struct range *range = &pieces->items[i].range;
        bool block = history->ranges.n_pieces.items[range->mapping] == 0;
        uint64_t n_bytes = range->end - range->start;
        if (clear_range(history, range->start, n_bytes) != 0 ||
            ranges_put_back(&history->ranges, range) != 0)
            return -1;
        tell_back(history, range->entry, n_bytes, block, false);
    }
    return 0;
}

/* The stream's last free did not happen: what it took is live again. */
static int take_back(struct history *history, const struct event *event, uint32_t stream)
{
    struct undo *undo = undo_of(history, stream);
    struct live_block replaced;
    if (undo == NULL)
        return -1;
    if (!undo->valid || undo->address != event->address)
        return 0;
    undo->valid = false;
    if (undo->block.entry == 0)
        return put_pieces_back(history, &undo->pieces);
    if (live_map_put(&history->live, &undo->block, &replaced) != 0)
        return -1;
    if (replaced.entry != 0)
        tell_block_gone(history, &replaced, false);
    if (undo->block.in_arena)
        python_heap_change(&history->python_heap, &undo->block, 1);
    tell_back(history, undo->block.entry, undo->block.size, undo->block.blocks, undo->temporary);
    return 0;
}

/* The next moment that is told of is one at which the stream's last free had not happened yet. */
static int was_still_there(struct history *history, const struct event *event, uint32_t stream)
{
    const struct undo *undo = undo_of(history, stream);
    if (undo == NULL)
        return -1;
    if (!undo->valid || undo->address != event->size)
        return 0;
    if (undo->block.entry != 0)
        reduce_usage_during(&history->usage, history->sites.items[undo->block.entry - 1].allocator,
                            (struct amount){(int64_t)undo->block.size, undo->block.blocks});
    for (size_t i = 0; undo->block.entry == 0 && i < undo->pieces.n; i++) {
        const struct taken_range *piece = &undo->pieces.items[i];
        reduce_usage_during(
            &history->usage, history->sites.items[piece->range.entry - 1].allocator,
            (struct amount){(int64_t)(piece->range.end - piece->range.start), piece->last});
    }
    return 0;
}

static int apply_mark(struct history *history, const struct event *event, uint32_t stream)
{
    if (event->address == MARK_USAGE_DURING)
        return was_still_there(history, event, stream);
    if (event->address == MARK_USER)
        return reduce_marks_add(&history->marks, (uint32_t)event->size, history->sites.items);
    if (event->address == MARK_USAGE_TAKEN || event->address >= MARK_USAGE_FIRST)
        return reduce_usage_field(&history->usage, event->address, event->size);
    if (event->address == MARK_LOST)
        history->n_lost += event->size;
    if (event->address != MARK_END_OF_SCRIPT)
        return 0;
#define MARK(name) reduce_##name##_mark(&history->name, history->sites.items, history->sites.n);
    REDUCERS(MARK)
#undef MARK
    python_heap_mark(&history->python_heap);
    return 0;
}

/* Where objects are counted one by one, what they are cut from is not. */
static enum apply_verdict map_arena(struct history *history, const struct event *event)
{
    if (is_mapping(event) &&
        python_heap_map(&history->python_heap, event->address, event->address + event->size) != 0)
        return APPLY_NO_MEMORY;
    return APPLY_OK;
}

enum apply_verdict history_apply(struct history *history, const struct event *event,
                                 uint32_t stream, uint32_t thread, uint32_t stack)
{
    int failed = 0;
    history->n_events++;
    if (event_is_allocation(event->kind)) {
        uint32_t entry;
        if (event->size >= LARGEST_SIZE)
            return APPLY_MALFORMED;
        if (event->kind == EVENT_ARENA && history->python_heap.traced)
            return map_arena(history, event);
        entry = history_site(history, stack, thread, event->kind);
        failed = entry == 0 ? -1 : allocate(history, event, entry);
    } else if (event->kind == EVENT_UNFREE) {
        failed = take_back(history, event, stream);
    } else if (event->kind == EVENT_MARK) {
        failed = apply_mark(history, event, stream);
    } else {
        failed = release(history, event, stream);
    }
    return failed == 0 ? APPLY_OK : APPLY_NO_MEMORY;
}

void history_forget_undos(struct history *history)
{
    for (size_t i = 0; i < history->undos.n; i++)
        history->undos.items[i].valid = false;
}

void history_finish(struct history *history)
{
#define FINISH(name) reduce_##name##_finish(&history->name, history->sites.items, history->sites.n);
    REDUCERS(FINISH)
#undef FINISH
    python_heap_finish(&history->python_heap);
}

void history_release(struct history *history)
{
    for (size_t i = 0; i < history->undos.n; i++)
        page_vec_release(&history->undos.items[i].pieces);
    page_vec_release(&history->undos);
    page_vec_release(&history->ordinals);
    page_vec_release(&history->sites);
    table_release(&history->site_rows);
    live_map_release(&history->live);
    ranges_release(&history->ranges);
    python_heap_release(&history->python_heap);
#define RELEASE(name) reduce_##name##_release(&history->name);
    REDUCERS(RELEASE)
#undef RELEASE
}
