/* reduce_temporary.c - blocks that went almost at once; see reduce.h. */
#include "history/reduce.h"

int reduce_temporary_grow(struct reduce_temporary *self, size_t n_sites)
{
    if (page_vec_reserve(&self->sites, n_sites) != 0)
        return -1;
    self->sites.n = n_sites;
    return 0;
}

void reduce_temporary_change(struct reduce_temporary *self, const struct site *before,
                             const struct change *change)
{
    struct amount *site = &self->sites.items[change->site];
    (void)before;
    if (!change->temporary)
        return;
    site->bytes = sum_of(site->bytes, -change->bytes);
    site->blocks = sum_of(site->blocks, -change->blocks);
}

void reduce_temporary_mark(struct reduce_temporary *self, const struct site *sites, size_t n)
{
    (void)self, (void)sites, (void)n;
}

void reduce_temporary_finish(struct reduce_temporary *self, const struct site *sites, size_t n)
{
    (void)self, (void)sites, (void)n;
}

void reduce_temporary_release(struct reduce_temporary *self)
{
    page_vec_release(&self->sites);
}
