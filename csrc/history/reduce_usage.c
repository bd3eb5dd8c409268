/* reduce_usage.c - the size of the process at moments of its own choice; see reduce.h. */
#include "history/reduce.h"

int reduce_usage_grow(struct reduce_usage *self, size_t n_sites)
{
    (void)self, (void)n_sites;
    return 0;
}

void reduce_usage_change(struct reduce_usage *self, const struct site *before,
                         const struct change *change)
{
    struct usage_row *now = &self->now;
    now->live_bytes = sum_of(now->live_bytes, change->bytes);
    now->live_blocks = sum_of(now->live_blocks, change->blocks);
    if (before->allocator == EVENT_MMAP)
        now->mapped_bytes = sum_of(now->mapped_bytes, change->bytes);
    else if (before->allocator == EVENT_ARENA)
        now->arena_bytes = sum_of(now->arena_bytes, change->bytes);
}

static int64_t size_of(const struct usage_row *row)
{
    return sum_of(sum_of(row->fields[USAGE_ANONYMOUS], row->fields[USAGE_FILE]),
                  row->fields[USAGE_SHARED]);
}

/* Of two neighbours the larger one stays. */
static void thin_out(struct reduce_usage *self)
{
    for (size_t i = 0; i < self->rows.n / 2; i++) {
        const struct usage_row *a = &self->rows.items[2 * i], *b = a + 1;
        self->rows.items[i] = size_of(b) > size_of(a) ? *b : *a;
    }
    self->rows.n /= 2;
}

void reduce_usage_during(struct reduce_usage *self, uint8_t allocator, struct amount amount)
{
    struct usage_going *going = &self->going;
    going->amount.bytes = sum_of(going->amount.bytes, amount.bytes);
    going->amount.blocks = sum_of(going->amount.blocks, amount.blocks);
    if (allocator == EVENT_MMAP)
        going->mapped_bytes = sum_of(going->mapped_bytes, amount.bytes);
    else if (allocator == EVENT_ARENA)
        going->arena_bytes = sum_of(going->arena_bytes, amount.bytes);
}

static struct usage_row row_of_now(struct reduce_usage *self)
{
    const struct usage_going *going = &self->going;
    struct usage_row row = self->now;
    row.live_bytes = sum_of(row.live_bytes, going->amount.bytes);
    row.live_blocks = sum_of(row.live_blocks, going->amount.blocks);
    row.mapped_bytes = sum_of(row.mapped_bytes, going->mapped_bytes);
    row.arena_bytes = sum_of(row.arena_bytes, going->arena_bytes);
    self->going = (struct usage_going){0};
    return row;
}

/* Of moments of the same size the one that tells most of it, and of such the last. */
static bool is_higher(const struct usage_row *row, const struct usage_row *highest)
{
    if (size_of(row) != size_of(highest))
        return size_of(row) > size_of(highest);
    return row->live_bytes >= highest->live_bytes;
}

int reduce_usage_field(struct reduce_usage *self, uint64_t kind, uint64_t value)
{
    struct usage_row *added;
    if (kind >= MARK_USAGE_FIRST && kind < MARK_USAGE_FIRST + USAGE_FIELDS) {
        self->now.fields[kind - MARK_USAGE_FIRST] = (int64_t)(value & INT64_MAX);
        self->now.known |= (int64_t)1 << (kind - MARK_USAGE_FIRST);
    }
    if (kind != MARK_USAGE_TAKEN)
        return 0;
    self->now.time_us = (int64_t)(value & INT64_MAX);
    if (self->rows.n == USAGE_MOST_ROWS)
        thin_out(self);
    if (page_vec_reserve(&self->rows, self->rows.n + 1) != 0)
        return -1;
    added = &self->rows.items[self->rows.n++];
    *added = self->last = row_of_now(self);
    self->n_taken++;
    if (is_higher(added, &self->highest))
        self->highest = *added;
    return 0;
}

/* The process has been looked at right before. */
void reduce_usage_mark(struct reduce_usage *self, const struct site *sites, size_t n)
{
    (void)sites, (void)n;
    self->at_end = self->last;
    self->marked = true;
}

void reduce_usage_finish(struct reduce_usage *self, const struct site *sites, size_t n)
{
    (void)sites, (void)n;
    if (!self->marked)
        self->at_end = self->last;
}

void reduce_usage_release(struct reduce_usage *self)
{
    page_vec_release(&self->rows);
}
