/* test_sample_walk.c - chains of frames that the test lays out itself, whole and torn. */
#include "lines/sample_walk.h"

#include "base/arena.h"
#include "check.h"
#include "format/record.h"
#include "lines/statements.h"

#include <string.h>

#define N_UNITS 16

/* As much of an interpreter as the walk looks at. */
struct fake_code {
    uint32_t first_traceable;
    uint16_t units[N_UNITS];
};

struct fake_frame {
    uintptr_t code;
    uintptr_t previous;
    uintptr_t ip;
    uint8_t owner;
};

enum { OWNED_BY_THREAD, OWNED_BY_GENERATOR, SHIM = 3 };

static struct frame_reader reader = {
    .layout =
        {
            .frame_code = offsetof(struct fake_frame, code),
            .frame_previous = offsetof(struct fake_frame, previous),
            .frame_ip = offsetof(struct fake_frame, ip),
            .frame_owner = offsetof(struct fake_frame, owner),
            .owner_shim = SHIM,
            .code_first_traceable = offsetof(struct fake_code, first_traceable),
            .code_units = offsetof(struct fake_code, units),
        },
};
static struct fake_code hot_code = {.first_traceable = 1};
static struct fake_code cold_code = {.first_traceable = 0};
static struct fake_code foreign_code;
static struct lines_code *hot, *cold;
static struct sample_walk *walk;

/* Unit u is on line 100 + u / 2, but units 10 and 11 have none. */
static struct lines_code *register_code(const struct fake_code *code)
{
    int32_t lines[N_UNITS];
    uint8_t skip[(N_UNITS + 7) / 8] = {0};
    struct hit_rules rules = {.skip = skip};
    struct code_facts facts = {.key = code, .name = "f", .name_bytes = 1, .n_units = N_UNITS};
    for (int i = 0; i < N_UNITS; i++)
        lines[i] = i == 10 || i == 11 ? 0 : 100 + i / 2;
    facts.line_of_unit = lines;
    facts.rules = &rules;
    return registry_add_code(&facts);
}

static struct fake_frame frame_of(struct fake_code *code, int unit, struct fake_frame *previous)
{
    return (struct fake_frame){.code = (uintptr_t)code,
                               .previous = (uintptr_t)previous,
                               .ip = (uintptr_t)&code->units[unit],
                               .owner = OWNED_BY_THREAD};
}

static void profiled_frames_are_found_innermost_first(void)
{
    struct fake_frame shim = {.owner = SHIM, .code = 0xdeadbeef};
    struct fake_frame root = frame_of(&cold_code, 5, &shim);
    struct fake_frame middle = frame_of(&foreign_code, 5, &root);
    struct fake_frame top = frame_of(&hot_code, 8, &middle);
    top.code |= 1; /* a flag of 3.14 */
    top.owner = OWNED_BY_GENERATOR;
    CHECK(walk_chain(walk, (uintptr_t)&top));
    CHECK_EQ(walk->n, 2);
    CHECK(walk->places[0].code == hot && walk->places[0].line == 4 && walk->places[0].is_hot);
    CHECK(walk->places[1].code == cold && walk->places[1].line == 2 && !walk->places[1].is_hot);
    CHECK(walk->top == (uintptr_t)&top && walk->top_ip == top.ip);
}

static void an_empty_chain_is_one(void)
{
    CHECK(walk_chain(walk, 0));
    CHECK_EQ(walk->n, 0);
}

static void a_frame_that_is_being_set_up_is_its_callers_time(void)
{
    struct fake_frame root = frame_of(&cold_code, 5, NULL);
    struct fake_frame top = frame_of(&hot_code, 1, &root);
    CHECK(walk_chain(walk, (uintptr_t)&top));
    CHECK_EQ(walk->n, 1);
    CHECK(walk->places[0].code == cold);
    top.ip = (uintptr_t)&hot_code - 1; /* 3.12: before the first unit */
    CHECK(walk_chain(walk, (uintptr_t)&top));
    CHECK_EQ(walk->n, 1);
    top.ip = (uintptr_t)&hot_code.units[2];
    CHECK(walk_chain(walk, (uintptr_t)&top));
    CHECK_EQ(walk->n, 2);
}

static void a_unit_without_a_line_is_on_the_line_before(void)
{
    struct fake_frame top = frame_of(&hot_code, 11, NULL);
    CHECK(walk_chain(walk, (uintptr_t)&top));
    CHECK_EQ(walk->n, 1);
    CHECK_EQ(walk->places[0].line, 4);
}

static void torn_chains_are_told(void)
{
    struct fake_frame root = frame_of(&cold_code, 5, NULL);
    struct fake_frame top = frame_of(&hot_code, 8, &root);
    struct fake_frame *gone = pages_alloc(4096);
    CHECK(gone != NULL);
    pages_free(gone, 4096);
    CHECK(!walk_chain(walk, (uintptr_t)gone));
    root.previous = (uintptr_t)gone;
    CHECK(!walk_chain(walk, (uintptr_t)&top));
    root.previous = 0x7; /* nothing is aligned like this */
    CHECK(!walk_chain(walk, (uintptr_t)&top));
    root.previous = (uintptr_t)&root; /* a circle */
    CHECK(!walk_chain(walk, (uintptr_t)&top));
    root.previous = 0;
    top.ip = (uintptr_t)&hot_code.units[N_UNITS];
    CHECK(!walk_chain(walk, (uintptr_t)&top));
}

static void deep_stacks_keep_their_innermost_frames(void)
{
    enum { DEPTH = MOST_PLACES + 100 };
    struct fake_frame *frames = pages_alloc(DEPTH * sizeof *frames);
    CHECK(frames != NULL);
    for (int i = 0; i < DEPTH; i++)
        frames[i] =
            frame_of(i == DEPTH - 1 ? &cold_code : &hot_code, 8, i == 0 ? NULL : &frames[i - 1]);
    CHECK(walk_chain(walk, (uintptr_t)&frames[DEPTH - 1]));
    CHECK_EQ(walk->n, MOST_PLACES);
    CHECK(walk->places[0].code == cold && walk->places[1].code == hot);
    pages_free(frames, DEPTH * sizeof *frames);
}

int main(void)
{
    walk = pages_alloc(sizeof *walk);
    CHECK(walk != NULL);
    walk->reader = &reader;
    hot = register_code(&hot_code);
    cold = register_code(&cold_code);
    CHECK(hot != NULL && cold != NULL);
    hot->regime = REGIME_HOT;
    profiled_frames_are_found_innermost_first();
    an_empty_chain_is_one();
    a_frame_that_is_being_set_up_is_its_callers_time();
    a_unit_without_a_line_is_on_the_line_before();
    torn_chains_are_told();
    deep_stacks_keep_their_innermost_frames();
    return 0;
}
