/* checkpoint_check.c - see checkpoint.h: whether what was read agrees with itself. */
#include "history/checkpoint.h"

/* What the live blocks and mappings of each site add up to. */
struct counted {
    PAGE_VEC(struct amount) sites;
    PAGE_VEC(uint32_t) mappings; /* the entry of each, 0 = none of its pieces was met yet */
};

static void count(struct counted *counted, uint32_t entry, uint64_t bytes, int64_t blocks)
{
    struct amount *amount = &counted->sites.items[entry - 1];
    amount->bytes = sum_of(amount->bytes, (int64_t)bytes);
    amount->blocks = sum_of(amount->blocks, blocks);
}

/* Every entry is one of the history's. False: the pieces of one mapping are of several sites. */
static bool count_ranges(struct counted *counted, const struct ranges *ranges)
{
    for (size_t chunk = 0; chunk < ranges->chunks.n; chunk++) {
        const struct range_chunk *items = ranges->chunks.items[chunk];
        for (uint32_t i = 0; i < items->n; i++) {
            const struct range *range = &items->items[i];
            uint32_t *entry = &counted->mappings.items[range->mapping];
            if (*entry != 0 && *entry != range->entry)
                return false;
            count(counted, range->entry, range->end - range->start, *entry == 0);
            *entry = range->entry;
        }
    }
    return true;
}

static bool agrees(const struct history *history, struct counted *counted)
{
    for (size_t slot = 0; slot < history->live.n_slots; slot++) {
        const struct live_block *block = &history->live.slots[slot];
        if (block->entry != 0)
            count(counted, block->entry, block->size, block->blocks);
    }
    if (!count_ranges(counted, &history->ranges))
        return false;
    for (size_t i = 0; i < history->sites.n; i++) {
        const struct site *site = &history->sites.items[i];
        const struct amount *amount = &counted->sites.items[i];
        if (site->bytes != amount->bytes || site->blocks != amount->blocks)
            return false;
    }
    return true;
}

/* Of each site what is live is what its blocks and mappings are. */
static enum checkpoint_verdict check_live(const struct history *history)
{
    struct counted counted = {0};
    enum checkpoint_verdict verdict = CHECKPOINT_NO_MEMORY;
    if (page_vec_reserve(&counted.sites, history->sites.n) == 0 &&
        page_vec_reserve(&counted.mappings, history->ranges.n_pieces.n) == 0)
        verdict = agrees(history, &counted) ? CHECKPOINT_OK : CHECKPOINT_MALFORMED;
    page_vec_release(&counted.sites);
    page_vec_release(&counted.mappings);
    return verdict;
}

enum checkpoint_verdict checkpoint_check(const struct history *history, bool with_live)
{
    const struct reduce_totals *totals = &history->totals;
    struct amount live = {0};
    int64_t total = 0, peak = 0, sizes = 0;
    for (size_t i = 0; i < history->sites.n; i++) {
        const struct site *site = &history->sites.items[i];
        if (site->bytes < 0 || site->blocks < 0)
            return CHECKPOINT_MALFORMED;
        live.bytes = sum_of(live.bytes, site->bytes);
        live.blocks = sum_of(live.blocks, site->blocks);
        total = sum_of(total, totals->sites.items[i].bytes);
        peak = sum_of(peak, history->peak.sites.items[i].at_peak.bytes);
    }
    for (int i = 0; i < SIZE_CLASSES; i++)
        sizes = sum_of(sizes, totals->sizes[i]);
    if (sizes != totals->n_allocations || total != totals->bytes ||
        peak != history->peak.highest.bytes || live.bytes != history->peak.live.bytes ||
        live.blocks != sum_of(totals->n_allocations, -totals->n_frees))
        return CHECKPOINT_MALFORMED;
    return with_live ? check_live(history) : CHECKPOINT_OK;
}
