/* sample_weight.c - see sample_weight.h. */
#include "lines/sample_weight.h"

#include <sys/resource.h>

static uint64_t system_ns(void)
{
    struct rusage usage;
    if (getrusage(RUSAGE_THREAD, &usage) != 0)
        return 0;
    return (uint64_t)usage.ru_stime.tv_sec * 1000000000u + (uint64_t)usage.ru_stime.tv_usec * 1000u;
}

#define LONGEST_TICK_NS 10000000u /* where the kernel's clock has 100 Hz */

/*
 * A thread that stays in user mode goes without a signal at most this long: the old event had not
 * fired yet, nor those that took its place. Without an old one, the last tick took all.
 */
static uint64_t longest_in_user_mode(const struct sample_thread *self, uint32_t n_new,
                                     uint64_t period_ns)
{
    uint64_t old = self->period_seen_ns != 0 ? self->period_seen_ns : LONGEST_TICK_NS;
    return old + n_new * (self->period_seen_ns > period_ns ? self->period_seen_ns : period_ns);
}

uint64_t weight_of_sample(struct sample_thread *self, bool is_tick, uint64_t cpu_ns)
{
    uint32_t n_armed = __atomic_load_n(&self->n_armed, __ATOMIC_ACQUIRE);
    uint64_t period_ns = __atomic_load_n(&self->period_ns, __ATOMIC_RELAXED);
    struct meter_reading now = {
        .is_tick = is_tick,
        .cpu_ns = cpu_ns,
        .has_perf = period_ns != 0,
        .has_ticks = wake_has_ticks(),
    };
    if (n_armed == self->n_armed_seen)
        now.period_ns = period_ns;
    else
        now.most_ns = longest_in_user_mode(self, n_armed - self->n_armed_seen, period_ns);
    if (is_tick) {
        now.system_ns = system_ns();
    } else {
        self->n_armed_seen = n_armed;
        self->period_seen_ns = period_ns;
    }
    return meter_take(&self->meter, &now);
}

static bool is_innermost_hot(const struct sample_walk *walk)
{
    return walk->n != 0 && walk->places[0].is_hot;
}

void weight_learn_debt(struct sample_thread *self, uint64_t weight_ns, bool is_lost)
{
    struct debt_sample sample = {.weight = sample_ticks(weight_ns)};
    if (is_lost && is_innermost_hot(&self->walk)) /* else it is an event of cold code */
        sample.lost = (uint64_t)((double)sample.weight * (1 + SAMPLE_LOOP_SHARE));
    debt_learn(&self->debt, self->account, &sample);
}

void weight_put_wait_aside(struct sample_thread *self, uint64_t weight_ns)
{
    if (is_innermost_hot(&self->walk))
        self->waited_ns += sample_stretch(self, weight_ns) - weight_ns;
}

uint64_t weight_take(struct sample_thread *self, uint64_t weight_ns)
{
    uint64_t ns = sample_stretch(self, weight_ns);
    if (is_innermost_hot(&self->walk)) {
        ns += self->waited_ns;
        self->waited_ns = 0;
    }
    return sample_ticks(ns);
}
