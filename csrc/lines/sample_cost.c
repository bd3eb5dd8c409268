/* sample_cost.c - see sample_cost.h. */
#include "lines/sample_cost.h"

#include "lines/sample_wake.h"

#include <time.h>

#define ROUNDS 5
#define PERIOD_NS 100000u
#define SPINS 500000u    /* about a millisecond */
#define LEAST_SIGNALS 4u /* a round with fewer says nothing */
#define MOST_NS 200000u  /* more is not a cost but a pause of the machine */

uint64_t sample_delivery_ns;

static uint64_t spin_cpu_ns(void)
{
    struct timespec before, after;
    volatile uint32_t sum = 0;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
    for (uint32_t i = 0; i < SPINS; i++)
        sum += i;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
    return (uint64_t)(after.tv_sec - before.tv_sec) * 1000000000u + (uint64_t)after.tv_nsec -
           (uint64_t)before.tv_nsec;
}

/* UINT64_MAX: too few signals came. */
static uint64_t measure_round(struct sample_thread *self)
{
    uint64_t plain = spin_cpu_ns(), interrupted;
    uint32_t n_signals;
    self->n_measured = 0;
    if (wake_arm_perf(&self->wake, self->tid, PERIOD_NS) < 0)
        return UINT64_MAX;
    interrupted = spin_cpu_ns();
    wake_disarm(&self->wake);
    n_signals = *(volatile uint32_t *)&self->n_measured;
    if (n_signals < LEAST_SIGNALS)
        return UINT64_MAX;
    return interrupted > plain ? (interrupted - plain) / n_signals : 0;
}

void sample_measure_delivery(struct sample_thread *self)
{
    uint64_t sorted[ROUNDS];
    if (!wake_has_perf() || self->is_masked)
        return;
    __atomic_store_n(&self->is_measuring, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t cost = measure_round(self);
        int at = i;
        for (; at > 0 && sorted[at - 1] > cost; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = cost;
    }
    __atomic_store_n(&self->is_measuring, 0, __ATOMIC_RELEASE);
    if (sorted[ROUNDS / 2] < MOST_NS)
        sample_delivery_ns = sorted[ROUNDS / 2];
    if (wake_has_ticks())
        wake_arm_ticks(&self->wake, self->tid);
}
