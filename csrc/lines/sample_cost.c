/* sample_cost.c - see sample_cost.h. */
#include "lines/sample_cost.h"

#include "lines/sample_reach.h"

#define ROUNDS 5
#define PERIOD_NS 100000u
#define ROUND_NS 1000000u /* without signals */
#define FIRST_SPINS 100000u
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

static uint64_t spin_cpu_ns(pid_t tid, uint32_t spins)
{
    uint64_t before = sample_cpu_ns(tid);
    volatile uint32_t sum = 0;
    for (uint32_t i = 0; i < spins; i++)
        sum += i;
    return sample_cpu_ns(tid) - before;
}

/* So many that a round is long enough for its signals: processors differ by a factor of ten here.
 */
static uint32_t spins_of_round(pid_t tid)
{
    uint32_t spins = FIRST_SPINS;
    while (spins < UINT32_MAX / 2 && spin_cpu_ns(tid, spins) < ROUND_NS / 2)
        spins *= 2;
    return spins;
}

static struct cost_round measure_round(struct sample_thread *self, uint32_t spins)
{
    struct cost_round round = {.plain_ns = spin_cpu_ns(self->tid, spins)};
    __atomic_store_n(&self->n_measured, 0, __ATOMIC_RELAXED);
    if (wake_arm_perf(&self->wake, self->tid, PERIOD_NS) < 0)
        return round;
    round.interrupted_ns = spin_cpu_ns(self->tid, spins);
    wake_disarm(&self->wake);
    round.n_signals = __atomic_load_n(&self->n_measured, __ATOMIC_RELAXED);
    return round;
}

void sample_measure_delivery(struct sample_thread *self)
{
    struct cost_round rounds[ROUNDS];
    uint64_t start_ns = sample_cpu_ns(self->tid);
    uint32_t spins;
    if (!wake_has_perf() || reach_is_blocked_here())
        return;
    __atomic_store_n(&self->is_measuring, 1, __ATOMIC_RELEASE);
    spins = spins_of_round(self->tid);
    for (int i = 0; i < ROUNDS; i++)
        rounds[i] = measure_round(self, spins);
    sample_delivery_ns = cost_of_rounds(rounds, ROUNDS);
    self->meter.cpu_ns += sample_cpu_ns(self->tid) - start_ns; /* no sample stands for this */
    __atomic_store_n(&self->is_measuring, 0, __ATOMIC_RELEASE);
}
