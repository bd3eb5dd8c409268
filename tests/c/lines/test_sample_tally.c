#include "lines/sample_tally.h"

#include "base/arena.h"
#include "check.h"

#include <string.h>

/* Code objects of 20 lines, from line 100 on. */
static const struct lines_code hot = {.id = 1, .first_line = 100, .n_lines = 20};
static const struct lines_code other = {.id = 2, .first_line = 100, .n_lines = 20};
static const struct lines_code cold = {.id = 700, .first_line = 100, .n_lines = 20};
static const struct sample_clock nowhere;

static struct sample_place at(const struct lines_code *code, uint32_t line)
{
    return (struct sample_place){.code = code, .line = line, .is_hot = code != &cold};
}

static const struct sample_line *line_of(const struct sample_tally *tally,
                                         const struct lines_code *code, uint32_t line)
{
    static const struct sample_line none;
    if (code->id >= tally->n_tables || tally->tables[code->id] == NULL)
        return &none;
    return &tally->tables[code->id]->lines[line];
}

static struct sample_edge edge_between(const struct sample_tally *tally, uint32_t caller,
                                       uint32_t line, uint32_t callee)
{
    for (uint32_t i = 0; i < tally->n_edge_slots; i++) {
        const struct sample_edge *edge = &tally->edges[i];
        if (edge->callee == callee && edge->caller == caller && edge->line == line)
            return *edge;
    }
    return (struct sample_edge){0};
}

static void the_innermost_line_is_charged_alone_and_all_others_inclusively(void)
{
    struct sample_tally tally = {0};
    struct sample_place places[] = {at(&hot, 3), at(&other, 5), at(&hot, 7)};
    tally_add(&tally, places, 3, &nowhere, 10);
    tally_add(&tally, places, 3, &nowhere, 20);
    CHECK_EQ(tally.samples, 2);
    CHECK_EQ(line_of(&tally, &hot, 3)->exclusive, 30);
    CHECK_EQ(line_of(&tally, &hot, 3)->samples, 2);
    CHECK_EQ((long long)line_of(&tally, &hot, 3)->exclusive_squares, 500);
    CHECK_EQ(line_of(&tally, &other, 5)->exclusive, 0);
    CHECK_EQ(line_of(&tally, &hot, 3)->inclusive, 30);
    CHECK_EQ(line_of(&tally, &other, 5)->inclusive, 30);
    CHECK_EQ(line_of(&tally, &hot, 7)->inclusive, 30);
    CHECK_EQ((long long)line_of(&tally, &hot, 7)->inclusive_squares, 500);
    CHECK_EQ(tally.tables[hot.id]->inclusive, 30); /* once, though it is on the stack twice */
    CHECK_EQ(tally.tables[hot.id]->samples, 2);
    arena_release(&tally.arena);
}

static void recursion_counts_once(void)
{
    struct sample_tally tally = {0};
    struct sample_place places[50];
    for (int i = 0; i < 50; i++)
        places[i] = at(&hot, i == 0 ? 1 : 2);
    tally_add(&tally, places, 50, &nowhere, 8);
    CHECK_EQ(line_of(&tally, &hot, 1)->inclusive, 8);
    CHECK_EQ(line_of(&tally, &hot, 2)->inclusive, 8);
    CHECK_EQ(line_of(&tally, &hot, 2)->exclusive, 0);
    CHECK_EQ(edge_between(&tally, hot.id, 102, hot.id).inclusive, 8);
    CHECK_EQ(edge_between(&tally, hot.id, 102, hot.id).exclusive, 8);
    CHECK_EQ(edge_between(&tally, 0, 0, hot.id).inclusive, 8); /* the outermost call */
    CHECK_EQ(edge_between(&tally, 0, 0, hot.id).exclusive, 0);
    CHECK_EQ(tally.n_edges, 2);
    arena_release(&tally.arena);
}

static void a_cold_frame_takes_its_own_time(void)
{
    struct sample_tally tally = {0};
    struct sample_place above[] = {at(&cold, 4), at(&hot, 6)};
    struct sample_place below[] = {at(&hot, 6), at(&cold, 4)};
    struct sample_clock clock = {at(&cold, 4), at(&other, 9)};
    tally_add(&tally, above, 2, &clock, 5);
    CHECK_EQ(line_of(&tally, &cold, 4)->exclusive, 0);
    CHECK_EQ(line_of(&tally, &cold, 4)->inclusive, 0);
    CHECK_EQ(line_of(&tally, &cold, 4)->covered, 0); /* its clock is right to count this */
    CHECK_EQ(line_of(&tally, &hot, 6)->inclusive, 5);
    CHECK_EQ(line_of(&tally, &hot, 6)->exclusive, 0);
    tally_add(&tally, below, 2, &clock, 7);
    CHECK_EQ(line_of(&tally, &cold, 4)->covered, 7);
    CHECK_EQ(line_of(&tally, &hot, 6)->exclusive, 7);
    CHECK_EQ(edge_between(&tally, cold.id, 104, hot.id).inclusive, 7);
    CHECK_EQ(edge_between(&tally, other.id, 109, cold.id).covered, 7);
    CHECK_EQ(edge_between(&tally, other.id, 109, cold.id).inclusive, 0);
    tally_discard(&tally, below, 2, &clock, 3);
    tally_discard(&tally, above, 2, &clock, 2); /* an event of its own */
    CHECK_EQ(line_of(&tally, &cold, 4)->covered_lost, 3);
    CHECK(line_of(&tally, &cold, 4)->covered_squares == 7 * 7);
    CHECK(line_of(&tally, &cold, 4)->covered_lost_squares == 3 * 3);
    CHECK_EQ(edge_between(&tally, other.id, 109, cold.id).covered, 7);
    arena_release(&tally.arena);
}

