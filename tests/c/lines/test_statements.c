#include "lines/statements.h"

#include "check.h"

#include <string.h>

/* Instructions in the words of the analysis: {line, flow, effect, effect when jumping, target}. */
#define NEXT(line_, effect_) \
    {.line = line_, .effect_next = effect_, .flow = FLOW_NEXT, .takes = (effect_) < 0}
#define BRANCH(line_, effect_, jump_, target_) \
    {.line = line_,                            \
     .effect_next = effect_,                   \
     .effect_jump = jump_,                     \
     .target = target_,                        \
     .flow = FLOW_BRANCH,                      \
     .takes = (effect_) < 0}
#define JUMP(line_, target_) {.line = line_, .target = target_, .flow = FLOW_JUMP}
#define LOOP_END(line_, target_) \
    {.line = line_, .target = target_, .flow = FLOW_JUMP, .closes_loop = true}
#define FOR_ITER(line_, target_) \
    {.line = line_,              \
     .effect_next = 1,           \
     .effect_jump = 1,           \
     .target = target_,          \
     .flow = FLOW_BRANCH,        \
     .iterates = true}
#define END(line_) {.line = line_, .effect_next = -1, .flow = FLOW_END, .takes = true}

/* Returns the instructions whose event does not count, as a bit set. */
static unsigned skipped(struct instr *instrs, uint32_t n, const struct instr_guard *guards,
                        uint32_t n_guards)
{
    struct hit_rules rules;
    struct instr_list list = {
        .instrs = instrs, .n_instrs = n, .guards = guards, .n_guards = n_guards, .n_units = n};
    unsigned result = 0;
    int n_skipped, n_seen = 0;
    CHECK(n <= 32);
    for (uint32_t i = 0; i < n; i++) {
        instrs[i].unit = i;
        instrs[i].item = i + 1;
        if (instrs[i].iterates && instrs[i].maker == 0)
            instrs[i].maker = i;
    }
    n_skipped = statements_find(&list, &rules);
    for (uint32_t i = 0; i < n; i++)
        if (unit_is_marked(rules.skip, i)) {
            result |= 1u << i;
            n_seen++;
        }
    CHECK_EQ(n_seen, n_skipped);
    hit_rules_free(&rules);
    return result;
}

#define SKIPPED(instrs_) skipped(instrs_, sizeof(instrs_) / sizeof(instrs_)[0], NULL, 0)

static void no_code_has_nothing_to_skip(void)
{
    CHECK_EQ(skipped(NULL, 0, NULL, 0), 0);
}

static void a_call_comes_back_to_its_first_line(void)
{
    struct instr call[] = {
        NEXT(1, 1),  /* the function */
        NEXT(2, 1),  /* its argument */
        NEXT(1, -1), /* the call */
        NEXT(1, -1), /* the store */
        NEXT(3, 1),  END(3),
    };
    CHECK_EQ(SKIPPED(call), 1u << 2);
}

static void a_statement_that_is_repeated_counts_each_time(void)
{
    struct instr twice[] = {
        NEXT(1, 1), NEXT(1, -1), NEXT(2, 1), NEXT(2, -1), NEXT(1, 1), NEXT(1, -1), END(2),
    };
    CHECK_EQ(SKIPPED(twice), 1u << 6); /* the last only ends line 2 */
}

/* 3.15 keeps two values of an iterator on the stack. */
static void an_iterator_of_two_values_is_no_beginning(void)
{
    struct instr loop[] = {
        NEXT(1, 1), /* what is iterated over */
        {.line = 1, .effect_next = 1, .makes_iterator = true},
        FOR_ITER(1, 6), /* pushes the item */
        NEXT(1, -1),    /* stores it */
        NEXT(2, 0),     /* the body */
        LOOP_END(2, 2),
        NEXT(1, -3), /* drops iterator and item */
        NEXT(3, 1),
        END(3),
    };
    loop[2].maker = 1;
    CHECK_EQ(SKIPPED(loop) & ~(1u << 6), 0);
    loop[1].makes_iterator = false;
    CHECK_EQ(SKIPPED(loop) & ~(1u << 6), 1u << 2);
}

