#include "lines/statements.h"

#include "check.h"

#include <stdlib.h>

/* Instructions in the words of the analysis; the effects on the stack do not matter here. */
#define NEXT(line_) {.line = line_, .flow = FLOW_NEXT}
#define BRANCH(line_, target_) {.line = line_, .target = target_, .flow = FLOW_BRANCH}
#define JUMP(line_, target_) {.line = line_, .target = target_, .flow = FLOW_JUMP}
#define END(line_) {.line = line_, .flow = FLOW_END}
#define RESUME(line_)   \
    {.line = line_,     \
     .flow = FLOW_NEXT, \
     .enters = true,    \
     .resumes = true,   \
     .silent = true,    \
     .uncounted = true}
#define SILENT(line_) {.line = line_, .flow = FLOW_NEXT, .silent = true, .uncounted = true}

#define MAX_INSTRS 32

/* How often each instruction began, and how often an exception left it. */
struct counts {
    int began[MAX_INSTRS];
    int raised[MAX_INSTRS];
};

static uint8_t no_bits[MAX_INSTRS / 8];
static const struct hit_rules no_rules = {.skip = no_bits};

/* The hits of a line, or -1 when the code has no terms. */
static int hits(struct instr *instrs, uint32_t n, const struct instr_guard *guards,
                uint32_t n_guards, const struct hit_rules *rules, const struct counts *counts,
                int32_t line)
{
    struct instr_list list = {
        .instrs = instrs, .n_instrs = n, .guards = guards, .n_guards = n_guards, .n_units = n};
    struct hit_term *terms;
    int total = 0, n_terms;
    CHECK(n <= MAX_INSTRS);
    for (uint32_t i = 0; i < n; i++)
        instrs[i].unit = i;
    n_terms = statements_find_terms(&list, rules, &terms);
    for (int t = 0; t < n_terms; t++) {
        uint32_t at = terms[t].instr;
        CHECK(at < n && !instrs[at].uncounted && terms[t].coefficient != 0);
        if (terms[t].line == line)
            total += terms[t].coefficient *
                     (counts->began[at] - (terms[t].completed ? counts->raised[at] : 0));
    }
    free(terms);
    return n_terms < 0 ? -1 : total;
}

#define HITS(instrs_, counts_, line_) \
    hits(instrs_, sizeof(instrs_) / sizeof(instrs_)[0], NULL, 0, &no_rules, counts_, line_)

static void a_statement_is_hit_when_it_begins(void)
{
    struct instr code[] = {RESUME(1), NEXT(2), NEXT(2), NEXT(3), END(3)};
    struct counts counts = {.began = {0, 5, 4, 3, 2}, .raised = {0, 1, 1, 1, 0}};
    CHECK_EQ(HITS(code, &counts, 2), 5);
    CHECK_EQ(HITS(code, &counts, 3), 3);
    CHECK_EQ(HITS(code, &counts, 1), 0); /* RESUME has no event */
}

static void a_function_on_one_line_is_hit_behind_its_resume(void)
{
    struct instr code[] = {RESUME(1), NEXT(1), END(1)};
    struct counts counts = {.began = {0, 7, 7}};
    CHECK_EQ(HITS(code, &counts, 1), 7);
}

static void what_is_skipped_has_no_terms(void)
{
    struct instr code[] = {RESUME(1), NEXT(2), NEXT(3), NEXT(2), END(2)};
    struct counts counts = {.began = {0, 4, 4, 4, 4}};
    uint8_t skip[MAX_INSTRS / 8] = {1u << 3};
    struct hit_credit credit = {.unit = 3, .line = 9};
    struct hit_rules rules = {.skip = skip, .credits = &credit, .n_credits = 1};
    CHECK_EQ(hits(code, 5, NULL, 0, &rules, &counts, 2), 4);
    CHECK_EQ(hits(code, 5, NULL, 0, &rules, &counts, 9), 4); /* a hit of another line */
    CHECK_EQ(hits(code, 5, NULL, 0, &no_rules, &counts, 2), 8);
}

