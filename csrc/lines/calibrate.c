/* calibrate.c - see calibrate.h. */
#include "lines/calibrate.h"

#include "base/bytes.h"
#include "base/ticks.h"
#include "lines/account.h"

#define CHECK_INTERVAL_NS 20e6
#define WORK_EVENTS 32
/* The best of a few tries is free of interruptions. */
#define WORK_TRIES 3
#define WORK_TRIES_AT_FIRST 20
/* Slownesses that differ less than this are the same: looking is not that exact. */
#define SAME_SPEED 0.1
#define SLOWEST 8.0

static struct calibration base;
static double work_ticks; /* of the known work at the speed of the calibration; 0 = not in use */
static double slowness;   /* now */
static double slowest, fastest;

/* ---- the known work: events of a thread, code and frame that are only made up -------------- */

static struct line_cell work_cells[2];
static struct call_edge work_edge;
static struct code_table work_table = {.cells = work_cells};
static struct lines_thread work_thread;
static struct lines_frame work_frame = {
    .cells = work_cells,
    .first_line = 1,
    .n_plain = 2,
    .table = &work_table,
    .edge = &work_edge,
    .line = work_cells,
    .start = 1,
};

static NOINLINE void work_event(int32_t line)
{
    if (account_line_plain(&work_thread, line, ticks_now()) == 0)
        COMPILER_BARRIER();
}

static double do_known_work(int n_tries)
{
    uint64_t best = UINT64_MAX;
    work_thread.top = &work_frame;
    for (int i = 0; i < n_tries; i++) {
        uint64_t start = ticks_now(), taken;
        for (int k = 0; k < WORK_EVENTS; k++)
            work_event(1 + (k & 1));
        taken = ticks_now() - start;
        if (taken < best)
            best = taken;
    }
    return (double)best;
}

/* ---- costs --------------------------------------------------------------------------------- */

static uint32_t fixed_point(double ticks)
{
    double value = ticks * (1 << PROBE_SHIFT);
    return value < 0 ? 0 : value > UINT32_MAX ? UINT32_MAX : (uint32_t)(value + 0.5);
}

void calibrate_scale(double factor)
{
    slowness = factor;
    for (int i = 0; i < PROBE_KINDS; i++) {
        const struct probe_measurement *kind = &base.kinds[i];
        probe_costs[i] = (struct probe_cost){.before = fixed_point(kind->before * factor),
                                             .whole = fixed_point(kind->whole * factor)};
        probe_spreads[i] = fixed_point(kind->spread * factor);
    }
    if (factor > slowest)
        slowest = factor;
    if (factor < fastest)
        fastest = factor;
}

static void plan_next_check(void)
{
    probe_check_at = ticks_now() + (uint64_t)(CHECK_INTERVAL_NS / base.ns_per_tick);
}

void calibrate_use(const struct calibration *measured)
{
    base = *measured;
    slowest = fastest = 1;
    probe_ns_scale = (uint64_t)(base.ns_per_tick * (1 << NS_SCALE_SHIFT) + 0.5);
    probe_overlap = base.overlap;
    calibrate_scale(1);
    work_ticks = do_known_work(WORK_TRIES_AT_FIRST);
    plan_next_check();
}

uint64_t calibrate_check(uint64_t *debt)
{
    uint64_t start = ticks_now(), taken;
    double factor;
    probe_check_at = UINT64_MAX; /* for the other threads */
    factor = do_known_work(WORK_TRIES) / work_ticks;
    if (factor > SLOWEST)
        factor = SLOWEST;
    if (factor < slowness * (1 - SAME_SPEED) || factor > slowness * (1 + SAME_SPEED))
        calibrate_scale(factor);
    plan_next_check();
    taken = ticks_now() - start;
    *debt += taken << PROBE_SHIFT;
    return taken;
}

/* ---- description --------------------------------------------------------------------------- */

static void put_text(struct put *to, const char *text)
{
    put_bytes(to, text, strlen(text));
}

/* One decimal place. */
static void put_tenths(struct put *to, double value)
{
    uint64_t tenths = value < 0 ? 0 : (uint64_t)(value * 10 + 0.5);
    char digits[24];
    size_t n = sizeof digits;
    digits[--n] = (char)('0' + tenths % 10);
    digits[--n] = '.';
    tenths /= 10;
    do {
        digits[--n] = (char)('0' + tenths % 10);
        tenths /= 10;
    } while (tenths != 0);
    put_bytes(to, digits + n, sizeof digits - n);
}

size_t calibrate_describe(char *text, size_t room)
{
    static const char *const names[PROBE_KINDS] = {
        "line",  "global", "loop",  "line, large", "global, large", "loop, large",
        "start", "leave",  "yield", "resume",      "instruction",   "instruction, large"};
    struct put to = put_over(text, room);
    if (work_ticks == 0)
        return 0;
    put_text(&to, "{\"ns\": {");
    for (int i = 0; i < PROBE_KINDS; i++) {
        put_text(&to, i == 0 ? "\"" : ", \"");
        put_text(&to, names[i]);
        put_text(&to, "\": ");
        put_tenths(&to, base.kinds[i].whole * base.ns_per_tick);
    }
    put_text(&to, "}, \"spread\": ");
    put_tenths(&to, base.kinds[PROBE_LINE].spread * base.ns_per_tick);
    put_text(&to, ", \"light\": ");
    put_tenths(&to, base.overlap.extra * base.ns_per_tick);
    put_text(&to, ", \"slowness\": [");
    put_tenths(&to, fastest);
    put_text(&to, ", ");
    put_tenths(&to, slowest);
    put_text(&to, "]}");
    return to.bad ? 0 : (size_t)((char *)to.p - text);
}
