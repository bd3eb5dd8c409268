/* checkpoint_load.c - see checkpoint.h: reading. */
#include "history/checkpoint.h"

static int64_t get_signed(struct get *from)
{
    return unzigzag(get_varint(from));
}

static void add_amount(struct get *from, struct amount *amount)
{
    amount->bytes = sum_of(amount->bytes, get_signed(from));
    amount->blocks = sum_of(amount->blocks, get_signed(from));
}

bool checkpoint_next_cut(struct get *record, struct checkpoint_cut *cut)
{
    if (get_left(record) == 0)
        return false;
    cut->stream = (uint32_t)get_varint(record);
    cut->ordinal = get_varint(record);
    return !record->bad;
}

/* Several nodes of a log may be one row of the reader's stacks: what they hold adds up. */
static enum checkpoint_verdict load_site(struct checkpoint_loader *loader, struct get *from)
{
    struct history *history = loader->history;
    uint32_t stack = loader->stack_row(loader->context, (uint32_t)get_varint(from));
    uint32_t thread = loader->thread_row(loader->context, (uint32_t)get_varint(from));
    uint8_t allocator = get_u8(from);
    uint64_t carry_bits = get_u64(from);
    struct amount live = {0};
    struct site *site;
    uint32_t *entry;
    double carry;
    if (from->bad || allocator > EVENT_ARENA)
        return CHECKPOINT_MALFORMED;
    if (stack == UINT32_MAX || thread == UINT32_MAX ||
        (entry = page_vec_add(&loader->entries)) == NULL)
        return CHECKPOINT_NO_MEMORY;
    *entry = history_site(history, stack, thread, allocator);
    if (*entry == 0)
        return CHECKPOINT_NO_MEMORY;
    site = &history->sites.items[*entry - 1];
    memcpy(&carry, &carry_bits, sizeof carry);
    if (carry >= 0 && carry < 1) /* and not: no number */
        site->carry = carry;
    add_amount(from, &live);
    site->bytes = sum_of(site->bytes, live.bytes);
    site->blocks = sum_of(site->blocks, live.blocks);
    add_amount(from, &history->peak.sites.items[*entry - 1].at_peak);
    history->peak.sites.items[*entry - 1].seen = 1; /* see checkpoint_loaded */
    add_amount(from, &history->leaks.sites.items[*entry - 1]);
    add_amount(from, &history->totals.sites.items[*entry - 1]);
    add_amount(from, &history->temporary.sites.items[*entry - 1]);
    return CHECKPOINT_OK;
}

/* The history's entry of a site of the checkpoint, 0 = there is none. */
static uint32_t entry_of(const struct checkpoint_loader *loader, uint64_t number)
{
    return number == 0 || number > loader->entries.n ? 0 : loader->entries.items[number - 1];
}

static enum checkpoint_verdict load_thread(struct checkpoint_loader *loader, struct get *from)
{
    struct history *history = loader->history;
    uint64_t stream = get_varint(from), ordinal = get_varint(from);
    uint32_t thread;
    if (from->bad || stream > UINT32_MAX)
        return CHECKPOINT_MALFORMED;
    if (ordinal == 0)
        return CHECKPOINT_OK; /* it has made no block */
    thread = loader->thread_row(loader->context, (uint32_t)stream);
    if (thread == UINT32_MAX || page_vec_reserve(&history->ordinals, thread + 1ul) != 0)
        return CHECKPOINT_NO_MEMORY;
    if (history->ordinals.n <= thread)
        history->ordinals.n = thread + 1ul;
    history->ordinals.items[thread] = (uint32_t)ordinal;
    return CHECKPOINT_OK;
}

static enum checkpoint_verdict load_live(struct checkpoint_loader *loader, struct get *from)
{
    struct history *history = loader->history;
    uint64_t address = 0;
    while (get_left(from) != 0) {
        struct live_block block = {0}, replaced;
        uint64_t size, flags;
        address += (uint64_t)get_signed(from);
        size = get_varint(from);
        block.entry = entry_of(loader, get_varint(from));
        flags = get_varint(from);
        block.address = LIVE_MAP_ADDRESS(address);
        block.size = size & (((uint64_t)1 << 48) - 1);
        block.blocks = (uint32_t)(flags >> 1) & 0x7fffffffu;
        block.in_arena = flags & 1;
        live_block_set_ordinal(&block, (uint32_t)get_varint(from));
        if (from->bad || block.entry == 0 ||
            history->sites.items[block.entry - 1].thread >= history->ordinals.n)
            return CHECKPOINT_MALFORMED;
        if (live_map_put(&history->live, &block, &replaced) != 0)
            return CHECKPOINT_NO_MEMORY;
    }
    return CHECKPOINT_OK;
}