static void the_header_of_a_loop_counts_iterations(void)
{
    struct instr loop[] = {
        NEXT(1, 1),                  /* what is iterated over */
        FOR_ITER(1, 5),              /* pushes the item */
        NEXT(1, -1),                 /* stores it */
        NEXT(2, 0),                  /* the body */
        LOOP_END(2, 1), NEXT(1, -2), /* drops iterator and item */
        NEXT(3, 1),     END(3),
    };
    CHECK_EQ(SKIPPED(loop) & ~(1u << 5), 0); /* the last is reached from its own line only */
}

static void a_comprehension_counts_iterations_wherever_its_parts_stand(void)
{
    /* [ (line 1) element (2) for x in y (3) ] as 3.12 and as 3.13 lay it out. */
    struct instr with_bracket[] = {
        NEXT(3, 1),  NEXT(3, 0),     NEXT(1, 1),  FOR_ITER(1, 8), NEXT(3, -1), NEXT(2, 1),
        NEXT(2, -1), LOOP_END(2, 3), NEXT(1, -2), NEXT(1, -1),    END(4),
    };
    struct instr with_for[] = {
        NEXT(3, 1),  NEXT(3, 0),     NEXT(1, 1),  FOR_ITER(3, 8), NEXT(3, -1), NEXT(2, 1),
        NEXT(2, -1), LOOP_END(2, 3), NEXT(3, -2), NEXT(1, -1),    END(4),
    };
    with_bracket[3].maker = with_for[3].maker = 1;
    CHECK_EQ(SKIPPED(with_bracket), 1u << 3 | 1u << 8);
    /* The way in is one arrival at FOR_ITER, so the evaluation of y is not another. */
    CHECK_EQ(SKIPPED(with_for) & (1u << 0 | 1u << 3), 1u << 0);
}

static void the_targets_of_a_loop_get_its_hits_wherever_it_is_fetched(void)
{
    /* for (line 1) x (2) in y (3): 3.12 fetches on line 1, 3.13 on line 3. */
    struct instr on_for[] = {
        NEXT(3, 1), NEXT(1, 0), FOR_ITER(1, 5), NEXT(2, -1), LOOP_END(4, 2), NEXT(1, -2), END(5),
    };
    struct instr on_y[] = {
        NEXT(3, 1), NEXT(3, 0), FOR_ITER(3, 5), NEXT(2, -1), LOOP_END(4, 2), NEXT(3, -2), END(5),
    };
    struct hit_rules rules;
    on_for[2].maker = on_y[2].maker = 1;
    CHECK_EQ(SKIPPED(on_for) & 0x1f, 1u << 1 | 1u << 2 | 1u << 3);
    CHECK_EQ(SKIPPED(on_y) & 0x1f, 1u << 2 | 1u << 3);
    /* `skipped` has set the units. */
    CHECK(statements_find(&(struct instr_list){.instrs = on_y, .n_instrs = 7, .n_units = 7},
                          &rules) > 0);
    CHECK_EQ(rules.n_credits, 2);
    CHECK_EQ(rules.credits[0].unit, 2); /* an iteration */
    CHECK_EQ(rules.credits[0].line, 2);
    CHECK_EQ(rules.credits[1].unit, 0); /* an entry, which is a hit of line 3 as well */
    CHECK_EQ(rules.credits[1].line, 2);
    hit_rules_free(&rules);
}

static void a_display_goes_on_after_its_first_part(void)
{
    struct instr display[] = {
        NEXT(2, 1), /* { (line 1) "a": x (2) */
        {.line = 1, .effect_next = 0, .makes = true, .takes = true},
        NEXT(3, 1),  /* **y (3) */
        NEXT(1, -1), /* goes into what was made */
        NEXT(1, -1),
        NEXT(4, 1),
        END(4),
    };
    CHECK_EQ(SKIPPED(display), 1u << 3);
}

static void a_with_whose_items_stand_on_other_lines_has_no_hits(void)
{
    struct instr with[] = {
        NEXT(2, 1),                                     /* the manager */
        {.line = 1, .effect_next = 1, .goes_on = true}, /* its exit and its value */
        NEXT(2, -1),                                    /* the target */
        NEXT(3, 1),
        NEXT(3, -1), /* the body */
        NEXT(1, -1), /* the exit */
        NEXT(4, 1),
        END(4),
        NEXT(1, 1), /* the exit after an exception */
        {.line = 1, .effect_next = 1, .leaves_with = true},
        END(1),
    };
    struct instr_guard guard = {.start = 2, .end = 5, .target = 8, .depth = 1, .pushed = 1};
    CHECK_EQ(skipped(with, 11, &guard, 1) & ~(1u << 2), 1u << 1 | 1u << 5 | 1u << 8);
}

