/* Tests of lines/sample_cost.h: what the rounds say of a signal's cost. */
#include "lines/sample_cost.h"

#include "check.h"

#include <unistd.h>

/* A round of 1 ms of work and 10 signals that took so long each. */
#define ROUND(cost_ns) {1000000, 1000000 + 10 * (cost_ns), 10}

#define COST(...)                                      \
    cost_of_rounds((struct cost_round[]){__VA_ARGS__}, \
                   sizeof(struct cost_round[]){__VA_ARGS__} / sizeof(struct cost_round))

static void a_signal_takes_what_the_work_took_longer(void)
{
    CHECK_EQ(COST(ROUND(65000)), 65000);
    CHECK_EQ(COST({1000, 1999, 10}), 99);
    CHECK_EQ(COST({1000, 1000, 10}), 0);
    CHECK_EQ(COST({1000, 900, 10}), 0); /* the other one was disturbed */
}

static void the_median_of_the_rounds_counts(void)
{
    CHECK_EQ(COST(ROUND(9), ROUND(1), ROUND(5), ROUND(7), ROUND(3)), 5);
    CHECK_EQ(COST(ROUND(5), ROUND(5), ROUND(5), ROUND(1), ROUND(9)), 5);
    CHECK_EQ(COST(ROUND(5), ROUND(5), ROUND(2), ROUND(2), ROUND(2)), 2);
}

static void rounds_with_few_signals_say_nothing(void)
{
    CHECK_EQ(COST({1000, 9000, 3}), 0);
    CHECK_EQ(COST(ROUND(5), {1000, 9000, 3}, ROUND(4), {1000, 9000, 0}, ROUND(6)), 6);
    CHECK_EQ(COST(ROUND(5), {1000, 9000, 3}, ROUND(4), {1000, 9000, 0}, {0, 0, 0}), 0);
    CHECK_EQ(cost_of_rounds(NULL, 0), 0);
}

static void pauses_of_the_machine_are_no_cost(void)
{
    CHECK_EQ(COST(ROUND(199999)), 199999);
    CHECK_EQ(COST(ROUND(200000)), 0);
    CHECK_EQ(COST(ROUND(3000000), ROUND(4), ROUND(5)), 5);
}

static struct sample_thread self;

static void count(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info, (void)context;
    __atomic_store_n(&self.n_measured, self.n_measured + 1, __ATOMIC_RELAXED);
}

static void no_sample_stands_for_the_time_of_measuring(void)
{
    const char *reason = wake_start(count, true, false);
    uint64_t before, after;
    self.tid = getpid();
    before = self.meter.cpu_ns = sample_cpu_ns(self.tid);
    sample_measure_delivery(&self);
    after = sample_cpu_ns(self.tid);
    if (reason == NULL) {
        CHECK(after - before > 100000);
        CHECK(self.n_measured >= 4); /* fewer say nothing, however fast the processor is */
        CHECK(self.meter.cpu_ns - before > (after - before) * 9 / 10);
        CHECK(self.meter.cpu_ns <= after);
    } else { /* perf events are not to be had here */
        CHECK_EQ(self.meter.cpu_ns, before);
        CHECK_EQ(sample_delivery_ns, 0);
    }
    CHECK(!self.is_measuring && self.wake.perf_page == NULL);
}

int main(void)
{
    a_signal_takes_what_the_work_took_longer();
    the_median_of_the_rounds_counts();
    rounds_with_few_signals_say_nothing();
    pauses_of_the_machine_are_no_cost();
    no_sample_stands_for_the_time_of_measuring();
    return 0;
}
