/* sample_meter.c - see sample_meter.h. */
#include "lines/sample_meter.h"

#define PERIOD_FIRST_NS 200000u
#define PERIOD_LAST_NS 500000u
#define SAMPLES_AT_FIRST 2000u        /* 0.4 s of CPU time */
#define SAMPLES_UNTIL_LAST 8000u      /* the period grows in between */
#define PERIOD_FIRST_MOST_NS 1500000u /* however dear they are */
#define FIRST_SHARE 20u               /* of a period that a sample may cost at first: 1/20 */
#define LEAST_SHARE 50u               /* and later: 1/50 */
#define OTHERS_SHARE 100u             /* and where it finds no hot code: 1/100 */
/* More than this cannot be left from times in the kernel that a tick would have found. */
#define KERNEL_MOST_NS 100000000u

/* Moves periods without a signal from what is metered to what is put aside. */
static void put_aside(struct sample_meter *meter, uint64_t periods, uint64_t period_ns)
{
    meter->kernel_ns += periods * period_ns;
    meter->cpu_ns += periods * period_ns;
}

static uint64_t take_rest(struct sample_meter *meter, uint64_t cpu_ns)
{
    uint64_t weight = cpu_ns > meter->cpu_ns ? cpu_ns - meter->cpu_ns : 0;
    meter->cpu_ns = cpu_ns;
    weight += meter->left_ns;
    meter->left_ns = 0;
    if (meter->kernel_ns > KERNEL_MOST_NS) {
        weight += meter->kernel_ns;
        meter->kernel_ns = 0;
    }
    return weight;
}

/* The event got another period: what is beyond all that its signal can be late by in user mode. */
static void put_surplus_aside(struct sample_meter *meter, const struct meter_reading *now)
{
    uint64_t passed = now->cpu_ns > meter->cpu_ns ? now->cpu_ns - meter->cpu_ns : 0;
    if (now->period_ns == 0 && now->most_ns != 0 && passed > now->most_ns)
        put_aside(meter, 1, passed - now->most_ns);
}

static uint64_t take_event(struct sample_meter *meter, const struct meter_reading *now)
{
    uint64_t passed = now->cpu_ns > meter->cpu_ns ? now->cpu_ns - meter->cpu_ns : 0;
    if (now->has_ticks && now->period_ns != 0) {
        uint64_t periods = (passed + now->period_ns / 2) / now->period_ns;
        if (periods > 1)
            put_aside(meter, periods - 1, now->period_ns);
    } else if (now->has_ticks) {
        put_surplus_aside(meter, now);
    }
    return take_rest(meter, now->cpu_ns);
}

static uint64_t take_tick(struct sample_meter *meter, const struct meter_reading *now)
{
    uint64_t passed = now->cpu_ns - meter->tick_cpu_ns;
    bool was_in_kernel = (now->system_ns - meter->tick_system_ns) * 2 > passed;
    uint64_t weight;
    meter->tick_cpu_ns = now->cpu_ns;
    meter->tick_system_ns = now->system_ns;
    if (!now->has_perf)
        return take_rest(meter, now->cpu_ns);
    if (!was_in_kernel)
        return 0; /* the perf event sees that better */
    if (now->period_ns != 0 && now->cpu_ns > meter->cpu_ns)
        put_aside(meter, (now->cpu_ns - meter->cpu_ns) / now->period_ns, now->period_ns);
    put_surplus_aside(meter, now);
    weight = meter->kernel_ns;
    meter->kernel_ns = 0;
    return weight;
}

uint64_t meter_take(struct sample_meter *meter, const struct meter_reading *now)
{
    return now->is_tick ? take_tick(meter, now) : take_event(meter, now);
}

void meter_hand_over(struct sample_meter *meter, uint64_t old_cpu_ns, uint64_t new_cpu_ns)
{
    uint64_t rest = old_cpu_ns > meter->cpu_ns ? old_cpu_ns - meter->cpu_ns : 0;
    meter->left_ns += rest;
    meter->cpu_ns = new_cpu_ns;
    meter->tick_cpu_ns = new_cpu_ns;
    meter->tick_system_ns = 0;
}

/* So long that hot code pays one part in `share` for samples, and other code one in a hundred. */
static uint64_t least_period(uint64_t cost_ns, uint32_t share, double hot_part)
{
    return (uint64_t)((double)cost_ns / (hot_part / share + (1 - hot_part) / OTHERS_SHARE) + 0.5);
}

uint64_t meter_period_ns(uint64_t n_samples, uint64_t cost_ns, double hot_part)
{
    uint64_t period = PERIOD_LAST_NS;
    uint64_t least = least_period(cost_ns, LEAST_SHARE, hot_part);
    uint64_t first = least_period(cost_ns, FIRST_SHARE, hot_part);
    if (first > PERIOD_FIRST_MOST_NS)
        first = PERIOD_FIRST_MOST_NS;
    if (n_samples <= SAMPLES_AT_FIRST)
        return first > PERIOD_FIRST_NS ? first : PERIOD_FIRST_NS;
    if (n_samples < SAMPLES_UNTIL_LAST)
        period = PERIOD_FIRST_NS + (PERIOD_LAST_NS - PERIOD_FIRST_NS) *
                                       (n_samples - SAMPLES_AT_FIRST) /
                                       (SAMPLES_UNTIL_LAST - SAMPLES_AT_FIRST);
    return period < least ? least : period;
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

uint64_t meter_random_ns(uint64_t *state, uint64_t mean_ns)
{
    return mean_ns / 2 + next_random(state) % (mean_ns + 1);
}

uint64_t meter_wait_ns(uint64_t *state, uint64_t mean_ns)
{
    /*
     * -log of a number in (0, 1], without libm: the bits before its first 1 say how often it was
     * halved, and for what is left, 1 + m, log is 2 atanh(m / (2 + m)).
     */
    uint64_t random = next_random(state) | 1;
    int halvings = __builtin_clzll(random);
    double m = (double)(random << halvings << 1) * 0x1p-64;
    double z = m / (2 + m), z2 = z * z;
    double log_of_rest = 2 * z * (1 + z2 * (1.0 / 3 + z2 * (1.0 / 5 + z2 / 7)));
    double log = (halvings + 1) * 0.6931471805599453 - log_of_rest;
    return (uint64_t)((double)mean_ns * (log < 0 ? 0 : log));
}
