/*
 * sample_meter.h - how much time a sample stands for, and how often to take one. Pure arithmetic.
 *
 * A sample of user mode stands for the CPU time since the one before. The time that the thread
 * spent in the kernel shows as periods of the perf event without a signal, since it fires in user
 * mode only: that time is put aside, and goes to the next tick that found the thread in the kernel.
 */
#ifndef PROFTRACE_LINES_SAMPLE_METER_H
#define PROFTRACE_LINES_SAMPLE_METER_H

#include <stdbool.h>
#include <stdint.h>

struct sample_meter {
    uint64_t cpu_ns;      /* CPU time of the thread that has been given to samples or put aside */
    uint64_t kernel_ns;   /* put aside */
    uint64_t left_ns;     /* of a thread that ended: goes to the next sample */
    uint64_t tick_cpu_ns; /* at the last tick */
    uint64_t tick_system_ns; /* at the last tick: time in the kernel, as the system counts it */
};

/* What is known when a sample comes. */
struct meter_reading {
    bool is_tick;       /* of the system's clock; else of the perf event */
    uint64_t cpu_ns;    /* of the thread, user and kernel */
    uint64_t system_ns; /* only for ticks */
    uint64_t period_ns; /* of the perf event; 0 = it was armed since the last sample, or is not */
    uint64_t most_ns;   /* if armed since: in user mode a signal had come by then; 0 = unknown */
    bool has_perf;
    bool has_ticks;
};

/* The time in ns that the sample stands for; 0: it is not to be used. */
uint64_t meter_take(struct sample_meter *meter, const struct meter_reading *now);

/* A new thread goes on with the meter of one that ended: what that one had left is not lost. */
void meter_hand_over(struct sample_meter *meter, uint64_t old_cpu_ns, uint64_t new_cpu_ns);

/*
 * The mean period for a thread that has had n_samples, each at this cost: short at first, so that a
 * short run has enough of them; never so short that the cost is felt, least of all by code that is
 * not hot. `hot_part` of the last samples found hot code.
 */
uint64_t meter_period_ns(uint64_t n_samples, uint64_t cost_ns, double hot_part);

/* A period at random around the mean, so that nothing periodic in the program can hide from it. */
uint64_t meter_random_ns(uint64_t *state, uint64_t mean_ns);

/* A time at random that has this mean and no memory (exponential). */
uint64_t meter_wait_ns(uint64_t *state, uint64_t mean_ns);

#endif