static void a_loop_is_hit_once_an_entry_and_once_an_iteration(void)
{
    struct instr loop[] = {
        RESUME(1),    NEXT(2),    NEXT(2),   /* what is iterated over, and its iterator */
        BRANCH(2, 6),                        /* fetches an item; */
        NEXT(3),      JUMP(3, 3), SILENT(2), /* at the end it jumps over what drops the iterator */
        NEXT(4),      END(4),
    };
    /* Three entries, one fails to make an iterator; 10 + 2 fetches, 10 items. */
    struct counts counts = {.began = {0, 3, 3, 12, 10, 10, 0, 2, 2}, .raised = {0, 0, 1}};
    CHECK_EQ(HITS(loop, &counts, 2), 3 + 10);
    CHECK_EQ(HITS(loop, &counts, 3), 10);
    CHECK_EQ(HITS(loop, &counts, 4), 2);
}

static void a_loop_on_one_line_is_hit_once_an_entry(void)
{
    struct instr loop[] = {
        RESUME(1), NEXT(2), BRANCH(2, 5), NEXT(2), JUMP(2, 2), SILENT(2), NEXT(3), END(3),
    };
    struct counts counts = {.began = {0, 3, 33, 30, 30, 0, 3, 3}};
    CHECK_EQ(HITS(loop, &counts, 2), 3);
    CHECK_EQ(HITS(loop, &counts, 3), 3);
}

static void the_way_of_a_branch_follows_from_its_other_way(void)
{
    /* An arm on the line of the test meets an arm on another line. */
    struct instr code[] = {
        RESUME(1), NEXT(2), BRANCH(2, 4), JUMP(3, 4), NEXT(2), END(2),
    };
    struct counts counts = {.began = {0, 10, 10, 4, 9, 9}, .raised = {0, 0, 1}};
    CHECK_EQ(HITS(code, &counts, 2), 10 + 4);
    CHECK_EQ(HITS(code, &counts, 3), 4);
}

static void exceptions_from_the_same_line_are_no_arrivals(void)
{
    struct instr code[] = {RESUME(1), NEXT(2), NEXT(3), END(3), NEXT(2), END(4)};
    struct instr_guard guard = {.start = 1, .end = 3, .target = 4};
    struct counts counts = {.began = {0, 9, 7, 4, 5, 5}, .raised = {0, 2, 3}};
    CHECK_EQ(hits(code, 6, &guard, 1, &no_rules, &counts, 2), 9 + 3);
}

static void what_cannot_be_told_has_no_terms(void)
{
    /* Two branches lead to the same two places: who went where is in no count. */
    struct instr crossed[] = {
        RESUME(1), BRANCH(5, 4), BRANCH(3, 5), NEXT(2), BRANCH(2, 3), END(7),
    };
    /* The exception keeps the place of its first raise, whose line may be this one or not. */
    struct instr raised_again[] = {
        RESUME(1), NEXT(2), {.line = 2, .flow = FLOW_END, .reraises = true}, NEXT(2), END(3),
    };
    struct instr_guard guard = {.start = 1, .end = 3, .target = 3};
    struct counts counts = {0};
    CHECK_EQ(HITS(crossed, &counts, 2), -1);
    CHECK_EQ(hits(raised_again, 5, &guard, 1, &no_rules, &counts, 2), -1);
}

int main(void)
{
    a_statement_is_hit_when_it_begins();
    a_function_on_one_line_is_hit_behind_its_resume();
    what_is_skipped_has_no_terms();
    a_loop_is_hit_once_an_entry_and_once_an_iteration();
    a_loop_on_one_line_is_hit_once_an_entry();
    the_way_of_a_branch_follows_from_its_other_way();
    exceptions_from_the_same_line_are_no_arrivals();
    what_cannot_be_told_has_no_terms();
    return 0;
}