static void stacks_without_hot_code_are_elsewhere(void)
{
    struct sample_tally tally = {0};
    struct sample_place places[] = {at(&cold, 4), at(&cold, 6)};
    tally_add(&tally, places, 2, &nowhere, 5);
    tally_add(&tally, places, 0, &nowhere, 5);
    tally_discard(&tally, places, 2, &nowhere, 9);
    CHECK_EQ(tally.samples, 0);
    CHECK_EQ(tally.discarded, 0);
    CHECK_EQ(tally.elsewhere, 3);
    CHECK_EQ(tally.n_tables, 0);
}

static void instrumentation_is_counted_and_no_more(void)
{
    struct sample_tally tally = {0};
    struct sample_place places[] = {at(&hot, 4), at(&other, 6), at(&other, 6)};
    tally_discard(&tally, places, 3, &nowhere, 9);
    CHECK_EQ(tally.discarded, 1);
    CHECK_EQ(line_of(&tally, &hot, 4)->lost, 9);
    CHECK_EQ(line_of(&tally, &hot, 4)->lost_inclusive, 9);
    CHECK_EQ(line_of(&tally, &other, 6)->lost, 0);
    CHECK_EQ(line_of(&tally, &other, 6)->lost_inclusive, 9);
    CHECK_EQ(tally.samples, 0);
    CHECK_EQ(line_of(&tally, &hot, 4)->discarded, 1);
    CHECK_EQ(line_of(&tally, &hot, 4)->inclusive, 0);
    CHECK_EQ(line_of(&tally, &other, 6)->inclusive, 0);
    arena_release(&tally.arena);
}

/* What events cost inside the loop leaves all sums of a sample alike, and never the whole of it. */
static void costs_inside_the_loop_leave_every_sum_alike(void)
{
    struct sample_tally tally = {0};
    struct sample_place places[] = {at(&hot, 4), at(&other, 6), at(&cold, 2)};
    struct sample_clock clock = {at(&cold, 2), at(&other, 9)};
    tally_discard(&tally, places, 3, &clock, 2000); /* 200 inside */
    tally_add(&tally, &places[1], 2, &clock, 100);  /* another line: none of them */
    tally_add(&tally, places, 3, &clock, 300);      /* 150 */
    tally_add(&tally, places, 3, &clock, 300);      /* 50 */
    tally_add(&tally, places, 3, &clock, 300);
    CHECK_EQ(line_of(&tally, &hot, 4)->exclusive, 700);
    CHECK_EQ(line_of(&tally, &hot, 4)->inclusive, 700);
    CHECK_EQ(line_of(&tally, &other, 6)->exclusive, 100);
    CHECK_EQ(line_of(&tally, &other, 6)->inclusive, 800);
    CHECK_EQ(tally.tables[hot.id]->inclusive, 700);
    CHECK_EQ(tally.tables[other.id]->inclusive, 800);
    CHECK_EQ(line_of(&tally, &cold, 2)->covered, 800);
    CHECK_EQ(edge_between(&tally, other.id, 106, hot.id).inclusive, 700);
    CHECK_EQ(edge_between(&tally, other.id, 106, hot.id).exclusive, 700);
    CHECK_EQ(edge_between(&tally, cold.id, 102, other.id).inclusive, 800);
    CHECK_EQ(edge_between(&tally, other.id, 109, cold.id).covered, 800);
    arena_release(&tally.arena);
}

static void many_edges_and_codes_are_kept(void)
{
    static struct lines_code codes[300];
    struct sample_tally tally = {0};
    uint64_t sum = 0;
    for (uint32_t i = 0; i < 300; i++)
        codes[i] = (struct lines_code){.id = i + 1, .first_line = 1, .n_lines = 3};
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < 300; i++) {
            struct sample_place places[] = {{&codes[i], i % 3, true}, {&codes[i / 2], 2, true}};
            tally_add(&tally, places, 2, &nowhere, i + 1);
        }
    for (uint32_t i = 0; i < 300; i++) {
        CHECK_EQ(edge_between(&tally, i / 2 + 1, 3, i + 1).exclusive, 2 * (i + 1));
        CHECK_EQ(line_of(&tally, &codes[i], i % 3)->exclusive, 2 * (i + 1));
        sum += line_of(&tally, &codes[i], i % 3)->exclusive;
    }
    CHECK_EQ(sum, 300 * 301);
    arena_release(&tally.arena);
}

static void published_tallies_are_all_found(void)
{
    static struct sample_tally tallies[3];
    int n = 0;
    for (int i = 0; i < 3; i++)
        tally_publish(&tallies[i]);
    for (struct sample_tally *tally = sample_tallies; tally != NULL; tally = tally->next)
        n++;
    CHECK_EQ(n, 3);
}

int main(void)
{
    the_innermost_line_is_charged_alone_and_all_others_inclusively();
    recursion_counts_once();
    a_cold_frame_takes_its_own_time();
    stacks_without_hot_code_are_elsewhere();
    instrumentation_is_counted_and_no_more();
    costs_inside_the_loop_leave_every_sum_alike();
    many_edges_and_codes_are_kept();
    published_tallies_are_all_found();
    return 0;
}
