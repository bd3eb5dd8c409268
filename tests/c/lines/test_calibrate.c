#include "lines/calibrate.h"

#include "base/ticks.h"
#include "lines/account.h"

#include "check.h"

#include <string.h>

static const char outer_key, inner_key;

static void add_code(const void *key)
{
    static const int32_t lines[4] = {0, 1, 2, 3};
    static const uint8_t skip[1], probes[4] = {PROBE_KINDS, PROBE_LINE, PROBE_GLOBAL, PROBE_LOOP};
    struct hit_rules rules = {.skip = (uint8_t *)(uintptr_t)skip};
    struct code_facts facts = {.key = key,
                               .name = "f",
                               .name_bytes = 1,
                               .n_units = 4,
                               .line_of_unit = lines,
                               .probes = probes,
                               .rules = &rules};
    CHECK(registry_add_code(&facts) != NULL);
}

static const struct calibration costs = {
    .ns_per_tick = 0.5,
    .kinds =
        {
            [PROBE_LINE] = {.before = 4, .whole = 10, .spread = 2},
            [PROBE_GLOBAL] = {.before = 4, .whole = 17.5, .spread = 2},
            [PROBE_LOOP] = {.before = 4, .whole = 12, .spread = 2},
            [PROBE_START] = {.before = 1, .whole = 6, .spread = 1},
            [PROBE_LEAVE] = {.before = 5, .whole = 8, .spread = 1},
        },
};

/* A program as it would be without us, and what the callbacks see of it. */
struct world {
    uint64_t now;   /* virtual */
    double skipped; /* what events took so far */
};

static uint64_t clock_at_event(struct world *world, enum probe_kind kind)
{
    uint64_t raw = world->now + (uint64_t)(world->skipped + costs.kinds[kind].before);
    world->skipped += costs.kinds[kind].whole;
    return raw;
}

static void line(struct world *world, int32_t number, uint64_t takes)
{
    enum probe_kind kind = (enum probe_kind)(PROBE_LINE + number - 1);
    CHECK(account_line_plain(account_thread(), number, clock_at_event(world, kind)) != 0);
    world->now += takes;
}

static void start(struct world *world, const void *key)
{
    (void)clock_at_event(world, PROBE_START);
    clock_charge(&account_thread()->debt, PROBE_START);
    account_start(account_thread(), key);
}

static void leave(struct world *world, const void *key)
{
    struct lines_thread *thread = account_thread();
    uint64_t raw = clock_at_event(world, PROBE_LEAVE);
    account_leave(thread, key, clock_event(&thread->debt, PROBE_LEAVE, raw));
}

static void what_events_cost_is_in_no_line(void)
{
    struct account_totals totals;
    struct world world = {.now = 100000};
    const struct code_total *outer, *inner;
    add_code(&outer_key);
    add_code(&inner_key);
    account_thread()->last = world.now;
    start(&world, &outer_key);
    for (int i = 0; i < 1000; i++) {
        line(&world, 1, 50);
        line(&world, 2, 30);
        start(&world, &inner_key);
        line(&world, 3, 7);
        leave(&world, &inner_key);
        world.now += 20; /* of line 2 */
    }
    leave(&world, &outer_key);
    CHECK_EQ(account_sum(&totals, world.now + (uint64_t)world.skipped), 0);
    outer = &totals.codes[0];
    inner = &totals.codes[1];
    CHECK_EQ(outer->lines[0].exclusive, 50 * 1000);
    CHECK(outer->lines[1].exclusive >= 50 * 1000 - 1000); /* half a tick is cut off each time */
    CHECK(outer->lines[1].exclusive <= 50 * 1000 + 1000);
    CHECK(outer->lines[1].inclusive <= 57 * 1000 + 1000);
    CHECK(outer->inclusive >= 107 * 1000 - 1000 && outer->inclusive <= 107 * 1000 + 1000);
    CHECK(inner->lines[2].exclusive >= 7 * 1000 - 1000);
    CHECK(inner->lines[2].exclusive <= 7 * 1000 + 1000);
    CHECK_EQ(outer->lines[0].exclusive_error, 2 * 1000);
    CHECK_EQ(outer->lines[1].exclusive_error, (2 + 1) * 1000);
    CHECK_EQ(inner->lines[2].exclusive_error, 2 * 1000);
    CHECK_EQ(outer->exclusive_error, 5 * 1000);
    CHECK_EQ(inner->inclusive_error, 1000 * (8 + 0) * 2 / 10);
    /* 10 + 17.5 + 6 + 12 + 8 an iteration were taken out, a fifth of that is not sure */
    CHECK(outer->inclusive_error >= 10600 && outer->inclusive_error <= 10720);
    account_totals_release(&totals);
}

