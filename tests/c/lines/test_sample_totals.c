#include "lines/sample_totals.h"

#include "check.h"
#include "lines/regime.h"
#include "lines/sample_tally.h"

static struct hot_code hot;
static struct lines_code codes[] = {
    {.id = 1, .first_line = 10, .n_lines = 5, .hot = &hot}, /* hot */
    {.id = 2, .first_line = 20, .n_lines = 5},              /* cold, calls it */
    {.id = 3, .first_line = 30, .n_lines = 5, .hot = &hot}, /* hot, calls it too */
};
static struct line_total lines[3][5];
static struct code_total code_totals[3];
static struct call_total edges[20];

static struct sample_place at(uint32_t id, uint32_t line)
{
    return (struct sample_place){.code = &codes[id - 1], .line = line, .is_hot = id != 2};
}

static const struct call_total *edge_of(const struct account_totals *totals, uint32_t caller,
                                        uint32_t line, uint32_t callee)
{
    for (uint32_t i = totals->n_edges; i-- > 0;) /* what was sampled is behind what was seen */
        if (totals->edges[i].caller == caller && totals->edges[i].line == line &&
            totals->edges[i].callee == callee)
            return &totals->edges[i];
    CHECK(false);
    return NULL;
}

static uint64_t calls_of(const struct account_totals *totals, uint32_t caller, uint32_t line)
{
    return edge_of(totals, caller, line, 1)->calls;
}

/* Where no sample saw who calls, those count that the clock saw; else nobody knows. */
static void calls_are_given_away_without_samples_too(void)
{
    struct account_totals totals = {
        .codes = code_totals, .n_codes = 1, .edges = edges, .n_edges = 2};
    code_totals[0] = (struct code_total){.code = &codes[0], .lines = lines[0], .calls = 48};
    edges[0] = (struct call_total){.caller = 2, .line = 21, .callee = 1, .calls = 3};
    edges[1] = (struct call_total){.caller = 2, .line = 22, .callee = 1, .calls = 9};
    sample_add(&totals, 0);
    CHECK_EQ(totals.n_edges, 2);
    CHECK_EQ(calls_of(&totals, 2, 21), 12);
    CHECK_EQ(calls_of(&totals, 2, 22), 36);

    totals.n_edges = 0;
    sample_add(&totals, 0);
    CHECK_EQ(totals.n_edges, 1);
    CHECK_EQ(calls_of(&totals, 0, 0), 48);
}

int main(void)
{
    static struct sample_tally one, two;
    struct account_totals totals = {
        .codes = code_totals, .n_codes = 3, .edges = edges, .n_edges = 1};
    struct sample_place from_cold[] = {at(1, 2), at(2, 3)}, from_hot[] = {at(1, 4), at(3, 1)};
    struct sample_clock clock = {.line = at(2, 3)}, nowhere = {0};
    uint32_t n;

    calls_are_given_away_without_samples_too();
    memset(edges, 0, sizeof edges);
    for (int i = 0; i < 3; i++)
        code_totals[i] = (struct code_total){.code = &codes[i], .lines = lines[i]};
    /* Before it turned hot, code 1 was called ten times from the cold line; then 40 times more. */
    edges[0] = (struct call_total){.caller = 2, .line = 23, .callee = 1, .calls = 10};
    code_totals[0].calls = 50;
    code_totals[1].exclusive = lines[1][3].exclusive =
        1000; /* by a clock that ran through it all */
    lines[0][2] = (struct line_total){.exclusive = 70, .inclusive = 80, .exclusive_error = 30};

    tally_publish(&one);
    tally_publish(&two);
    tally_discard(&one, from_cold, 2, &clock, 100); /* and 10 more inside the evaluation loop */
    tally_discard(&two, from_hot, 2, &nowhere, 50); /* 5 */
    tally_add(&one, from_cold, 2, &clock, 300);
    tally_add(&two, from_cold, 2, &clock, 400);
    tally_add(&two, from_hot, 2, &nowhere, 100);
    n = sample_count_edges();
    CHECK(n <= 19);
    sample_add(&totals, n);

    CHECK_EQ(lines[0][2].exclusive, 760); /* both regimes, both tallies, less 10 in the loop */
    CHECK_EQ(lines[0][2].inclusive, 770);
    CHECK_EQ(lines[0][2].samples, 2);
    CHECK_EQ(lines[0][2].exclusive_error, 495); /* of 30, 290 and 400 */
    CHECK_EQ(lines[1][3].exclusive, 310);       /* what its clock counted of code 1 is taken out */
    CHECK_EQ(code_totals[1].exclusive, 310);
    CHECK_EQ(lines[1][3].exclusive_error, 504); /* of 290, 400 and 100 */
    CHECK_EQ(lines[2][1].inclusive, 95);
    CHECK_EQ(lines[2][1].exclusive, 0);
    CHECK_EQ(code_totals[0].samples, 3);
    CHECK_EQ(code_totals[0].discarded, 2);
    CHECK_EQ(code_totals[0].inclusive, 785);
    CHECK_EQ(code_totals[0].exclusive, 785);
    CHECK_EQ(lines[0][4].exclusive, 95);

    uint64_t calls = 0;
    int64_t inclusive = 0, covered = 0;
    for (uint32_t i = 0; i < totals.n_edges; i++) {
        calls += edges[i].callee == 1 ? edges[i].calls : 0;
        inclusive += edges[i].callee == 1 ? edges[i].inclusive : 0;
        covered -= edges[i].callee == 2 ? edges[i].exclusive : 0;
    }
    CHECK_EQ(calls, 50);
    CHECK_EQ(inclusive, 785); /* as much as all of code 1 */
    CHECK_EQ(covered, 690);
    CHECK_EQ(edge_of(&totals, 3, 31, 1)->calls, 5); /* an eighth of the 40 */
    return 0;
}
