#include "lines/account.h"

#include "check.h"

#include <pthread.h>
#include <string.h>

/* Code objects are known by address; these stand for them. All have lines 1 .. 9, unit = line. */
static const char outer_key, inner_key, third_key, unknown_key;

static struct lines_code *add_code(const void *key, int skipped_unit)
{
    static struct hit_credit credit = {.unit = 8, .line = 7};
    int32_t lines[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    uint8_t skip[2] = {0};
    struct hit_rules rules = {.skip = skip, .credits = &credit, .n_credits = skipped_unit == 8};
    struct code_facts facts = {
        .key = key,
        .name = "f",
        .name_bytes = 1,
        .n_units = 10,
        .line_of_unit = lines,
        .rules = &rules,
    };
    struct lines_code *code;
    if (skipped_unit > 0)
        skip[skipped_unit >> 3] = (uint8_t)(1u << (skipped_unit & 7));
    code = registry_add_code(&facts);
    CHECK(code != NULL);
    CHECK(registry_find(key) == code);
    return code;
}

static void line(const void *key, int32_t number, uint64_t now)
{
    struct lines_thread *thread = account_thread();
    CHECK(thread != NULL);
    if (thread->top->key != key)
        CHECK_EQ(account_resynchronise(thread, key, now), 0);
    CHECK(account_line(thread, number, now) == NULL);
}

static void start(const void *key)
{
    account_start(account_thread(), key);
}

static void leave(const void *key, uint64_t now)
{
    account_leave(account_thread(), key, now);
}

/* The difference that a scenario makes, so that scenarios can follow each other. */
struct expected {
    const void *key;
    int32_t line;
    uint64_t hits;
    int64_t exclusive;
    int64_t inclusive;
};

static struct account_totals before;

static void begin(uint64_t now)
{
    struct lines_thread *thread = account_thread();
    CHECK(thread->top == &thread->bottom);
    thread->last = now;
    CHECK_EQ(account_sum(&before, now), 0);
}

static void check_lines(const struct expected *expected, size_t n, uint64_t now)
{
    struct account_totals after;
    CHECK_EQ(account_sum(&after, now), 0);
    for (size_t i = 0; i < n; i++) {
        uint32_t code = registry_find(expected[i].key)->id - 1;
        const struct line_total *was = &before.codes[code].lines[expected[i].line - 1];
        const struct line_total *is = &after.codes[code].lines[expected[i].line - 1];
        CHECK_EQ(is->hits - was->hits, expected[i].hits);
        CHECK_EQ(is->exclusive - was->exclusive, expected[i].exclusive);
        CHECK_EQ(is->inclusive - was->inclusive, expected[i].inclusive);
    }
    account_totals_release(&before);
    account_totals_release(&after);
}

#define CHECK_LINES(now_, ...)                                                \
    do {                                                                      \
        struct expected expected_[] = {__VA_ARGS__};                          \
        check_lines(expected_, sizeof expected_ / sizeof expected_[0], now_); \
    } while (0)

static int64_t function_inclusive(const void *key)
{
    struct account_totals totals;
    int64_t result;
    CHECK_EQ(account_sum(&totals, 0), 0);
    result = totals.codes[registry_find(key)->id - 1].inclusive;
    account_totals_release(&totals);
    return result;
}

static void a_line_runs_until_the_next(void)
{
    begin(1000);
    start(&outer_key);
    line(&outer_key, 1, 1010);
    line(&outer_key, 2, 1030);
    line(&outer_key, 1, 1070);
    leave(&outer_key, 1150);
    CHECK_LINES(2000, {&outer_key, 1, 2, 100, 100}, {&outer_key, 2, 1, 40, 40});
}

static void a_callee_is_in_the_inclusive_time_of_the_calling_line(void)
{
    int64_t outer_before = function_inclusive(&outer_key);
    int64_t inner_before = function_inclusive(&inner_key);
    begin(1000);
    start(&outer_key);
    line(&outer_key, 1, 1000);
    start(&inner_key);
    line(&inner_key, 3, 1010); /* the way there belongs to the caller */
    leave(&inner_key, 1110);
    line(&outer_key, 2, 1120);
    leave(&outer_key, 1121);
    CHECK_LINES(2000, {&outer_key, 1, 1, 20, 120}, {&inner_key, 3, 1, 100, 100},
                {&outer_key, 2, 1, 1, 1});
    CHECK_EQ(function_inclusive(&outer_key) - outer_before, 121);
    CHECK_EQ(function_inclusive(&inner_key) - inner_before, 100);
}

static void recursion_counts_the_outermost_line_once(void)
{
    int64_t inclusive_before = function_inclusive(&outer_key);
    begin(1000);
    for (uint64_t depth = 0; depth < 5; depth++) {
        start(&outer_key);
        line(&outer_key, 1, 1000 + 100 * depth);
        line(&outer_key, 2, 1010 + 100 * depth); /* calls itself */
    }
    for (uint64_t depth = 5; depth-- > 0;)
        leave(&outer_key, 2000 - 100 * depth);
    /* Line 2 is running from 1010 to 2000 without a gap; line 1 five times for 10 inside of it. */
    CHECK_LINES(3000, {&outer_key, 1, 5, 50, 50}, {&outer_key, 2, 5, 950, 990});
    CHECK_EQ(function_inclusive(&outer_key) - inclusive_before, 1000);
}

static const char frame_a, frame_b; /* stand for the interpreter's */

static void yield(const void *key, const void *frame, uint64_t now)
{
    account_yield(account_thread(), key, frame, now, now);
}

static void resume(const void *key, const void *frame, uint32_t unit, uint64_t now)
{
    account_resume(account_thread(), key, frame, unit, now, now, true);
}

/* One line of the totals, all of them. */
static struct line_total line_now(const void *key, int32_t number, uint64_t now)
{
    struct account_totals totals;
    struct line_total line;
    CHECK_EQ(account_sum(&totals, now), 0);
    line = totals.codes[registry_find(key)->id - 1].lines[number - 1];
    account_totals_release(&totals);
    return line;
}

static void a_suspended_generator_takes_no_time(void)
{
    begin(0);
    start(&inner_key);
    line(&inner_key, 4, 10);
    yield(&inner_key, &frame_a, 20);
    resume(&inner_key, &frame_a, 4, 500);
    line(&inner_key, 5, 530);
    leave(&inner_key, 531);
    CHECK_LINES(2000, {&inner_key, 4, 1, 40, 40}, {&inner_key, 5, 1, 1, 1});
    CHECK_EQ(line_now(&inner_key, 4, 2000).await, 480);
}

static void a_generator_runs_inside_the_line_that_asks_it(void)
{
    begin(1000);
    start(&outer_key);
    line(&outer_key, 1, 1000);
    resume(&inner_key, &frame_b, 6, 1010);
    leave(&inner_key, 1040);
    leave(&outer_key, 1050);
    CHECK_LINES(2000, {&outer_key, 1, 1, 20, 50}, {&inner_key, 6, 0, 30, 30});
    CHECK_EQ(line_now(&inner_key, 6, 2000).await, 0); /* it was suspended before we knew it */
}

static void a_hit_that_was_suspended_is_one_hit(void)
{
    static const char key;
    struct line_total total;
    add_code(&key, 0);
    begin(1000);
    start(&key);
    line(&key, 4, 1000);
    for (uint64_t i = 1; i <= 3; i++) {
        yield(&key, &frame_a, 1000 * i + 10);
        resume(&key, &frame_a, 4, 1000 * i + 1000);
    }
    line(&key, 5, 4010);
    leave(&key, 4011);
    total = line_now(&key, 4, 5000);
    CHECK_EQ(total.hits, 1);
    CHECK_EQ(total.exclusive, 40);
    CHECK_EQ(total.inclusive, 40);
    CHECK_EQ(total.await, 3 * 990);
    CHECK(total.min == 40 && total.max == 40 && total.histogram[5] == 1);
}

static void interleaved_generators_wait_each_for_itself(void)
{
    static const char key;
    struct account_totals totals;
    add_code(&key, 0);
    begin(1000);
    start(&key);
    line(&key, 2, 1000);
    yield(&key, &frame_a, 1001);
    start(&key);
    line(&key, 3, 1100);
    yield(&key, &frame_b, 1101);
    resume(&key, &frame_a, 2, 1201);
    yield(&key, &frame_a, 1203);
    resume(&key, &frame_b, 3, 1401);
    leave(&key, 1402);
    CHECK_EQ(line_now(&key, 2, 2000).await, 200);
    CHECK_EQ(line_now(&key, 3, 2000).await, 300);
    /* frame_a is never resumed; another generator comes to lie at its address */
    start(&key);
    line(&key, 5, 1500);
    yield(&key, &frame_a, 1501);
    resume(&key, &frame_a, 5, 1511);
    leave(&key, 1512);
    CHECK_EQ(line_now(&key, 2, 2000).await, 200);
    CHECK_EQ(line_now(&key, 5, 2000).await, 10);
    /* and one that is only resumed to be closed has waited for nothing */
    start(&key);
    line(&key, 6, 1600);
    yield(&key, &frame_a, 1601);
    account_resume(account_thread(), &key, &frame_a, 6, 1700, 1700, false);
    leave(&key, 1701);
    CHECK_EQ(line_now(&key, 6, 2000).await, 0);
    CHECK_EQ(line_now(&key, 6, 2000).hits, 1);
    CHECK_EQ(account_sum(&totals, 2000), 0);
    CHECK_EQ(totals.codes[registry_find(&key)->id - 1].yields, 5);
    account_totals_release(&totals);
}

static void many_suspended_frames_are_told_apart(void)
{
    static const char key;
    static char frames[5000];
    add_code(&key, 0);
    begin(1000);
    for (uint64_t round = 0; round < 3; round++) {
        for (uint64_t i = 0; i < sizeof frames; i++) {
            start(&key);
            line(&key, 1, 10000 * round + 1000 + i);
            yield(&key, &frames[i], 10000 * round + 1000 + i);
        }
        for (uint64_t i = 0; i < sizeof frames; i += round + 1) { /* the others are abandoned */
            resume(&key, &frames[i], 1, 10000 * round + 7000 + i);
            leave(&key, 10000 * round + 7000 + i);
        }
    }
    CHECK_EQ(line_now(&key, 1, 40000).await, 6000 * (5000 + 2500 + 1667));
}

static void *resume_elsewhere(void *key)
{
    account_thread()->debt = 77 << PROBE_SHIFT; /* its clock has another zero */
    account_resume(account_thread(), key, &frame_a, 3, 5000, 1250, true);
    leave(key, 5001);
    account_thread()->debt = 0;
    return NULL;
}

static void a_generator_may_go_on_in_another_thread(void)
{
    static const char key;
    pthread_t thread;
    add_code(&key, 0);
    begin(900);
    start(&key);
    line(&key, 3, 900);
    account_yield(account_thread(), &key, &frame_a, 901, 1000);
    CHECK_EQ(pthread_create(&thread, NULL, resume_elsewhere, (void *)(uintptr_t)&key), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(line_now(&key, 3, 6000).await, 250);
}

static void code_that_is_aside_waits_too(void)
{
    static const char key;
    struct lines_thread *thread = account_thread();
    add_code(&key, 0);
    account_yield_aside(thread, &key, &frame_a, 4, 100, 100);
    account_resume_aside(thread, &key, &frame_a, 150, 150, true);
    account_yield_aside(thread, &key, &frame_a, 4, 200, 200);
    account_resume_aside(thread, &key, &frame_a, 250, 250, false);
    CHECK_EQ(line_now(&key, 4, 300).await, 50);
    CHECK_EQ(line_now(&key, 4, 300).hits, 0);
}

static void hits_have_extremes_and_a_histogram(void)
{
    static const char key;
    static const uint64_t taken[] = {0, 1, 2, 3, 4, 1000, 1023, 1024, 1ull << 39, 1ull << 41};
    struct line_total total;
    uint64_t now = 1000;
    add_code(&key, 0);
    begin(now);
    start(&key);
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++) {
        line(&key, 7, now);
        line(&key, 8, now += taken[i]);
    }
    leave(&key, now);
    total = line_now(&key, 7, now);
    CHECK_EQ(total.min, 0);
    CHECK_EQ(total.max, 1ll << 41);
    CHECK_EQ(total.histogram[0], 2);
    CHECK_EQ(total.histogram[1], 2);
    CHECK_EQ(total.histogram[2], 1);
    CHECK_EQ(total.histogram[9], 2);
    CHECK_EQ(total.histogram[10], 1);
    CHECK_EQ(total.histogram[LINE_BUCKETS - 1], 2);
    total = line_now(&key, 6, now);
    CHECK(total.min == 0 && total.max == 0);
}

static void each_hit_of_a_recursion_counts_with_its_own_time(void)
{
    static const char key;
    struct line_total total;
    add_code(&key, 0);
    begin(1000);
    for (uint64_t depth = 0; depth < 3; depth++) {
        start(&key);
        line(&key, 2, 1000 + 100 * depth);
    }
    for (uint64_t depth = 3; depth-- > 0;)
        leave(&key, 2000 - 100 * depth);
    total = line_now(&key, 2, 2000);
    CHECK_EQ(total.inclusive, 1000);
    CHECK(total.min == 600 && total.max == 1000);
    CHECK_EQ(total.histogram[9], 3);
}

/* ---- edges -------------------------------------------------------------------------------- */

/* The sum over the threads. */
static struct call_total edge_now(const void *caller, uint32_t number, const void *callee,
                                  uint64_t now)
{
    struct account_totals totals;
    struct call_total sum = {0};
    uint32_t caller_id = caller == NULL ? 0 : registry_find(caller)->id;
    CHECK_EQ(account_sum(&totals, now), 0);
    for (uint32_t i = 0; i < totals.n_edges; i++) {
        const struct call_total *edge = &totals.edges[i];
        if (edge->caller != caller_id || edge->line != number ||
            edge->callee != registry_find(callee)->id)
            continue;
        sum.calls += edge->calls;
        sum.inclusive += edge->inclusive;
        sum.exclusive += edge->exclusive;
    }
    account_totals_release(&totals);
    return sum;
}

#define CHECK_EDGE(now_, caller_, line_, callee_, calls_, inclusive_, exclusive_)  \
    do {                                                                           \
        struct call_total edge_ = edge_now((caller_), (line_), (callee_), (now_)); \
        CHECK_EQ(edge_.calls, (calls_));                                           \
        CHECK_EQ(edge_.inclusive, (inclusive_));                                   \
        CHECK_EQ(edge_.exclusive, (exclusive_));                                   \
    } while (0)

static void calls_are_counted_by_the_line_they_come_from(void)
{
    static const char caller, callee, leaf;
    add_code(&caller, 0);
    add_code(&callee, 0);
    add_code(&leaf, 0);
    begin(1000);
    start(&caller);
    line(&caller, 1, 1000);
    for (uint64_t i = 0; i < 3; i++) {
        start(&callee);
        line(&callee, 5, 1010 + 100 * i);
        start(&leaf);
        line(&leaf, 9, 1020 + 100 * i);
        leave(&leaf, 1030 + 100 * i);
        leave(&callee, 1050 + 100 * i);
    }
    line(&caller, 2, 1500);
    start(&callee);
    line(&callee, 5, 1510);
    CHECK_EDGE(1600, NULL, 0, &caller, 1, 600, 600 - 3 * 40 - 90); /* still running */
    CHECK_EDGE(1600, &caller, 2, &callee, 1, 90, 90);
    leave(&callee, 1600);
    leave(&caller, 1700);
    CHECK_EDGE(2000, NULL, 0, &caller, 1, 700, 700 - 3 * 40 - 90);
    CHECK_EDGE(2000, &caller, 1, &callee, 3, 120, 90);
    CHECK_EDGE(2000, &caller, 2, &callee, 1, 90, 90);
    CHECK_EDGE(2000, &callee, 5, &leaf, 3, 30, 30);
    CHECK_EDGE(2000, NULL, 0, &leaf, 0, 0, 0);
}

static void an_edge_of_a_recursion_has_the_time_of_the_outermost_call(void)
{
    static const char even, odd;
    add_code(&even, 0);
    add_code(&odd, 0);
    begin(1000);
    for (uint64_t depth = 0; depth < 6; depth++) {
        start(depth % 2 == 0 ? &even : &odd);
        line(depth % 2 == 0 ? &even : &odd, 1, 1000 + 10 * depth);
    }
    CHECK_EDGE(1100, &even, 1, &odd, 3, 90, 10 + 10 + 50);
    for (uint64_t depth = 6; depth-- > 0;)
        leave(depth % 2 == 0 ? &even : &odd, 1100 + 10 * (6 - depth));
    CHECK_EDGE(2000, NULL, 0, &even, 1, 160, 20);
    CHECK_EDGE(2000, &even, 1, &odd, 3, 140, 20 + 20 + 60);
    CHECK_EDGE(2000, &odd, 1, &even, 2, 120, 40);
}

static void a_caller_may_be_off_the_stack(void)
{
    static const char caller, callee;
    add_code(&caller, 0);
    add_code(&callee, 0);
    begin(1000);
    start(&outer_key);
    line(&outer_key, 1, 1000);
    for (uint64_t i = 0; i < 2; i++) {
        account_start_from(account_thread(), &callee, &caller, 7);
        line(&callee, 2, 1010 + 100 * i);
        leave(&callee, 1040 + 100 * i);
    }
    start(&callee);
    line(&callee, 2, 1300);
    leave(&callee, 1301);
    account_start_from(account_thread(), &callee, &unknown_key, 7); /* then it is as ever */
    leave(&callee, 1302);
    leave(&outer_key, 1400);
    CHECK_EDGE(2000, &caller, 7, &callee, 2, 60, 60);
    CHECK_EDGE(2000, &outer_key, 1, &callee, 2, 1, 1);
}

static void many_edges_are_told_apart(void)
{
    static char keys[600];
    static const char hub;
    add_code(&hub, 0);
    begin(1000);
    start(&hub);
    line(&hub, 3, 1000);
    for (size_t i = 0; i < sizeof keys; i++)
        add_code(&keys[i], 0);
    for (size_t k = 0; k < 3; k++) {
        for (size_t i = 0; i < sizeof keys; i++) {
            start(&keys[i]);
            line(&keys[i], 1, 1000);
            leave(&keys[i], 1000);
        }
    }
    leave(&hub, 1000);
    for (size_t i = 0; i < sizeof keys; i += 100)
        CHECK_EDGE(1000, &hub, 3, &keys[i], 3, 0, 0);
}

static void frames_that_were_left_unseen_are_dropped(void)
{
    begin(100);
    start(&outer_key);
    line(&outer_key, 1, 100);
    start(&inner_key);
    line(&inner_key, 2, 110);
    start(&third_key);
    line(&third_key, 3, 120);
    leave(&outer_key, 130); /* an exit of the other two was never told */
    CHECK(account_thread()->top == &account_thread()->bottom);
    leave(&outer_key, 140); /* and this frame was entered unseen */
    CHECK_LINES(2000, {&outer_key, 1, 1, 10, 30}, {&inner_key, 2, 1, 10, 20},
                {&third_key, 3, 1, 10, 10});
}

static void code_that_was_running_when_it_was_registered_is_counted(void)
{
    begin(0);
    line(&third_key, 7, 100);
    line(&third_key, 8, 110);
    leave(&third_key, 120);
    CHECK(account_thread()->top == &account_thread()->bottom);
    CHECK_LINES(2000, {&third_key, 7, 1, 10, 10}, {&third_key, 8, 1, 10, 10});
    start(&unknown_key);
    CHECK(account_thread()->top == &account_thread()->bottom);
    CHECK_EQ(account_resynchronise(account_thread(), &unknown_key, 0), -1);
}

static void what_is_running_counts_up_to_now(void)
{
    begin(100);
    start(&outer_key);
    line(&outer_key, 1, 100);
    start(&inner_key);
    line(&inner_key, 2, 110);
    CHECK_LINES(200, {&outer_key, 1, 1, 10, 100}, {&inner_key, 2, 1, 90, 90});
    leave(&inner_key, 200);
    leave(&outer_key, 200);
}

static void an_event_that_comes_back_is_a_delivery_but_no_hit(void)
{
    static const char key;
    struct lines_code *code = add_code(&key, 2);
    struct line_total total;
    struct lines_thread *thread = account_thread();
    struct line_cell *cell;
    CHECK_EQ(code->ambiguous[1], 1);
    begin(10);
    start(&key);
    cell = account_line(thread, 2, 10);
    CHECK(cell != NULL);
    account_came_back(thread, cell, 1); /* another instruction: counts */
    CHECK(account_line(thread, 3, 20) == NULL);
    account_came_back(thread, account_line(thread, 2, 30), 2); /* goes on */
    CHECK(account_line(thread, 3, 45) == NULL);
    account_came_back(thread, account_line(thread, 2, 100), 1000); /* not of this code: a hit */
    leave(&key, 104);
    total = line_now(&key, 2, 200);
    CHECK_EQ(total.hits, 2);
    CHECK_EQ(total.raw_hits, 3);
    CHECK_EQ(total.exclusive, 29);
    CHECK_EQ(total.inclusive, 29);
    CHECK(total.min == 4 && total.max == 25);
    CHECK_EQ(total.histogram[4], 1); /* 10 + 15 */
    CHECK_EQ(total.histogram[2], 1);
}

static void an_event_can_be_a_hit_of_another_line(void)
{
    static const char key;
    struct lines_code *code = add_code(&key, 8);
    struct lines_thread *thread = account_thread();
    struct account_totals totals;
    CHECK(thread != NULL);
    start(&key);
    for (uint64_t i = 0; i < 3; i++) {
        account_came_back(thread, account_line(thread, 8, 10 * i), 8);
        account_give_credits(thread, 8);
        account_give_credits(thread, 2);
    }
    leave(&key, 40);
    CHECK_EQ(account_sum(&totals, 50), 0);
    CHECK_EQ(totals.codes[code->id - 1].lines[7].hits, 0);
    CHECK_EQ(totals.codes[code->id - 1].lines[7].raw_hits, 3);
    CHECK_EQ(totals.codes[code->id - 1].lines[6].hits, 3);
    CHECK_EQ(totals.codes[code->id - 1].lines[6].raw_hits, 0);
    account_totals_release(&totals);
}

static void deep_recursion_is_followed(void)
{
    begin(1);
    for (uint64_t depth = 0; depth < 10000; depth++) {
        start(&outer_key);
        line(&outer_key, 9, 1 + depth);
    }
    for (uint64_t depth = 0; depth < 10000; depth++)
        leave(&outer_key, 10001);
    CHECK_LINES(20000, {&outer_key, 9, 10000, 10000, 10000});
}

static uint64_t random_below(uint64_t n)
{
    static uint64_t state = 88172645463325252ull;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % n;
}

/* One event that may or may not fit to those before it, as with greenlets and lost events. */
static void anything(const char keys[4], const char frames[4], uint64_t now)
{
    const void *key = &keys[random_below(4)], *frame = &frames[random_below(4)];
    switch (random_below(6)) {
    case 0:
        start(key);
        break;
    case 1:
        leave(key, now);
        break;
    case 2:
        yield(key, frame, now);
        break;
    case 3:
        resume(key, frame, (uint32_t)random_below(12), now);
        break;
    default:
        line(key, 1 + (int32_t)random_below(9), now);
    }
}

static void no_tick_is_lost_or_counted_twice(void)
{
    static const char keys[4], frames[4];
    struct lines_thread *thread = account_thread();
    struct account_totals totals;
    int64_t nowhere = thread->nowhere.exclusive, lines = 0, functions = 0, edges = 0;
    uint64_t now = 1000;
    for (int i = 0; i < 4; i++)
        add_code(&keys[i], 0);
    thread->last = now;
    for (int i = 0; i < 20000; i++)
        anything(keys, frames, now += random_below(100));
    while (thread->top != &thread->bottom)
        leave(thread->top->key, now += random_below(100));
    CHECK_EQ(account_sum(&totals, now + 100), 0);
    for (int i = 0; i < 4; i++) {
        const struct code_total *code = &totals.codes[registry_find(&keys[i])->id - 1];
        uint64_t timed = 0, hits = 0;
        for (int k = 0; k < 9; k++) {
            lines += code->lines[k].exclusive;
            hits += code->lines[k].hits;
            for (int b = 0; b < LINE_BUCKETS; b++)
                timed += code->lines[k].histogram[b];
            CHECK(code->lines[k].inclusive >= code->lines[k].exclusive);
        }
        CHECK(timed > hits / 2); /* a hit that is suspended and never goes on is not timed */
        functions += code->exclusive;
    }
    for (uint32_t i = 0; i < totals.n_edges; i++)
        for (int k = 0; k < 4; k++)
            if (totals.edges[i].callee == registry_find(&keys[k])->id)
                edges += totals.edges[i].exclusive;
    CHECK_EQ(lines + thread->nowhere.exclusive - nowhere, now - 1000);
    CHECK_EQ(functions, lines);
    CHECK_EQ(edges, lines);
    account_totals_release(&totals);
}

static void *count_in_a_thread(void *unused)
{
    (void)unused;
    start(&inner_key);
    for (int i = 0; i < 1000; i++)
        line(&inner_key, 9, 0);
    return NULL; /* ends inside the frame: its destructor closes it */
}

static void threads_are_added_up_and_their_tables_used_again(void)
{
    struct lines_thread *first;
    uint32_t n = 0;
    begin(0);
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        CHECK_EQ(pthread_create(&thread, NULL, count_in_a_thread, NULL), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
    }
    for (first = lines_threads; first != NULL; first = first->next) {
        CHECK(first->top == &first->bottom);
        n++;
    }
    CHECK_EQ(n, 2);
    CHECK_EQ(before.codes[registry_find(&inner_key)->id - 1].lines[8].hits, 0);
    account_totals_release(&before);
    CHECK_EQ(account_sum(&before, 0), 0);
    CHECK_EQ(before.codes[registry_find(&inner_key)->id - 1].lines[8].hits, 20000);
    account_totals_release(&before);
}

static void many_codes_have_tables_of_their_own(void)
{
    static char keys[3000];
    for (int i = 0; i < 3000; i++) {
        add_code(&keys[i], 0);
        for (int k = 0; k <= i % 7; k++) {
            start(&keys[i]);
            line(&keys[i], 5, 0);
            leave(&keys[i], 0);
        }
    }
    CHECK_EQ(account_sum(&before, 0), 0);
    for (int i = 0; i < 3000; i++) {
        const struct code_total *total = &before.codes[registry_find(&keys[i])->id - 1];
        CHECK_EQ(total->calls, i % 7 + 1);
        CHECK_EQ(total->lines[4].hits, i % 7 + 1);
    }
    account_totals_release(&before);
}

int main(void)
{
    add_code(&outer_key, 0);
    add_code(&inner_key, 0);
    add_code(&third_key, 0);
    a_line_runs_until_the_next();
    a_callee_is_in_the_inclusive_time_of_the_calling_line();
    recursion_counts_the_outermost_line_once();
    a_suspended_generator_takes_no_time();
    a_generator_runs_inside_the_line_that_asks_it();
    a_hit_that_was_suspended_is_one_hit();
    interleaved_generators_wait_each_for_itself();
    many_suspended_frames_are_told_apart();
    a_generator_may_go_on_in_another_thread();
    code_that_is_aside_waits_too();
    hits_have_extremes_and_a_histogram();
    each_hit_of_a_recursion_counts_with_its_own_time();
    calls_are_counted_by_the_line_they_come_from();
    an_edge_of_a_recursion_has_the_time_of_the_outermost_call();
    a_caller_may_be_off_the_stack();
    many_edges_are_told_apart();
    frames_that_were_left_unseen_are_dropped();
    code_that_was_running_when_it_was_registered_is_counted();
    what_is_running_counts_up_to_now();
    an_event_that_comes_back_is_a_delivery_but_no_hit();
    an_event_can_be_a_hit_of_another_line();
    deep_recursion_is_followed();
    no_tick_is_lost_or_counted_twice();
    threads_are_added_up_and_their_tables_used_again();
    many_codes_have_tables_of_their_own();
    return 0;
}
