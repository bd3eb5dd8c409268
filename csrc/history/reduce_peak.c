/* reduce_peak.c - what is live at the highest moment; see reduce.h. */
#include "history/reduce.h"

int reduce_peak_grow(struct reduce_peak *self, size_t n_sites)
{
    if (page_vec_reserve(&self->sites, n_sites) != 0)
        return -1;
    self->sites.n = n_sites;
    return 0;
}

void reduce_peak_change(struct reduce_peak *self, const struct site *before,
                        const struct change *change)
{
    struct peak_site *site = &self->sites.items[change->site];
    if (site->seen != self->moment) {
        site->at_peak = (struct amount){before->bytes, before->blocks};
        site->seen = self->moment;
    }
    self->live.bytes = sum_of(self->live.bytes, change->bytes);
    self->live.blocks = sum_of(self->live.blocks, change->blocks);
    if (self->live.bytes > self->highest.bytes) {
        self->highest = self->live;
        self->moment++;
    }
}

void reduce_peak_mark(struct reduce_peak *self, const struct site *sites, size_t n)
{
    (void)self, (void)sites, (void)n;
}

void reduce_peak_finish(struct reduce_peak *self, const struct site *sites, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (self->sites.items[i].seen != self->moment)
            self->sites.items[i].at_peak = (struct amount){sites[i].bytes, sites[i].blocks};
    }
}

void reduce_peak_release(struct reduce_peak *self)
{
    page_vec_release(&self->sites);
}
