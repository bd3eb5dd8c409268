/* When busy code stays with the clock. */
#include "lines/slow_code.h"

#include "check.h"
#include "format/record.h" /* enum line_regime */
#include "lines/account.h"
#include "lines/sample_tally.h"

#define N_LINES 2
#define COST 100u /* of an event, in ticks of one ns */

static struct lines_code code, other;
static struct line_cell cells[N_LINES], nowhere;
static struct code_table table = {.code = &code, .cells = cells}, other_table = {.code = &other};
static struct code_table *tables[3];
static struct lines_thread thread;
static struct call_edge called = {.caller = &nowhere, .callee = &table};
static struct call_edge calls = {.caller_table = &table, .callee = &other_table};

static void start(void)
{
    code = (struct lines_code){.id = 1, .n_lines = N_LINES};
    other = (struct lines_code){.id = 2, .regime = REGIME_HOT};
    tables[1] = &table;
    thread = (struct lines_thread){.tables = tables, .n_tables = 3, .edges = &called};
    lines_threads = &thread;
    probe_ns_scale = 1u << NS_SCALE_SHIFT;
    probe_costs[PROBE_LINE].whole = COST << PROBE_SHIFT;
    probe_costs[PROBE_START].whole = probe_costs[PROBE_LEAVE].whole = COST << PROBE_SHIFT;
    called.calls = 0;
    for (int i = 0; i < N_LINES; i++)
        cells[i] = (struct line_cell){0};
}

/* So many hits of a line, of so many ticks each, of which a part is the line's own. */
static void hit(int line, uint64_t n, int64_t ticks, int64_t own)
{
    cells[line].deliveries += n;
    cells[line].inclusive += (int64_t)n * ticks;
    cells[line].exclusive += (int64_t)n * own;
    cells[line].histogram[account_bucket((uint64_t)ticks)] += n;
}

static void slow_lines_stay(void)
{
    start();
    hit(0, 2000, 5000, 5000);
    CHECK(slow_code_suits_clock(&code));
    start();
    hit(0, 2000, 2000, 2000);
    CHECK(!slow_code_suits_clock(&code));
    start(); /* a slow line among quick ones */
    hit(0, 1000, 10000, 10000);
    hit(1, 1000, 50, 50);
    CHECK(slow_code_suits_clock(&code));
    start(); /* which are too many */
    hit(0, 100, 10000, 10000);
    hit(1, 2000, 50, 50);
    CHECK(!slow_code_suits_clock(&code));
}

/* Only what came since the last time says how the code is now. */
static void quick_after_slow(void)
{
    start();
    hit(0, 100000, 20000, 20000);
    CHECK(slow_code_suits_clock(&code));
    hit(0, 3000, 100, 100);
    CHECK(!slow_code_suits_clock(&code));
    hit(0, 3000, 20000, 20000);
    CHECK(slow_code_suits_clock(&code));
}

/* A forked child has nothing of what its parent counted. */
static void a_child_looks_anew(void)
{
    start();
    hit(0, 100000, 20000, 20000);
    CHECK(slow_code_suits_clock(&code));
    cells[0] = (struct line_cell){0};
    hit(0, 3000, 20000, 20000);
    CHECK(slow_code_suits_clock(&code));
}

/* A wait for the GIL, of 5 ms, now and then: that makes no line a slow one. */
static void waits_make_nothing_slow(void)
{
    start();
    hit(0, 50000, 50, 50);
    hit(0, 100, 5000000, 5000000);
    CHECK(!slow_code_suits_clock(&code));
}

static void calls_cost_too(void)
{
    start();
    hit(0, 2000, 5000, 5000);
    called.calls = 2000;
    CHECK(!slow_code_suits_clock(&code));
}

/* What takes long is what the lines call: their clock and that of the callee are the same. */
static void callers_stay_with_their_callees(void)
{
    start();
    hit(0, 2000, 50000, 60);
    called.next = &calls;
    calls.calls = 2000;
    calls.inclusive = 2000 * 49940;
    other.regime = REGIME_COLD;
    CHECK(slow_code_suits_clock(&code));
    start(); /* but not because of long waits now and then */
    other.regime = REGIME_COLD;
    hit(0, 2000, 50000, 60);
    calls.calls = 2;
    CHECK(!slow_code_suits_clock(&code));
    start(); /* nor is the time of recursion counted twice */
    hit(0, 2000, 50000, 60);
    called.next = NULL;
    CHECK(!slow_code_suits_clock(&code));
}

static void callers_of_hot_code_are_not_slow(void)
{
    static struct sample_tally tally;
    const struct sample_place hot = {.code = &other, .is_hot = true};
    const struct sample_clock clock = {.line = {.code = &code}};
    start();
    hit(0, 2000, 5000, 5000);
    called.next = &calls;
    CHECK(!slow_code_suits_clock(&code));
    start();
    other.regime = REGIME_COLD;
    hit(0, 2000, 5000, 5000);
    CHECK(slow_code_suits_clock(&code));
    called.next = NULL;

    start(); /* or samples say so */
    other.n_lines = 1;
    hit(0, 2000, 5000, 5000);
    tally_publish(&tally);
    tally_add(&tally, &hot, 1, &clock, 1000);
    CHECK(!slow_code_suits_clock(&code));
}

int main(void)
{
    slow_lines_stay();
    quick_after_slow();
    a_child_looks_anew();
    waits_make_nothing_slow();
    calls_cost_too();
    callers_stay_with_their_callees();
    callers_of_hot_code_are_not_slow();
    return 0;
}
