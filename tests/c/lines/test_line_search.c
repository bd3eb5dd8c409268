/* What the interpreter's searches for lines cost, and that it is in nobody's time. */
#include "lines/line_search.h"

#include "check.h"

/* Three lines: 10 is near, 11 is far, and so is 12, in two pieces around line 11. */
static const int32_t line_of_unit[] = {10, 10, 12, 11, 11, 12, 0};
static const uint32_t costs[] = {
    0, 0, 30 << PROBE_SHIFT, 40 << PROBE_SHIFT, 50 << PROBE_SHIFT, 60 << PROBE_SHIFT, 0};

#define N_LINES 3
#define N_UNITS (sizeof costs / sizeof costs[0])

static struct arena arena;
static struct lines_code code, other = {.id = 2, .n_lines = 1};
static struct line_cell cells[N_LINES], nowhere;
static struct code_table table = {.code = &code, .cells = cells};
static struct code_table *tables[] = {NULL, &table};
static struct lines_thread thread;
static struct lines_frame frame = {.first_line = 10, .cells = cells, .table = &table};

static void start(void)
{
    code = (struct lines_code){.id = 1,
                               .first_line = 10,
                               .n_lines = N_LINES,
                               .n_units = N_UNITS,
                               .line_of_unit = line_of_unit};
    probe_ns_scale = 1u << NS_SCALE_SHIFT; /* a tick is one ns */
    code.search = line_search_make(&arena, &code, costs);
    CHECK(code.search != NULL);
    table.searched = 0;
    frame.start = 0;
    frame.line = &nowhere;
    thread = (struct lines_thread){.top = &frame, .tables = tables, .n_tables = 2};
    lines_threads = &thread;
}

/* The ticks that an event at a unit cost, after one on another line. */
static uint64_t cost_after(uint32_t line, uint32_t unit, bool line_alone)
{
    uint64_t before = thread.debt;
    frame.start = 1;
    frame.line = &cells[line - 10];
    (void)line_search_charge(&thread, unit, line_alone);
    return (thread.debt - before) >> PROBE_SHIFT;
}

static void lines_that_are_far_are_known(void)
{
    start();
    CHECK_EQ(code.search->first_line, 1);
    CHECK(!line_search_has(&code, 0));
    CHECK(line_search_has(&code, 1) && line_search_has(&code, 2));
    CHECK(!line_search_has(&other, 0));
}

static void both_lines_are_searched(void)
{
    start();
    CHECK_EQ(cost_after(10, 2, false), 30);      /* where it came from is near */
    CHECK_EQ(cost_after(12, 3, false), 40 + 30); /* from the unit right before */
    CHECK_EQ(cost_after(11, 5, false), 60 + 50);
    CHECK_EQ(cost_after(12, 0, false), 60); /* jumped from the end of that line */
    CHECK_EQ(cost_after(12, 3, true), 40);
    CHECK_EQ(cost_after(10, 1, false), 0);
    CHECK_EQ(cost_after(10, N_UNITS, false), 0);
    CHECK_EQ(table.searched >> PROBE_SHIFT, 30 + 70 + 110 + 60 + 40);
}

static void the_first_line_has_none_before(void)
{
    start();
    (void)line_search_charge(&thread, 3, false);
    CHECK_EQ(thread.debt >> PROBE_SHIFT, 40);
}

static void dear_code_is_due(void)
{
    uint64_t n = 0;
    start();
    CHECK(!line_search_was_dear(&code) && !line_search_was_dear(&other));
    for (; !line_search_is_due(&table) && n < 1000000; n++)
        (void)cost_after(11, 5, false);
    CHECK_EQ(n, 500000 / 110 + 1);
    CHECK(line_search_was_dear(&code));
    line_search_put_off(&code);
    CHECK(!line_search_was_dear(&code));
    for (; !line_search_is_due(&table) && n < 1000000; n++)
        (void)cost_after(11, 5, false);
    CHECK_EQ(n, 2 * (500000 / 110 + 1));
}

static void the_scale_follows_what_is_seen(void)
{
    uint32_t n_looks = 0;
    uint64_t debt;
    start();
    for (int i = 0; i < 1600; i++) {
        frame.start = 0;
        if (!line_search_charge(&thread, 5, false))
            continue;
        n_looks++;
        debt = thread.debt;
        line_search_adjust(&thread, 5, 120); /* everything takes twice as long as at first */
        CHECK_EQ((thread.debt - debt) >> PROBE_SHIFT, 120); /* and that is nobody's time */
    }
    CHECK_EQ(n_looks, 100);
    CHECK(cost_after(10, 5, false) >= 119 && cost_after(10, 5, false) <= 121);
    line_search_adjust(&thread, 5, 1000000); /* it was interrupted */
    CHECK(cost_after(10, 5, false) <= 128);
}

static void errors_grow_with_searches(void)
{
    start();
    CHECK_EQ(line_search_error_ticks(&code, 0, 1000), 0);
    CHECK(line_search_error_ticks(&code, 1, 1000) > 0);
    CHECK(line_search_error_ticks(&code, 2, 1000) > line_search_error_ticks(&code, 1, 1000));
    CHECK(line_search_error_ticks(&code, 1, 2000) > line_search_error_ticks(&code, 1, 1000));
    CHECK_EQ(line_search_error_ticks(&other, 0, 1000), 0);
}

int main(void)
{
    lines_that_are_far_are_known();
    both_lines_are_searched();
    the_first_line_has_none_before();
    dear_code_is_due();
    the_scale_follows_what_is_seen();
    errors_grow_with_searches();
    return 0;
}