static void a_with_block_does_not_count_its_end(void)
{
    struct instr with[] = {
        NEXT(1, 1),                           /* the manager: its exit stays on the stack */
        NEXT(2, 1),                           /* the body */
        NEXT(2, -1), NEXT(1, -1),             /* the exit */
        NEXT(3, 1),  END(3),      NEXT(1, 1), /* the exit after an exception */
        END(1),
    };
    struct instr_guard guard = {.start = 1, .end = 3, .target = 6, .depth = 1, .pushed = 1};
    CHECK_EQ(skipped(with, 8, &guard, 1), 1u << 3 | 1u << 6);
}

static void a_handler_that_cuts_the_value_off_begins_anew(void)
{
    struct instr retry[] = {
        NEXT(1, 1), /* begins something that the handler throws away */
        NEXT(2, 0), NEXT(2, -1), END(3), NEXT(1, 0), /* the handler, on the same line */
        END(4),
    };
    struct instr_guard guard = {.start = 0, .end = 3, .target = 4, .depth = 0, .pushed = 1};
    CHECK_EQ(skipped(retry, 6, &guard, 1), 0);
}

static void both_arms_of_a_conditional_expression_store_once(void)
{
    struct instr conditional[] = {
        NEXT(1, 1),           /* x = (a if test (line 1) */
        BRANCH(1, -1, -1, 4), /* else b) (line 2) */
        NEXT(1, 1),           JUMP(1, 5),
        NEXT(2, 1),           NEXT(1, -1), /* the store, which b comes back for */
        NEXT(3, 1),           END(3),
    };
    CHECK_EQ(SKIPPED(conditional), 1u << 5);
}

static void the_third_operand_comes_back_for_the_store_and_the_second_test(void)
{
    struct instr operands[] = {
        NEXT(1, 1), /* x = (a (line 1) */
        NEXT(1, 1), /* copied for the test */
        BRANCH(1, -1, -1, 10),
        NEXT(1, -1),
        NEXT(2, 1),                                   /* or b (2) */
        {.line = 1, .effect_next = 1, .takes = true}, /* copied: back on line 1 */
        BRANCH(1, -1, -1, 10),
        NEXT(1, -1),
        NEXT(3, 1), /* or c) (3) */
        NEXT(3, 0),
        NEXT(1, -1), /* the store */
        NEXT(4, 1),
        END(4),
    };
    CHECK_EQ(SKIPPED(operands), 1u << 5 | 1u << 10);
}

static void a_store_without_a_beginning_counts(void)
{
    struct instr conditional[] = {
        NEXT(2, 1),           /* x = (1 (line 1) */
        BRANCH(2, -1, -1, 4), /* if test (2) */
        NEXT(1, 1),           /* else 3) (3) */
        JUMP(1, 5),           NEXT(3, 1), NEXT(1, -1), NEXT(4, 1), END(4),
    };
    CHECK_EQ(SKIPPED(conditional), 0);
}

static void a_return_does_not_count_again_after_cleaning_up(void)
{
    struct instr leaving[] = {
        NEXT(1, 1), /* with */
        NEXT(2, 0), /* return, whose value is a constant */
        NEXT(1, 1), /* the exit */
        NEXT(1, -2), {.line = 2, .effect_next = 0, .flow = FLOW_END},
    };
    CHECK_EQ(SKIPPED(leaving), 1u << 2 | 1u << 4);
}

int main(void)
{
    no_code_has_nothing_to_skip();
    a_call_comes_back_to_its_first_line();
    a_statement_that_is_repeated_counts_each_time();
    the_header_of_a_loop_counts_iterations();
    an_iterator_of_two_values_is_no_beginning();
    a_comprehension_counts_iterations_wherever_its_parts_stand();
    the_targets_of_a_loop_get_its_hits_wherever_it_is_fetched();
    a_display_goes_on_after_its_first_part();
    a_with_whose_items_stand_on_other_lines_has_no_hits();
    a_with_block_does_not_count_its_end();
    a_handler_that_cuts_the_value_off_begins_anew();
    both_arms_of_a_conditional_expression_store_once();
    the_third_operand_comes_back_for_the_store_and_the_second_test();
    a_store_without_a_beginning_counts();
    a_return_does_not_count_again_after_cleaning_up();
    return 0;
}
