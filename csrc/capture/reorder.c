/* reorder.c - see reorder.h. */
#include "capture/reorder.h"

#define FIRST_SLOTS 1024u
#define MOST_SLOTS ((uint64_t)1 << 20)

int reorder_start(struct reorder *reorder)
{
    reorder->next = 1;
    reorder->n_slots = FIRST_SLOTS;
    reorder->runs = pages_alloc(FIRST_SLOTS * sizeof *reorder->runs);
    return reorder->runs == NULL ? -1 : 0;
}

void reorder_release(struct reorder *reorder)
{
    pages_free(reorder->runs, reorder->n_slots * sizeof *reorder->runs);
    page_vec_release(&reorder->events);
    page_vec_release(&reorder->last_seqs);
    *reorder = (struct reorder){0};
}

static struct waiting_run *run_of(const struct reorder *reorder, uint64_t seq)
{
    return &reorder->runs[seq & (reorder->n_slots - 1)];
}

/* Applies the run that is next, as far as it is there. */
static void apply_next(struct reorder *reorder, reorder_apply apply, void *context)
{
    struct waiting_run *run = run_of(reorder, reorder->next++);
    if (run->first == 0)
        return;
    for (uint32_t at = run->first; at != 0; at = reorder->events.items[at - 1].next)
        apply(context, &reorder->events.items[at - 1].event, run->stream);
    *run = (struct waiting_run){0};
    if (--reorder->n_waiting == 0)
        reorder->events.n = 0;
}

/* Makes the window reach to a seq. */
static bool reach(struct reorder *reorder, uint64_t seq)
{
    struct reorder wider = *reorder;
    while (seq - reorder->next >= wider.n_slots && wider.n_slots <= MOST_SLOTS)
        wider.n_slots *= 2;
    if (wider.n_slots == reorder->n_slots)
        return true;
    if (wider.n_slots > MOST_SLOTS)
        return false;
    wider.runs = pages_alloc(wider.n_slots * sizeof *wider.runs);
    if (wider.runs == NULL)
        return false;
    for (uint64_t i = 0; i < reorder->n_slots; i++)
        *run_of(&wider, reorder->next + i) = *run_of(reorder, reorder->next + i);
    pages_free(reorder->runs, reorder->n_slots * sizeof *reorder->runs);
    *reorder = wider;
    return true;
}

/* The seq that an event has, or stands behind; 0 without memory. */
static uint64_t seq_of(struct reorder *reorder, const struct event *event, uint32_t stream)
{
    if (page_vec_reserve(&reorder->last_seqs, stream + 1ul) != 0)
        return 0;
    if (event->seq != 0)
        reorder->last_seqs.items[stream] = event->seq;
    return reorder->last_seqs.items[stream];
}

/* Puts the event at the end of a run. */
static bool let_wait(struct reorder *reorder, uint64_t seq, const struct event *event,
                     uint32_t stream)
{
    struct waiting_run *run = run_of(reorder, seq);
    struct waiting_event *added = page_vec_add(&reorder->events);
    const uint32_t number = (uint32_t)reorder->events.n;
    if (added == NULL)
        return false;
    *added = (struct waiting_event){.event = *event};
    if (run->first == 0) {
        *run = (struct waiting_run){number, number, stream};
        reorder->n_waiting++;
    } else {
        reorder->events.items[run->last - 1].next = number;
        run->last = number;
    }
    return true;
}

void reorder_put(struct reorder *reorder, const struct event *event, uint32_t stream,
                 reorder_apply apply, void *context)
{
    const uint64_t seq = seq_of(reorder, event, stream);
    if (seq >= reorder->next && !reach(reorder, seq)) {
        reorder_skip(reorder, apply, context);
        reorder->next = seq;
    }
    if (seq < reorder->next || !let_wait(reorder, seq, event, stream))
        apply(context, event, stream);
}

void reorder_advance(struct reorder *reorder, reorder_apply apply, void *context)
{
    while (run_of(reorder, reorder->next)->first != 0)
        apply_next(reorder, apply, context);
}

void reorder_skip(struct reorder *reorder, reorder_apply apply, void *context)
{
    while (reorder->n_waiting != 0)
        apply_next(reorder, apply, context);
}
