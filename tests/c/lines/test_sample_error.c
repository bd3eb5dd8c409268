/*
 * Tests of lines/sample_error.h: the truth lies within the error as often as it says (one standard
 * deviation: 68 % of all runs), however few samples there are. Programs are made up, and sampled at
 * the periods of the real sampler.
 */
#include "lines/sample_error.h"

#include "check.h"
#include "lines/sample_meter.h"
#include "lines/sample_totals.h"
#include "lines/sample_tally.h"

#define RUNS 500
#define PROMISED 0.6827
#define SAMPLES_PER_PERIOD 64

static struct lines_code hot = {.id = 1, .first_line = 1, .n_lines = 2};
static uint64_t noise = 88172645463325252u;

/* A line runs for `part` ticks in every `cycle`, from a random moment on, until `end`. */
struct program {
    uint64_t cycle, part, phase, end;
};

static uint64_t random_below(uint64_t n)
{
    return meter_random_ns(&noise, 1u << 30) * 2654435761u % n;
}

static bool is_running(const struct program *program, uint64_t at)
{
    return (at + program->phase) % program->cycle < program->part;
}

static uint64_t truth_of(const struct program *program)
{
    uint64_t ran = 0, at = 0;
    while (at < program->end) {
        uint64_t in_cycle = (at + program->phase) % program->cycle;
        uint64_t until = in_cycle < program->part ? program->part : program->cycle;
        uint64_t next = at + until - in_cycle;
        if (next > program->end)
            next = program->end;
        ran += in_cycle < program->part ? next - at : 0;
        at = next;
    }
    return ran;
}

/* As the sampler does it: the same period for a while, then another one. */
static void sample(const struct program *program, struct sample_tally *tally)
{
    struct sample_place line = {.code = &hot, .is_hot = true};
    struct sample_clock nowhere = {0};
    uint64_t last = 0, period = 0, n = 0;
    for (uint64_t at = random_below(1000);; at += period, n++) {
        if (n % SAMPLES_PER_PERIOD == 0)
            period = meter_random_ns(&noise, 1000);
        if (at >= program->end) {
            tally_pass(tally, program->end - last); /* the open gap */
            return;
        }
        line.line = is_running(program, at) ? 0 : 1;
        tally_pass(tally, at - last);
        tally_add(tally, &line, 1, &nowhere, at - last);
        last = at;
    }
}

/* Whether the truth is within the error of a line that ran hot. */
static bool run(const struct program *program)
{
    static struct sample_tally tally;
    struct line_total lines[2] = {{.ran_hot = true}, {.ran_hot = true}};
    struct code_total code = {.code = &hot, .lines = lines, .ran_hot = true};
    struct call_total edges[4] = {{0}};
    struct account_totals totals = {.codes = &code, .n_codes = 1, .edges = edges};
    int64_t truth = (int64_t)truth_of(program), away;
    tally = (struct sample_tally){0};
    sample_tallies = NULL;
    tally_publish(&tally);
    sample(program, &tally);
    sample_add(&totals, sample_count_edges());
    arena_release(&tally.arena);
    CHECK(lines[0].exclusive_error > 0 && lines[0].inclusive_error > 0);
    CHECK(code.exclusive_error > 0 && code.inclusive_error > 0);
    CHECK(lines[0].exclusive_error == lines[0].inclusive_error);
    away = lines[0].exclusive > truth ? lines[0].exclusive - truth : truth - lines[0].exclusive;
    return (uint64_t)away <= lines[0].exclusive_error;
}

/* A line that runs for `ticks` altogether, `share` thousandths of the time. */
static double coverage(uint64_t ticks, uint64_t share, uint64_t cycle)
{
    uint32_t n_within = 0;
    for (int i = 0; i < RUNS; i++) {
        struct program program = {.cycle = cycle, .part = cycle * share / 1000};
        program.end = ticks * 1000 / share;
        program.phase = random_below(cycle);
        n_within += run(&program);
    }
    return (double)n_within / RUNS;
}

static void the_truth_is_within_the_error(void)
{
    static const uint64_t ticks[] = {50, 200, 500, 900, 1200, 2000, 3500, 6000, 12000};
    static const uint64_t shares[] = {900, 500, 100, 20};
    static const uint64_t cycles[] = {37, 770, 26000};
    for (size_t t = 0; t < sizeof ticks / sizeof ticks[0]; t++)
        for (size_t s = 0; s < sizeof shares / sizeof shares[0]; s++)
            for (size_t c = 0; c < sizeof cycles / sizeof cycles[0]; c++)
                CHECK(coverage(ticks[t], shares[s], cycles[c]) >= PROMISED);
}

/* Once, for a few ticks, in a long program: in most runs no sample finds it. */
static void code_that_no_sample_found_has_an_error(void)
{
    struct program program = {.cycle = 1u << 30, .part = 1000, .end = 100000};
    uint32_t n_within = 0;
    for (int i = 0; i < RUNS; i++) {
        program.phase = (1u << 30) - random_below(90000);
        n_within += run(&program);
    }
    CHECK((double)n_within / RUNS >= PROMISED);
}

static void errors_add_up_in_squares(void)
{
    CHECK_EQ(sample_add_error(7, 0, 0), 7);
    CHECK_EQ(sample_add_error(30, 1600, 0), 50);
    CHECK_EQ(sample_add_error(0, 0, 1000), 1866);      /* no sample */
    CHECK_EQ(sample_add_error(0, 1e6, 1000), 2323);    /* one */
    CHECK_EQ(sample_add_error(0, 1e10, 1000), 101004); /* 10,000 */
}

int main(void)
{
    errors_add_up_in_squares();
    the_truth_is_within_the_error();
    code_that_no_sample_found_has_an_error();
    return 0;
}
