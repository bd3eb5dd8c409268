/* sample_cost.c - see sample_cost.h. */
#include "lines/sample_cost.h"

#include "lines/sample_reach.h"

#define ROUNDS 5
#define PERIOD_NS 100000u
#define SPINS 500000u    /* about a millisecond */
#define LEAST_SIGNALS 4u /* a round with fewer says nothing */
#define MOST_NS 200000u  /* more is not a cost but a pause of the machine */

uint64_t sample_delivery_ns;

/* UINT64_MAX: too few signals came. */
static uint64_t cost_of_round(const struct cost_round *round)
{
    if (round->n_signals < LEAST_SIGNALS)
        return UINT64_MAX;
    if (round->interrupted_ns <= round->plain_ns)
        return 0;
    return (round->interrupted_ns - round->plain_ns) / round->n_signals;
}

uint64_t cost_of_rounds(const struct cost_round *rounds, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint64_t cost = cost_of_round(&rounds[i]);
        uint32_t below = 0, equal = 0;
        for (uint32_t k = 0; k < n; k++) {
            below += cost_of_round(&rounds[k]) < cost;
            equal += cost_of_round(&rounds[k]) == cost;
        }
        if (below <= n / 2 && n / 2 < below + equal) /* it is the median */
            return cost < MOST_NS ? cost : 0;
    }
    return 0;
}

static uint64_t spin_cpu_ns(pid_t tid)
{
    uint64_t before = sample_cpu_ns(tid);
    volatile uint32_t sum = 0;
    for (uint32_t i = 0; i < SPINS; i++)
        sum += i;
    return sample_cpu_ns(tid) - before;
}

static struct cost_round measure_round(struct sample_thread *self)
{
    struct cost_round round = {.plain_ns = spin_cpu_ns(self->tid)};
    __atomic_store_n(&self->n_measured, 0, __ATOMIC_RELAXED);
    if (wake_arm_perf(&self->wake, self->tid, PERIOD_NS) < 0)
        return round;
    round.interrupted_ns = spin_cpu_ns(self->tid);
    wake_disarm(&self->wake);
    round.n_signals = __atomic_load_n(&self->n_measured, __ATOMIC_RELAXED);
    return round;
}

void sample_measure_delivery(struct sample_thread *self)
{
    struct cost_round rounds[ROUNDS];
    uint64_t start_ns = sample_cpu_ns(self->tid);
    if (!wake_has_perf() || reach_is_blocked_here())
        return;
    __atomic_store_n(&self->is_measuring, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < ROUNDS; i++)
        rounds[i] = measure_round(self);
    sample_delivery_ns = cost_of_rounds(rounds, ROUNDS);
    self->meter.cpu_ns += sample_cpu_ns(self->tid) - start_ns; /* no sample stands for this */
    __atomic_store_n(&self->is_measuring, 0, __ATOMIC_RELEASE);
}
