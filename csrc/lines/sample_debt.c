/* sample_debt.c - see sample_debt.h. */
#include "lines/sample_debt.h"

/* The calibration counts as much as so many samples that were discarded. */
#define DEBT_PRIOR 4
/*
 * What was charged wrongly before is made up for within an eighth of the samples that are known,
 * and these bounds: slowly, since single samples say little and hits should be charged alike.
 */
#define PATIENCE_LEAST 32
#define PATIENCE_MOST 256
/* After twice as many samples, what is known of them counts half: programs change. */
#define DEBT_MEMORY 4096u
#define SCALE_LEAST 0.25
#define SCALE_MOST 8.0

static uint32_t patience(uint32_t n_known)
{
    uint32_t n = n_known / 8;
    return n < PATIENCE_LEAST ? PATIENCE_LEAST : n > PATIENCE_MOST ? PATIENCE_MOST : n;
}

static void approach(double *average, double value, uint32_t n)
{
    *average += (value - *average) / (n < PATIENCE_LEAST ? n : PATIENCE_LEAST);
}

static void forget_half(struct sample_debt *known)
{
    known->n_known /= 2;
    known->due /= 2;
    known->charged /= 2;
    known->lost /= 2;
}

/* What events cost in truth over what the calibration says; and what they were charged too little.
 */
static double scale_of(const struct sample_debt *known)
{
    double prior = known->weight * DEBT_PRIOR;
    double truth = (known->lost + prior) / (known->due + prior);
    double missing = known->due * truth - known->charged;
    double scale = truth;
    if (known->due_each > 0)
        scale += missing / (known->due_each * patience(known->n_known));
    return scale < SCALE_LEAST ? SCALE_LEAST : scale > SCALE_MOST ? SCALE_MOST : scale;
}

void debt_learn(struct sample_debt *known, struct lines_thread *account,
                const struct debt_sample *sample)
{
    double due = (double)(account->hot_due - known->due_seen) / (1 << PROBE_SHIFT);
    known->due_seen = account->hot_due;
    if (due == 0 && sample->lost == 0)
        return;
    known->n_known++;
    known->due += due;
    known->charged += due * account->hot_scale / HOT_SCALE_ONE;
    known->lost += (double)sample->lost;
    approach(&known->due_each, due, known->n_known);
    approach(&known->weight, (double)sample->weight, known->n_known);
    account->hot_scale = (uint32_t)(scale_of(known) * HOT_SCALE_ONE);
    if (known->n_known == 2 * DEBT_MEMORY)
        forget_half(known);
}

void debt_add_signal(struct lines_thread *account, uint64_t ticks)
{
    account->debt += ticks << PROBE_SHIFT;
}
