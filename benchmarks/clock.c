/* clock.c - prints the nanoseconds of one read of the cycle counter, the least of many runs. */
#include "base/ticks.h"

#include <stdio.h>

#define READS 200000
#define RUNS 50

int main(void)
{
    uint64_t best_ns = UINT64_MAX;
    volatile uint64_t sink;
    for (int run = 0; run < RUNS; run++) {
        uint64_t start_ns = mono_now_ns();
        uint64_t took_ns;
        for (int i = 0; i < READS; i++)
            sink = ticks_now();
        took_ns = mono_now_ns() - start_ns;
        if (took_ns < best_ns)
            best_ns = took_ns;
    }
    (void)sink;
    printf("%.2f\n", (double)best_ns / READS);
    return 0;
}
