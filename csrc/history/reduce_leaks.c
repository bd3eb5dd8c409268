/* reduce_leaks.c - what is live at the cut-off; see reduce.h. */
#include "history/reduce.h"

int reduce_leaks_grow(struct reduce_leaks *self, size_t n_sites)
{
    if (page_vec_reserve(&self->sites, n_sites) != 0)
        return -1;
    self->sites.n = n_sites;
    return 0;
}

void reduce_leaks_change(struct reduce_leaks *self, const struct site *before,
                         const struct change *change)
{
    (void)self, (void)before, (void)change;
}

static void copy_live(struct reduce_leaks *self, const struct site *sites, size_t n)
{
    for (size_t i = 0; i < n; i++)
        self->sites.items[i] = (struct amount){sites[i].bytes, sites[i].blocks};
}

void reduce_leaks_mark(struct reduce_leaks *self, const struct site *sites, size_t n)
{
    copy_live(self, sites, n);
    self->marked = true;
}

void reduce_leaks_finish(struct reduce_leaks *self, const struct site *sites, size_t n)
{
    if (!self->marked)
        copy_live(self, sites, n);
}

void reduce_leaks_release(struct reduce_leaks *self)
{
    page_vec_release(&self->sites);
}
