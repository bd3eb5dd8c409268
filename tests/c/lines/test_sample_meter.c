#include "lines/sample_meter.h"

#include "check.h"

#define MS 1000000ull

static uint64_t event_at(struct sample_meter *meter, uint64_t cpu_ns, uint64_t period_ns)
{
    return meter_take(
        meter, &(struct meter_reading){
                   .cpu_ns = cpu_ns, .period_ns = period_ns, .has_perf = true, .has_ticks = true});
}

static uint64_t tick_at(struct sample_meter *meter, uint64_t cpu_ns, uint64_t system_ns,
                        uint64_t period_ns)
{
    return meter_take(meter, &(struct meter_reading){.is_tick = true,
                                                     .cpu_ns = cpu_ns,
                                                     .system_ns = system_ns,
                                                     .period_ns = period_ns,
                                                     .has_perf = period_ns != 0,
                                                     .has_ticks = true});
}

static void without_a_perf_event_every_tick_takes_what_has_passed(void)
{
    struct sample_meter meter = {0};
    CHECK_EQ(tick_at(&meter, 4 * MS, 0, 0), 4 * MS);
    CHECK_EQ(tick_at(&meter, 9 * MS, 5 * MS, 0), 5 * MS);
    CHECK_EQ(tick_at(&meter, 9 * MS, 5 * MS, 0), 0);
}

static void user_time_goes_to_the_event_and_ticks_in_it_are_not_used(void)
{
    struct sample_meter meter = {0};
    uint64_t sum = 0;
    for (uint64_t t = 1; t <= 12; t++) {
        sum += event_at(&meter, t * MS, MS);
        if (t % 4 == 0)
            CHECK_EQ(tick_at(&meter, t * MS + 100, 0, MS), 0);
    }
    CHECK_EQ(sum, 12 * MS);
}

/* A program that is in the kernel three quarters of its time. */
static void missed_periods_are_time_in_the_kernel(void)
{
    struct sample_meter meter = {0};
    uint64_t user = 0, kernel = 0;
    for (uint64_t t = 4; t <= 400; t += 4) {
        uint64_t weight = event_at(&meter, t * MS, MS); /* three signals did not come */
        CHECK_EQ(weight, MS);
        user += weight;
        kernel += tick_at(&meter, t * MS + MS / 2, t * MS * 3 / 4, MS);
    }
    CHECK_EQ(user, 100 * MS);
    CHECK_EQ(kernel, 300 * MS);
}

static void a_tick_in_a_long_system_call_takes_what_has_passed_of_it(void)
{
    struct sample_meter meter = {0};
    CHECK_EQ(event_at(&meter, MS, MS), MS);
    CHECK_EQ(tick_at(&meter, 5 * MS + MS / 4, 4 * MS, MS), 4 * MS); /* no signal in between */
    CHECK_EQ(event_at(&meter, 6 * MS, MS), MS);
}

static void a_new_period_says_nothing_about_the_kernel(void)
{
    struct sample_meter meter = {0};
    CHECK_EQ(event_at(&meter, 5 * MS, 0), 5 * MS);
    CHECK_EQ(meter.kernel_ns, 0);
}

static uint64_t first_event_at(struct sample_meter *meter, uint64_t cpu_ns, uint64_t most_ns)
{
    return meter_take(
        meter, &(struct meter_reading){
                   .cpu_ns = cpu_ns, .most_ns = most_ns, .has_perf = true, .has_ticks = true});
}

static uint64_t tick_before_event_at(struct sample_meter *meter, uint64_t cpu_ns, uint64_t most_ns)
{
    return meter_take(meter, &(struct meter_reading){.is_tick = true,
                                                     .cpu_ns = cpu_ns,
                                                     .system_ns = cpu_ns,
                                                     .most_ns = most_ns,
                                                     .has_perf = true,
                                                     .has_ticks = true});
}

/* Every tick says so, long before the event with the new period comes. */
static void ticks_in_the_kernel_count_before_the_first_signal_of_a_new_period(void)
{
    struct sample_meter meter = {0};
    uint64_t sum = 0;
    for (uint64_t t = 4; t <= 400; t += 4) {
        uint64_t weight = tick_before_event_at(&meter, t * MS, 2 * MS);
        CHECK_EQ(weight, t == 4 ? 2 * MS : 4 * MS);
        sum += weight;
    }
    CHECK_EQ(first_event_at(&meter, 401 * MS, 2 * MS), 2 * MS);
    CHECK_EQ(sum + 2 * MS + meter.kernel_ns, 401 * MS);
}

/* The event gets another period while the thread is in the kernel. */
static void a_new_period_within_a_system_call_does_not_hide_it(void)
{
    struct sample_meter meter = {0};
    CHECK_EQ(event_at(&meter, MS, MS), MS);
    CHECK_EQ(first_event_at(&meter, 10 * MS, 2 * MS), 2 * MS);
    CHECK_EQ(meter.kernel_ns, 7 * MS);
    CHECK_EQ(tick_at(&meter, 12 * MS, 10 * MS, MS), 9 * MS);
    /* In user mode only, it had to come by then. */
    CHECK_EQ(first_event_at(&meter, 14 * MS, 2 * MS), 2 * MS);
    CHECK_EQ(first_event_at(&meter, 15 * MS, 2 * MS), MS);
    CHECK_EQ(meter.kernel_ns, 0);
}

