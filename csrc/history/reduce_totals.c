/* reduce_totals.c - everything ever allocated; see reduce.h. */
#include "history/reduce.h"

int reduce_totals_grow(struct reduce_totals *self, size_t n_sites)
{
    if (page_vec_reserve(&self->sites, n_sites) != 0)
        return -1;
    self->sites.n = n_sites;
    return 0;
}

static unsigned significant_bits(uint64_t value)
{
    return value == 0 ? 0 : 64 - (unsigned)__builtin_clzll(value);
}

void reduce_totals_change(struct reduce_totals *self, const struct site *before,
                          const struct change *change)
{
    struct amount *site = &self->sites.items[change->site];
    int64_t *of_size;
    (void)before;
    if (!change->allocation) {
        self->n_frees = sum_of(self->n_frees, -change->blocks);
        return;
    }
    site->bytes = sum_of(site->bytes, change->bytes);
    site->blocks = sum_of(site->blocks, change->blocks);
    self->bytes = sum_of(self->bytes, change->bytes);
    of_size = &self->sizes[significant_bits((uint64_t)change->size)];
    *of_size = sum_of(*of_size, change->blocks);
    if (self->n_allocations == 0 || change->size < self->smallest)
        self->smallest = change->size;
    if (change->size > self->largest)
        self->largest = change->size;
    self->n_allocations = sum_of(self->n_allocations, change->blocks);
}

void reduce_totals_mark(struct reduce_totals *self, const struct site *sites, size_t n)
{
    (void)self, (void)sites, (void)n;
}

void reduce_totals_finish(struct reduce_totals *self, const struct site *sites, size_t n)
{
    (void)self, (void)sites, (void)n;
}

void reduce_totals_release(struct reduce_totals *self)
{
    page_vec_release(&self->sites);
}
