/* ticks.c - see ticks.h. */
#include "base/ticks.h"

#include <time.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#define ANCHOR_TRIES 8
#define SHORTEST_SPAN_NS 1000000u

bool ticks_are_cycles;

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t mono_now_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

uint64_t wall_now_ns(void)
{
    return clock_ns(CLOCK_REALTIME);
}

uint64_t ticks_now_slow(void)
{
    return mono_now_ns();
}

__attribute__((constructor(101))) static void ticks_choose_clock(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d;
    /* CPUID 8000_0007h EDX bit 8: the TSC runs at one rate in all P-, C- and T-states. */
    ticks_are_cycles = __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8);
#elif defined(__aarch64__)
    ticks_are_cycles = true; /* the generic timer is invariant by architecture */
#endif
}

struct tick_anchor ticks_anchor(void)
{
    struct tick_anchor best = {0};
    uint64_t best_span = UINT64_MAX;
    for (int i = 0; i < ANCHOR_TRIES; i++) {
        uint64_t before = ticks_now();
        uint64_t mono_ns = mono_now_ns();
        uint64_t after = ticks_now();
        if (after - before < best_span) {
            best_span = after - before;
            best = (struct tick_anchor){before + (after - before) / 2, mono_ns};
        }
    }
    return best;
}

double ticks_scale_ns(const struct tick_anchor *start, const struct tick_anchor *end)
{
    struct tick_anchor last = *end;
    if (!ticks_are_cycles)
        return 1.0;
    while (last.mono_ns - start->mono_ns < SHORTEST_SPAN_NS)
        last = ticks_anchor();
    return (double)(last.mono_ns - start->mono_ns) / (double)(last.ticks - start->ticks);
}
