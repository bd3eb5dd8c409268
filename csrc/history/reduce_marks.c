/* reduce_marks.c - what is live at the program's own marks, as what changed; see reduce.h. */
#include "history/reduce.h"

int reduce_marks_grow(struct reduce_marks *self, size_t n_sites)
{
    /* A site stands in `changed` once at most, so that a change never needs memory. */
    if (page_vec_reserve(&self->sites, n_sites) != 0 ||
        page_vec_reserve(&self->changed, n_sites) != 0)
        return -1;
    self->sites.n = n_sites;
    return 0;
}

void reduce_marks_change(struct reduce_marks *self, const struct site *before,
                         const struct change *change)
{
    struct marked_site *site = &self->sites.items[change->site];
    (void)before;
    if (site->changed)
        return;
    site->changed = true;
    self->changed.items[self->changed.n++] = change->site;
}

void reduce_marks_mark(struct reduce_marks *self, const struct site *sites, size_t n)
{
    (void)self, (void)sites, (void)n;
}

int reduce_marks_add(struct reduce_marks *self, uint32_t label, const struct site *sites)
{
    struct user_mark *mark = page_vec_add(&self->marks);
    if (mark == NULL || page_vec_reserve(&self->rows, self->rows.n + self->changed.n) != 0)
        return -1;
    mark->label = label;
    for (size_t i = 0; i < self->changed.n; i++) {
        uint32_t row = self->changed.items[i];
        struct marked_site *site = &self->sites.items[row];
        struct amount now = {sites[row].bytes, sites[row].blocks};
        site->changed = false;
        if (now.bytes == site->at_mark.bytes && now.blocks == site->at_mark.blocks)
            continue;
        site->at_mark = now;
        self->rows.items[self->rows.n++] =
            (struct mark_row){(uint32_t)self->marks.n - 1, row, now.bytes, now.blocks};
    }
    self->changed.n = 0;
    return 0;
}

void reduce_marks_finish(struct reduce_marks *self, const struct site *sites, size_t n)
{
    (void)self, (void)sites, (void)n;
}

void reduce_marks_release(struct reduce_marks *self)
{
    page_vec_release(&self->sites);
    page_vec_release(&self->changed);
    page_vec_release(&self->marks);
    page_vec_release(&self->rows);
}