/* Ranges stand in the order of their addresses; the pieces of a mapping share its number. */
static enum checkpoint_verdict load_ranges(struct checkpoint_loader *loader, struct get *from,
                                           struct ranges *ranges, bool have_sites)
{
    uint64_t end = 0;
    while (get_left(from) != 0) {
        struct range range;
        uint64_t entry, mapping;
        range.start = end + get_varint(from);
        range.end = range.start + get_varint(from);
        entry = get_varint(from);
        mapping = get_varint(from);
        if (from->bad || range.start < end || range.end <= range.start ||
            mapping > ranges->n_pieces.n + RANGES_IN_CHUNK * 64ul)
            return CHECKPOINT_MALFORMED;
        range.entry = have_sites ? entry_of(loader, entry) : 1;
        if (range.entry == 0)
            return CHECKPOINT_MALFORMED;
        range.mapping = (uint32_t)mapping;
        if (ranges_hold(ranges, range.start) || ranges_hold(ranges, range.end - 1))
            return CHECKPOINT_MALFORMED;
        if (page_vec_reserve(&ranges->n_pieces, mapping + 1) != 0)
            return CHECKPOINT_NO_MEMORY;
        if (ranges->n_pieces.n <= mapping)
            ranges->n_pieces.n = mapping + 1;
        if (ranges_put_back(ranges, &range) != 0)
            return CHECKPOINT_NO_MEMORY;
        end = range.end;
    }
    return CHECKPOINT_OK;
}

static void load_arenas(struct get *from, struct arena_state *state)
{
    state->arenas = get_signed(from);
    state->arena_bytes = get_signed(from);
    state->used_bytes = get_signed(from);
    state->used_blocks = get_signed(from);
}

static enum checkpoint_verdict load_totals(struct checkpoint_loader *loader, struct get *from)
{
    struct history *history = loader->history;
    struct reduce_totals *totals = &history->totals;
    struct python_heap *heap = &history->python_heap;
    uint8_t marked;
    history->n_events = get_varint(from);
    history->n_lost = get_varint(from);
    totals->bytes = get_signed(from);
    totals->n_allocations = get_signed(from);
    totals->n_frees = get_signed(from);
    totals->largest = get_signed(from);
    totals->smallest = get_signed(from);
    for (int i = 0; i < SIZE_CLASSES; i++)
        totals->sizes[i] = get_signed(from);
    add_amount(from, &history->peak.live);
    add_amount(from, &history->peak.highest);
    marked = get_u8(from);
    history->leaks.marked = marked & 1;
    heap->marked = marked >> 1 & 1;
    load_arenas(from, &heap->now);
    load_arenas(from, &heap->at_peak);
    load_arenas(from, &heap->at_end);
    for (int i = 0; i < N_DOMAINS; i++)
        add_amount(from, &heap->domains[i]);
    return from->bad ? CHECKPOINT_MALFORMED : CHECKPOINT_OK;
}

static enum checkpoint_verdict load_mark(struct checkpoint_loader *loader, struct get *from)
{
    struct reduce_marks *marks = &loader->history->marks;
    uint64_t mark = get_varint(from);
    struct mark_row row;
    uint32_t entry;
    if (mark == 0) {
        struct user_mark *added = page_vec_add(&marks->marks);
        if (added == NULL)
            return CHECKPOINT_NO_MEMORY;
        added->label = (uint32_t)get_varint(from);
        return from->bad ? CHECKPOINT_MALFORMED : CHECKPOINT_OK;
    }
    entry = entry_of(loader, get_varint(from));
    row = (struct mark_row){.mark = (uint32_t)mark - 1, .site = entry - 1};
    row.bytes = get_signed(from);
    row.blocks = get_signed(from);
    if (from->bad || entry == 0 || mark > marks->marks.n)
        return CHECKPOINT_MALFORMED;
    if (page_vec_reserve(&marks->rows, marks->rows.n + 1) != 0)
        return CHECKPOINT_NO_MEMORY;
    marks->rows.items[marks->rows.n++] = row;
    marks->sites.items[row.site].at_mark = (struct amount){row.bytes, row.blocks};
    return CHECKPOINT_OK;
}

