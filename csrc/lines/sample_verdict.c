/* sample_verdict.c - see sample_verdict.h. */
#include "lines/sample_verdict.h"

#include "interp/objects.h"

#define MOST_PROCEDURES 48u
#define MOST_STEPS                                                                \
    64 /* from where a sample stands to the loop: beyond, it is the program's own \
        */

struct procedure {
    uintptr_t start, end;
};

static struct procedure eval_loop;
static struct unwind_row eval_body; /* of an address well inside of it */
static struct procedure ordinary;
static struct procedure ours; /* the mapping of this very code */

/* Filled in by one thread at a time (it holds the GIL), read by all. */
static struct procedure learned[MOST_PROCEDURES];
static uint32_t n_learned;

static bool is_in(const struct procedure *procedure, uintptr_t at)
{
    return at >= procedure->start && at < procedure->end;
}

static bool is_learned(uintptr_t at)
{
    uint32_t n = __atomic_load_n(&n_learned, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < n; i++)
        if (is_in(&learned[i], at))
            return true;
    return false;
}

static void learn(uintptr_t start, uintptr_t end)
{
    if (n_learned == MOST_PROCEDURES || is_learned(start))
        return;
    learned[n_learned] = (struct procedure){start, end};
    __atomic_store_n(&n_learned, n_learned + 1, __ATOMIC_RELEASE);
}

int verdict_prepare(struct unwind *unwind, uintptr_t loop, uintptr_t ordinary_call)
{
    const struct object_code *object = objects_find(objects_list(), (uintptr_t)verdict_prepare);
    struct unwind_frame middle = {.is_interrupted = true};
    if (object == NULL ||
        !unwind_procedure(unwind, ordinary_call, &ordinary.start, &ordinary.end) ||
        !unwind_procedure(unwind, loop, &eval_loop.start, &eval_loop.end))
        return -1;
    ours = (struct procedure){object->start, object->end};
    middle.pc = eval_loop.start + (eval_loop.end - eval_loop.start) / 2;
    eval_body = *unwind_row_of(unwind, &middle);
    return eval_body.is_known ? 0 : -1;
}

/*
 * Whether a procedure is a part of the loop that the compiler put elsewhere, as it does with what
 * it takes for unlikely: it begins with the very frame that the loop has.
 */
static bool is_split_from_loop(struct unwind *unwind, uintptr_t start)
{
    struct unwind_frame first = {.pc = start, .is_interrupted = true};
    const struct unwind_row *row;
    if (!unwind_is_fragment(unwind, start))
        return false;
    row = unwind_row_of(unwind, &first);
    if (row->cfa_register != eval_body.cfa_register || row->cfa_offset != eval_body.cfa_offset ||
        row->saved != eval_body.saved)
        return false;
    for (unsigned i = 0; i < UNWIND_REGISTERS; i++)
        if ((row->saved >> i & 1) && row->offsets[i] != eval_body.offsets[i])
            return false;
    return true;
}

/* Where the instruction is that a frame is executing; what is behind a call may be another's. */
static uintptr_t place_of(const struct unwind_frame *frame)
{
    return frame->is_interrupted ? frame->pc : frame->pc - 1;
}

int verdict_learn(struct unwind *unwind, const void *context)
{
    struct procedure found[MOST_STEPS];
    struct unwind_frame frame;
    uint32_t n = 0;
    bool was_in_ours = false;
    unwind_start(&frame, context);
    for (int i = 0; i < MOST_STEPS; i++) {
        uintptr_t at = place_of(&frame);
        struct procedure *here = &found[n];
        if (is_in(&ours, at)) {
            was_in_ours = true;
            n = 0; /* ours called ours through the C library */
        } else if (was_in_ours) {
            if (!unwind_procedure(unwind, at, &here->start, &here->end))
                return -1;
            if (is_in(&eval_loop, at) || is_split_from_loop(unwind, here->start)) {
                for (uint32_t k = 0; k < n; k++)
                    if (found[k].start != ordinary.start)
                        learn(found[k].start, found[k].end);
                return 0;
            }
            n++;
        }
        if (!unwind_step(unwind, &frame))
            return -1;
    }
    return -1;
}

bool verdict_is_overhead(struct unwind *unwind, const void *context)
{
    struct unwind_frame frame;
    unwind_start(&frame, context);
    for (int i = 0; i < MOST_STEPS; i++) {
        uintptr_t at = place_of(&frame);
        if (is_in(&eval_loop, at))
            return false;
        if (is_in(&ours, at) || is_learned(at))
            return true;
        if (!unwind_step(unwind, &frame))
            return false;
    }
    return false;
}
