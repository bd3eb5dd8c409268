#include "lines/account.h"

#include "check.h"

#include <pthread.h>
#include <string.h>

/* Code objects are known by address; these stand for them. All have lines 1 .. 9, unit = line. */
static const char outer_key, inner_key, third_key, unknown_key;

static struct lines_code *add_code(const void *key, int skipped_unit)
{
    int32_t lines[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    uint8_t skip[2] = {0};
    struct code_facts facts = {
        .key = key,
        .name = "f",
        .name_bytes = 1,
        .n_units = 10,
        .line_of_unit = lines,
        .skip = skip,
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

static void a_suspended_generator_takes_no_time(void)
{
    begin(0);
    start(&inner_key);
    line(&inner_key, 4, 10);
    leave(&inner_key, 20); /* yields on line 4 */
    account_resume(account_thread(), &inner_key, 4, 500);
    line(&inner_key, 5, 530);
    leave(&inner_key, 531);
    CHECK_LINES(2000, {&inner_key, 4, 1, 40, 40}, {&inner_key, 5, 1, 1, 1});
}

static void a_generator_runs_inside_the_line_that_asks_it(void)
{
    begin(0);
    start(&outer_key);
    line(&outer_key, 1, 0);
    account_resume(account_thread(), &inner_key, 6, 10);
    leave(&inner_key, 40);
    leave(&outer_key, 50);
    CHECK_LINES(2000, {&outer_key, 1, 1, 20, 50}, {&inner_key, 6, 0, 30, 30});
}

static void frames_that_were_left_unseen_are_dropped(void)
{
    begin(0);
    start(&outer_key);
    line(&outer_key, 1, 0);
    start(&inner_key);
    line(&inner_key, 2, 10);
    start(&third_key);
    line(&third_key, 3, 20);
    leave(&outer_key, 30); /* an exit of the other two was never told */
    CHECK(account_thread()->top == &account_thread()->bottom);
    leave(&outer_key, 40); /* and this frame was entered unseen */
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
    begin(0);
    start(&outer_key);
    line(&outer_key, 1, 0);
    start(&inner_key);
    line(&inner_key, 2, 10);
    CHECK_LINES(100, {&outer_key, 1, 1, 10, 100}, {&inner_key, 2, 1, 90, 90});
    leave(&inner_key, 100);
    leave(&outer_key, 100);
}

static void an_event_that_comes_back_is_a_delivery_but_no_hit(void)
{
    static const char key;
    struct lines_code *code = add_code(&key, 2);
    struct account_totals totals;
    struct lines_thread *thread = account_thread();
    struct line_cell *cell;
    CHECK_EQ(code->ambiguous[1], 1);
    start(&key);
    cell = account_line(thread, 2, 10);
    CHECK(cell != NULL);
    account_came_back(thread, cell, 1); /* another instruction: counts */
    cell = account_line(thread, 2, 20);
    account_came_back(thread, cell, 2);
    account_came_back(thread, account_line(thread, 2, 30), 1000); /* not of this code */
    leave(&key, 40);
    CHECK_EQ(account_sum(&totals, 50), 0);
    CHECK_EQ(totals.codes[code->id - 1].lines[1].hits, 2);
    CHECK_EQ(totals.codes[code->id - 1].lines[1].raw_hits, 3);
    CHECK_EQ(totals.codes[code->id - 1].lines[1].exclusive, 30);
    account_totals_release(&totals);
}

static void deep_recursion_is_followed(void)
{
    begin(0);
    for (uint64_t depth = 0; depth < 10000; depth++) {
        start(&outer_key);
        line(&outer_key, 9, depth);
    }
    for (uint64_t depth = 0; depth < 10000; depth++)
        leave(&outer_key, 10000);
    CHECK_LINES(20000, {&outer_key, 9, 10000, 10000, 10000});
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
    frames_that_were_left_unseen_are_dropped();
    code_that_was_running_when_it_was_registered_is_counted();
    what_is_running_counts_up_to_now();
    an_event_that_comes_back_is_a_delivery_but_no_hit();
    deep_recursion_is_followed();
    threads_are_added_up_and_their_tables_used_again();
    many_codes_have_tables_of_their_own();
    return 0;
}
