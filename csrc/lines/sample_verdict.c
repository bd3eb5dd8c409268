/* sample_verdict.c - see sample_verdict.h. */
#include "lines/sample_verdict.h"

#include "interp/objects.h"

#define MOST_PROCEDURES 48u
#define SPLIT_BYTES 4096u
#define MOST_STEPS                                                                \
    64 /* from where a sample stands to the loop: beyond, it is the program's own \
        */

struct procedure {
    uintptr_t start, end;
};

/* Filled in by one thread at a time (it holds the GIL), read by all. */
struct procedures {
    uint32_t n;
    struct procedure all[MOST_PROCEDURES];
};

static struct procedures loop; /* the evaluation loop, and what was split off from it */
static struct procedures learned;
static struct procedure ordinary;
static struct procedure ours; /* the mapping of this very code */

static bool is_in(const struct procedure *procedure, uintptr_t at)
{
    return at >= procedure->start && at < procedure->end;
}

static bool is_in_any(const struct procedures *procedures, uintptr_t at)
{
    uint32_t n = __atomic_load_n(&procedures->n, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < n; i++)
        if (is_in(&procedures->all[i], at))
            return true;
    return false;
}

static void add(struct procedures *to, const struct procedure *procedure)
{
    if (to->n == MOST_PROCEDURES || is_in_any(to, procedure->start))
        return;
    to->all[to->n] = *procedure;
    __atomic_store_n(&to->n, to->n + 1, __ATOMIC_RELEASE);
}

int verdict_prepare(struct unwind *unwind, uintptr_t eval_loop, uintptr_t ordinary_call)
{
    const struct object_code *object = objects_find(objects_list(), (uintptr_t)verdict_prepare);
    struct procedure entry;
    if (object == NULL ||
        !unwind_procedure(unwind, ordinary_call, &ordinary.start, &ordinary.end) ||
        !unwind_procedure(unwind, eval_loop, &entry.start, &entry.end))
        return -1;
    ours = (struct procedure){object->start, object->end};
    add(&loop, &entry);
    return 0;
}

/*
 * Whether a procedure is a part of the loop that the compiler put elsewhere, as it does with what
 * was never run when it took its measurements: all of the instrumentation. No other function that
 * a callback comes through has so much of that.
 */
static bool is_split_from_loop(struct unwind *unwind, const struct procedure *procedure)
{
    return procedure->end - procedure->start >= SPLIT_BYTES &&
           unwind_is_fragment(unwind, procedure->start);
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
            if (is_split_from_loop(unwind, here))
                add(&loop, here);
            if (is_in_any(&loop, at)) {
                for (uint32_t k = 0; k < n; k++)
                    if (found[k].start != ordinary.start)
                        add(&learned, &found[k]);
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
        if (is_in_any(&loop, at))
            return false;
        if (is_in(&ours, at) || is_in_any(&learned, at))
            return true;
        if (!unwind_step(unwind, &frame))
            return false;
    }
    return false;
}