static void no_time_is_lost_when_no_tick_finds_the_kernel(void)
{
    struct sample_meter meter = {0};
    uint64_t sum = 0;
    for (uint64_t t = 10; t <= 1000; t += 10)
        sum += event_at(&meter, t * MS, MS);
    CHECK_EQ(sum + meter.kernel_ns, 1000 * MS);
    CHECK(meter.kernel_ns <= 120 * MS);
}

static void what_a_thread_has_left_goes_to_the_next(void)
{
    struct sample_meter meter = {0};
    CHECK_EQ(event_at(&meter, 10 * MS, 0), 10 * MS);
    meter_hand_over(&meter, 13 * MS, 0);  /* ends 3 ms later */
    meter_hand_over(&meter, 0, 500 * MS); /* the next one is not new as a thread */
    CHECK_EQ(tick_at(&meter, 501 * MS, 0, 0), 4 * MS);
    CHECK_EQ(tick_at(&meter, 503 * MS, 0, 0), 2 * MS);
}

static void the_clock_of_a_thread_may_stand_still(void)
{
    struct sample_meter meter = {0};
    CHECK_EQ(event_at(&meter, 5 * MS, MS), MS);
    CHECK_EQ(event_at(&meter, 5 * MS, MS), 0);
    CHECK_EQ(event_at(&meter, 4 * MS, MS), 0);
}

static void periods_grow_with_samples_and_with_their_cost(void)
{
    uint64_t before = 0;
    for (uint64_t n = 0; n < 20000; n += 100) {
        uint64_t period = meter_period_ns(n, 5000, 1);
        CHECK(period >= before);
        before = period;
    }
    CHECK_EQ(meter_period_ns(0, 0, 1), MS / 5);
    CHECK_EQ(meter_period_ns(0, 50000, 1), MS);            /* a twentieth */
    CHECK_EQ(meter_period_ns(0, 1000000, 1), MS + MS / 2); /* a short run has to have some */
    CHECK_EQ(meter_period_ns(100000, 0, 1), MS / 2);
    CHECK_EQ(meter_period_ns(100000, 100000, 1), 5 * MS); /* a fiftieth */
}

static void code_that_is_not_hot_pays_less(void)
{
    CHECK_EQ(meter_period_ns(0, 8000, 0), 800000);      /* a hundredth */
    CHECK_EQ(meter_period_ns(100000, 8000, 0), 800000); /* at any time */
    CHECK_EQ(meter_period_ns(0, 12000, 0.5), 400000);   /* 30 us of 1 ms: 1/20 and 1/100 of half */
    CHECK_EQ(meter_period_ns(0, 1000, 0), MS / 5);
}

static void random_periods_have_the_wanted_mean(void)
{
    uint64_t state = 1, sum = 0;
    for (int i = 0; i < 10000; i++) {
        uint64_t period = meter_random_ns(&state, MS);
        CHECK(period >= MS / 2 && period <= MS + MS / 2);
        sum += period;
    }
    CHECK(sum / 10000 > MS * 98 / 100 && sum / 10000 < MS * 102 / 100);
}

static void random_waits_have_no_memory(void)
{
    uint64_t state = 1;
    double sum = 0, squares = 0;
    int longer[4] = {0};
    for (int i = 0; i < 100000; i++) {
        double wait = (double)meter_wait_ns(&state, MS) / (double)MS;
        sum += wait;
        squares += wait * wait;
        for (int k = 0; k < 4; k++)
            longer[k] += wait > k * 0.6931471805599453; /* each step halves those that are left */
    }
    CHECK(sum > 98500 && sum < 101500);
    CHECK(squares > 195000 && squares < 205000);
    CHECK(longer[0] > 99900);
    for (int k = 1; k < 4; k++)
        CHECK(longer[k] > 97 * longer[k - 1] / 200 && longer[k] < 103 * longer[k - 1] / 200);
}

int main(void)
{
    without_a_perf_event_every_tick_takes_what_has_passed();
    user_time_goes_to_the_event_and_ticks_in_it_are_not_used();
    missed_periods_are_time_in_the_kernel();
    a_tick_in_a_long_system_call_takes_what_has_passed_of_it();
    a_new_period_says_nothing_about_the_kernel();
    ticks_in_the_kernel_count_before_the_first_signal_of_a_new_period();
    a_new_period_within_a_system_call_does_not_hide_it();
    no_time_is_lost_when_no_tick_finds_the_kernel();
    what_a_thread_has_left_goes_to_the_next();
    the_clock_of_a_thread_may_stand_still();
    periods_grow_with_samples_and_with_their_cost();
    code_that_is_not_hot_pays_less();
    random_periods_have_the_wanted_mean();
    random_waits_have_no_memory();
    return 0;
}
