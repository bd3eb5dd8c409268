/* collect.c - see collect.h. */
#include "lines/collect.h"

#include "base/ticks.h"
#include "lines/collect_edges.h"

/*
 * The shortest and the longest hit of a difference are known if the earlier moment had none or a
 * lesser one; otherwise the histogram says between which powers of two they are.
 */
static void bound_extremes(struct line_total *line)
{
    unsigned first = 0, last = LINE_BUCKETS;
    double ticks_per_ns = (double)(1ull << NS_SCALE_SHIFT) / (double)probe_ns_scale;
    while (first < LINE_BUCKETS && line->histogram[first] == 0)
        first++;
    while (last > first && line->histogram[last - 1] == 0)
        last--;
    line->is_timed = first < last;
    if (!line->is_timed) {
        line->min = line->max = 0;
        return;
    }
    if ((double)line->min < (double)(1ull << first) * ticks_per_ns && first > 0)
        line->min = (int64_t)((double)(1ull << first) * ticks_per_ns);
    if ((double)line->max > (double)(1ull << last) * ticks_per_ns)
        line->max = (int64_t)((double)(1ull << last) * ticks_per_ns);
}

static uint64_t less(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

static void subtract_line(struct line_total *now, const struct line_total *before)
{
    now->hits -= before->hits;
    now->raw_hits -= before->raw_hits;
    now->inclusive -= before->inclusive;
    now->exclusive -= before->exclusive;
    now->await -= before->await;
    now->samples -= before->samples;
    now->exclusive_error = less(now->exclusive_error, before->exclusive_error);
    now->inclusive_error = less(now->inclusive_error, before->inclusive_error);
    for (unsigned i = 0; i < LINE_BUCKETS; i++)
        now->histogram[i] = less(now->histogram[i], before->histogram[i]);
    if (before->is_timed)
        bound_extremes(now);
}

static void add_line(struct line_total *to, const struct line_total *from)
{
    if (from->is_timed) {
        to->min = to->is_timed && to->min < from->min ? to->min : from->min;
        to->max = to->is_timed && to->max > from->max ? to->max : from->max;
        to->is_timed = true;
    }
    to->hits += from->hits;
    to->raw_hits += from->raw_hits;
    to->inclusive += from->inclusive;
    to->exclusive += from->exclusive;
    to->await += from->await;
    to->samples += from->samples;
    to->exclusive_error += from->exclusive_error;
    to->inclusive_error += from->inclusive_error;
    for (unsigned i = 0; i < LINE_BUCKETS; i++)
        to->histogram[i] += from->histogram[i];
}

static void subtract_code(struct code_total *now, const struct code_total *before)
{
    now->calls -= before->calls;
    now->yields -= before->yields;
    now->inclusive -= before->inclusive;
    now->exclusive -= before->exclusive;
    now->samples -= before->samples;
    now->discarded -= before->discarded;
    now->exclusive_error = less(now->exclusive_error, before->exclusive_error);
    now->inclusive_error = less(now->inclusive_error, before->inclusive_error);
    for (uint32_t i = 0; i < now->code->n_lines; i++)
        subtract_line(&now->lines[i], &before->lines[i]);
}

static void add_code(struct code_total *to, const struct code_total *from)
{
    to->calls += from->calls;
    to->yields += from->yields;
    to->inclusive += from->inclusive;
    to->exclusive += from->exclusive;
    to->samples += from->samples;
    to->discarded += from->discarded;
    to->exclusive_error += from->exclusive_error;
    to->inclusive_error += from->inclusive_error;
    for (uint32_t i = 0; i < to->code->n_lines; i++)
        add_line(&to->lines[i], &from->lines[i]);
}

int collect_start(struct collection *collection)
{
    if (collection->is_on)
        return 0;
    if (account_sum(&collection->base, ticks_now()) < 0)
        return -1;
    collection->is_on = true;
    return 0;
}

int collect_totals(const struct collection *collection, struct account_totals *totals)
{
    if (account_sum(totals, ticks_now()) < 0)
        return -1;
    if (collect_edges(totals, collection->is_on ? &collection->base : totals, &collection->sum) <
        0) {
        account_totals_release(totals);
        return -1;
    }
    if (!collection->is_on) { /* only the shape of what there is now is of use */
        for (uint32_t i = 0; i < totals->n_codes; i++)
            subtract_code(&totals->codes[i], &totals->codes[i]);
    } else {
        for (uint32_t i = 0; i < collection->base.n_codes; i++)
            subtract_code(&totals->codes[i], &collection->base.codes[i]);
    }
    for (uint32_t i = 0; i < collection->sum.n_codes; i++)
        add_code(&totals->codes[i], &collection->sum.codes[i]);
    return 0;
}

int collect_stop(struct collection *collection)
{
    struct account_totals now;
    if (!collection->is_on)
        return 0;
    if (collect_totals(collection, &now) < 0)
        return -1;
    collect_release(collection);
    collection->sum = now;
    return 0;
}

void collect_release(struct collection *collection)
{
    if (collection->sum.codes != NULL)
        account_totals_release(&collection->sum);
    if (collection->base.codes != NULL)
        account_totals_release(&collection->base);
    *collection = (struct collection){0};
}