static void costs_follow_the_speed_of_the_host(void)
{
    uint64_t debt = 0;
    calibrate_scale(2);
    CHECK_EQ(clock_event(&debt, PROBE_LINE, 1000), 1000 - 8);
    CHECK_EQ(clock_virtual(debt, 1000), 1000 - 20);
    CHECK_EQ(clock_error_ticks(PROBE_LINE, 10), 40);
    calibrate_scale(1);
    CHECK_EQ(clock_error_ticks(PROBE_LINE, 10), 20);
}

static void a_look_at_the_speed_costs_the_program_nothing(void)
{
    uint64_t debt = 0, before = ticks_now(), taken;
    CHECK(probe_check_at > before && probe_check_at < UINT64_MAX);
    taken = calibrate_check(&debt);
    CHECK_EQ(debt, taken << PROBE_SHIFT);
    CHECK(taken <= ticks_now() - before);
    CHECK(probe_check_at > before && probe_check_at < UINT64_MAX);
    CHECK(probe_costs[PROBE_LINE].whole != 0);
}

static void an_event_costs_more_before_a_light_line(void)
{
    probe_overlap = (struct probe_overlap){.extra = 6, .light = 3, .heavy = 18};
    CHECK(clock_without_overlap(100) == 100);
    CHECK(clock_without_overlap(18) == 18);
    CHECK(clock_without_overlap(3 + 6) > 2.99 && clock_without_overlap(3 + 6) < 3.01);
    CHECK(clock_without_overlap(10.5 + 3) > 10.49 && clock_without_overlap(10.5 + 3) < 10.51);
    CHECK(clock_without_overlap(6.5) >= 0 && clock_without_overlap(6.5) < 1);
    CHECK(clock_without_overlap(1) == 0);
    probe_overlap.heavy = 10; /* too near to each other to say anything */
    CHECK(clock_without_overlap(9) == 9);
    probe_overlap = (struct probe_overlap){0};
    CHECK(clock_without_overlap(1) == 1);
}

static void the_description_is_json(void)
{
    char text[512];
    size_t n_bytes = calibrate_describe(text, sizeof text - 1);
    CHECK(n_bytes != 0);
    text[n_bytes] = 0;
    CHECK(strstr(text, "{\"ns\": {\"line\": 5.0, \"global\": 8.8, \"loop\": 6.0, ") == text);
    CHECK(strstr(text, "\"leave\": 4.0") != NULL);
    CHECK(strstr(text, "}, \"spread\": 1.0, \"light\": 0.0, \"slowness\": [") != NULL);
    CHECK(strcmp(text + n_bytes - 2, "]}") == 0);
    CHECK_EQ(calibrate_describe(text, 20), 0);
}

int main(void)
{
    char text[512];
    CHECK_EQ(calibrate_describe(text, sizeof text), 0);
    calibrate_use(&costs);
    CHECK_EQ(probe_ns_scale, 1 << (NS_SCALE_SHIFT - 1));
    CHECK_EQ(account_bucket(64), 5); /* 64 ticks are 32 ns */
    what_events_cost_is_in_no_line();
    a_look_at_the_speed_costs_the_program_nothing();
    costs_follow_the_speed_of_the_host();
    an_event_costs_more_before_a_light_line();
    the_description_is_json();
    return 0;
}