static void load_usage_row(struct get *from, struct usage_row *row, uint64_t n_fields)
{
    row->time_us = get_signed(from);
    row->known = get_signed(from);
    for (uint64_t i = 0; i < n_fields; i++) {
        const int64_t value = get_signed(from);
        if (i < USAGE_FIELDS)
            row->fields[i] = value;
    }
    row->live_bytes = get_signed(from);
    row->live_blocks = get_signed(from);
    row->mapped_bytes = get_signed(from);
    row->arena_bytes = get_signed(from);
}

static enum checkpoint_verdict load_usage(struct checkpoint_loader *loader, struct get *from)
{
    struct reduce_usage *usage = &loader->history->usage;
    uint64_t n_fields, n;
    usage->marked = get_u8(from) & 1;
    usage->n_taken = get_varint(from);
    n_fields = get_varint(from);
    if (from->bad || n_fields > 64)
        return CHECKPOINT_MALFORMED;
    load_usage_row(from, &usage->now, n_fields);
    load_usage_row(from, &usage->highest, n_fields);
    load_usage_row(from, &usage->last, n_fields);
    load_usage_row(from, &usage->at_end, n_fields);
    n = get_varint(from);
    if (from->bad || n > USAGE_MOST_ROWS)
        return CHECKPOINT_MALFORMED;
    if (page_vec_reserve(&usage->rows, n) != 0)
        return CHECKPOINT_NO_MEMORY;
    for (usage->rows.n = 0; usage->rows.n < n; usage->rows.n++)
        load_usage_row(from, &usage->rows.items[usage->rows.n], n_fields);
    return from->bad ? CHECKPOINT_MALFORMED : CHECKPOINT_OK;
}

static enum checkpoint_verdict
load_items(struct checkpoint_loader *loader, struct get *from,
           enum checkpoint_verdict (*load)(struct checkpoint_loader *, struct get *))
{
    enum checkpoint_verdict verdict = CHECKPOINT_OK;
    uint64_t n = get_varint(from);
    for (uint64_t i = 0; i < n && verdict == CHECKPOINT_OK; i++)
        verdict = load(loader, from);
    return verdict;
}

enum checkpoint_verdict checkpoint_load(struct checkpoint_loader *loader, const uint8_t *records,
                                        size_t n_bytes)
{
    struct get from = get_over(records, n_bytes), record;
    enum checkpoint_verdict verdict = CHECKPOINT_OK;
    uint8_t tag;
    while (verdict == CHECKPOINT_OK && (tag = table_next(&from, &record)) != 0) {
        if (tag == CHECKPOINT_BEGIN)
            loader->with_live = get_u8(&record) != 0;
        else if (tag == CHECKPOINT_SITES)
            verdict = load_items(loader, &record, load_site);
        else if (tag == CHECKPOINT_THREADS)
            verdict = load_items(loader, &record, load_thread);
        else if (tag == CHECKPOINT_LIVE)
            verdict = load_live(loader, &record);
        else if (tag == CHECKPOINT_RANGES)
            verdict = load_ranges(loader, &record, &loader->history->ranges, true);
        else if (tag == CHECKPOINT_ARENAS)
            verdict = load_ranges(loader, &record, &loader->history->python_heap.arenas, false);
        else if (tag == CHECKPOINT_TOTALS)
            verdict = load_totals(loader, &record);
        else if (tag == CHECKPOINT_USAGE)
            verdict = load_usage(loader, &record);
        else if (tag == CHECKPOINT_MARKS)
            verdict = load_items(loader, &record, load_mark);
    }
    return verdict == CHECKPOINT_OK && from.bad ? CHECKPOINT_MALFORMED : verdict;
}

enum checkpoint_verdict checkpoint_loaded(struct checkpoint_loader *loader)
{
    struct history *history = loader->history;
    struct reduce_marks *marks = &history->marks;
    history->peak.moment = history->python_heap.peak_moment = 1;
    for (size_t i = 0; i < history->sites.n; i++) {
        const struct site *site = &history->sites.items[i];
        struct marked_site *marked = &marks->sites.items[i];
        if (site->bytes == marked->at_mark.bytes && site->blocks == marked->at_mark.blocks)
            continue;
        marked->changed = true;
        marks->changed.items[marks->changed.n++] = (uint32_t)i;
    }
    return checkpoint_check(history, loader->with_live);
}

void checkpoint_loader_release(struct checkpoint_loader *loader)
{
    page_vec_release(&loader->entries);
}
