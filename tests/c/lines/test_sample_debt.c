/* Tests of lines/sample_debt.h: what events of hot code are charged follows what samples say. */
#include "lines/sample_debt.h"

#include "check.h"

#define WEIGHT 1000u
#define TICKS(n) ((uint64_t)(n) << PROBE_SHIFT)

static uint64_t noise = 88172645463325252u;

static bool is_one_of(uint32_t n)
{
    noise ^= noise << 13;
    noise ^= noise >> 7;
    noise ^= noise << 17;
    return noise % n == 0;
}

/* A hit in which events of hot code run; returns what it was charged, in ticks. */
static uint64_t hit(struct lines_thread *thread, uint32_t n_events)
{
    uint64_t before = thread->debt;
    for (uint32_t i = 0; i < n_events; i++)
        account_charge_hot(thread, PROBE_INSTRUCTION);
    return (thread->debt - before) >> PROBE_SHIFT;
}

static void learn(struct sample_debt *known, struct lines_thread *thread, bool is_lost)
{
    debt_learn(known, thread, &(struct debt_sample){WEIGHT, is_lost ? WEIGHT : 0});
}

/* A tenth of all time goes to events that are taken to cost `due` a sample, not 100. */
static void all_is_charged_in_the_end(uint32_t due)
{
    struct lines_thread thread = {.hot_scale = HOT_SCALE_ONE};
    struct sample_debt known = {0};
    uint64_t n_lost = 0, before;
    uint64_t shortest = UINT64_MAX, longest = 0;
    for (int i = 0; i < 20000; i++) {
        bool is_lost = is_one_of(10);
        uint64_t charged = hit(&thread, due);
        n_lost += is_lost;
        learn(&known, &thread, is_lost);
        if (i < 2000)
            continue;
        shortest = charged < shortest ? charged : shortest;
        longest = charged > longest ? charged : longest;
    }
    before = n_lost * WEIGHT;
    CHECK((thread.debt >> PROBE_SHIFT) > before - before / 50);
    CHECK((thread.debt >> PROBE_SHIFT) < before + before / 50);
    /* Single hits are charged about what they cost, never the weight of a sample. */
    CHECK(shortest > 40 && longest < 170);
}

static void hits_that_no_sample_met_are_charged_as_well(void)
{
    struct lines_thread thread = {.hot_scale = HOT_SCALE_ONE};
    struct sample_debt known = {0};
    uint64_t n_lost = 0, charged;
    for (int i = 0; i < 400000; i++) {
        bool is_lost;
        hit(&thread, 5);
        if (i % 10 != 0)
            continue;
        is_lost = is_one_of(10);
        n_lost += is_lost;
        learn(&known, &thread, is_lost);
    }
    charged = thread.debt >> PROBE_SHIFT;
    CHECK(charged > n_lost * WEIGHT * 97 / 100 && charged < n_lost * WEIGHT * 103 / 100);
}

static void rare_events_keep_their_price(void)
{
    struct lines_thread thread = {.hot_scale = HOT_SCALE_ONE};
    struct sample_debt known = {0};
    for (int i = 0; i < 200; i++) {
        hit(&thread, 1);
        learn(&known, &thread, false);
    }
    CHECK(thread.debt > TICKS(180) && thread.debt <= TICKS(200));
}

static void code_without_hot_events_teaches_nothing(void)
{
    struct lines_thread thread = {.hot_scale = HOT_SCALE_ONE};
    struct sample_debt known = {0};
    for (int i = 0; i < 1000; i++)
        learn(&known, &thread, false);
    CHECK_EQ(thread.hot_scale, HOT_SCALE_ONE);
    CHECK_EQ(known.n_known, 0);
}

static void the_price_has_bounds(void)
{
    struct lines_thread thread = {.hot_scale = HOT_SCALE_ONE};
    struct sample_debt known = {0};
    for (int i = 0; i < 100; i++) {
        hit(&thread, 1);
        learn(&known, &thread, true);
    }
    CHECK_EQ(thread.hot_scale, 8 * HOT_SCALE_ONE);
    for (int i = 0; i < 10000; i++) {
        hit(&thread, 100);
        learn(&known, &thread, false);
    }
    CHECK_EQ(thread.hot_scale, HOT_SCALE_ONE / 4);
}

static void a_program_that_changes_is_followed(void)
{
    struct lines_thread thread = {.hot_scale = HOT_SCALE_ONE};
    struct sample_debt known = {0};
    for (int i = 0; i < 100000; i++) {
        hit(&thread, 100);
        learn(&known, &thread, is_one_of(10));
    }
    CHECK(thread.hot_scale > HOT_SCALE_ONE * 3 / 4 && thread.hot_scale < HOT_SCALE_ONE * 5 / 4);
    for (int i = 0; i < 20000; i++) {
        hit(&thread, 100);
        learn(&known, &thread, is_one_of(5));
    }
    CHECK(thread.hot_scale > HOT_SCALE_ONE * 3 / 2 && thread.hot_scale < HOT_SCALE_ONE * 5 / 2);
}

static void signals_and_exceptions_go_into_the_debt(void)
{
    struct lines_thread thread = {.last = 5, .hot_scale = HOT_SCALE_ONE};
    debt_add_signal(&thread, 4);
    CHECK_EQ(thread.debt, TICKS(4));
    account_charge_raise(&thread);
    CHECK_EQ(thread.debt, TICKS(11));
    hit(&thread, 1);
    account_charge_raise(&thread); /* below hot code: samples know of it */
    CHECK_EQ(thread.debt, TICKS(12));
    thread.last = 6; /* a cold line began */
    account_charge_raise(&thread);
    CHECK_EQ(thread.debt, TICKS(19));
}

int main(void)
{
    probe_costs[PROBE_INSTRUCTION].whole = TICKS(1);
    probe_costs[PROBE_LEAVE].whole = TICKS(7);
    all_is_charged_in_the_end(100);
    all_is_charged_in_the_end(70);
    all_is_charged_in_the_end(160);
    hits_that_no_sample_met_are_charged_as_well();
    rare_events_keep_their_price();
    code_without_hot_events_teaches_nothing();
    the_price_has_bounds();
    a_program_that_changes_is_followed();
    signals_and_exceptions_go_into_the_debt();
    return 0;
}
