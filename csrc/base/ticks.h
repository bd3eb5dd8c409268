/*
 * ticks.h - the cheapest clock that is true, and its scale.
 *
 * x86-64 with an invariant TSC, and aarch64: the cycle counter, unserialised (a probe that reads
 * it costs 1-2 ns; clock_gettime costs 20 ns). Otherwise CLOCK_MONOTONIC, one tick a nanosecond.
 */
#ifndef PROFTRACE_BASE_TICKS_H
#define PROFTRACE_BASE_TICKS_H

#include "base/compiler.h"

#include <stdbool.h>
#include <stdint.h>

/* A pair of readings taken together; two of them far apart give the scale. */
struct tick_anchor {
    uint64_t ticks;
    uint64_t mono_ns;
};

/* Set when the object is loaded; false: ticks_now() is the slow clock. */
extern bool ticks_are_cycles;

uint64_t ticks_now_slow(void);
uint64_t mono_now_ns(void);
uint64_t wall_now_ns(void);

/* ticks_now() for those who know that ticks_are_cycles. */
static inline uint64_t ticks_read_cycles(void)
{
#if defined(__x86_64__)
    uint32_t low, high;
    __asm__ __volatile__("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
#elif defined(__aarch64__)
    uint64_t value;
    __asm__ __volatile__("mrs %0, cntvct_el0" : "=r"(value));
    return value;
#else
    return ticks_now_slow();
#endif
}

static inline uint64_t ticks_now(void)
{
    return likely(ticks_are_cycles) ? ticks_read_cycles() : ticks_now_slow();
}

/* The tightest of several readings, so that an interruption between the two clocks does not count.
 */
struct tick_anchor ticks_anchor(void);

/*
 * Nanoseconds per tick between two anchors. The longer apart, the better: a run is calibrated over
 * its whole length. Anchors less than 1 ms apart are stretched by waiting.
 */
double ticks_scale_ns(const struct tick_anchor *start, const struct tick_anchor *end);

#endif
