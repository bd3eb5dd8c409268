#include "base/ticks.h"

#include "check.h"

static void ticks_do_not_run_backwards(void)
{
    uint64_t before = ticks_now();
    for (int i = 0; i < 1000; i++) {
        uint64_t now = ticks_now();
        CHECK(now >= before);
        before = now;
    }
}

static void the_scale_turns_ticks_into_the_time_of_the_monotonic_clock(void)
{
    struct tick_anchor start = ticks_anchor();
    struct tick_anchor end = ticks_anchor(), later;
    double scale = ticks_scale_ns(&start, &end);
    double measured_ns, clock_ns;
    CHECK(scale > 0.01 && scale < 100.0);
    do
        later = ticks_anchor();
    while (later.mono_ns - start.mono_ns < 20000000);
    measured_ns = (double)(later.ticks - start.ticks) * scale;
    clock_ns = (double)(later.mono_ns - start.mono_ns);
    CHECK(measured_ns > 0.99 * clock_ns && measured_ns < 1.01 * clock_ns);
}

int main(void)
{
    ticks_do_not_run_backwards();
    the_scale_turns_ticks_into_the_time_of_the_monotonic_clock();
    return 0;
}
