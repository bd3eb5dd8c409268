/* running_frames.c - see running_frames.h. */
#include "python/running_frames.h"

#include "base/peek.h"

#include <stddef.h>

#define MOST_FRAMES 1000000u /* a chain that is longer is a circle */
#define MOST_THREADS 100000u

static const struct frame_reader *reader;
static PyInterpreterState *interpreter;
static struct peek peek; /* too large for the stack of a signal handler; used without the GIL */
static int peek_is_taken;

/* Reads that cannot fault, or, when all stands still, plain ones. */
struct memory {
    struct peek *peek; /* NULL = plain */
};

void running_frames_prepare(const struct frame_reader *frames)
{
    reader = frames;
    interpreter = PyInterpreterState_Get();
}

static bool read_bytes(const struct memory *memory, uintptr_t at, void *to, size_t n_bytes)
{
    if (memory->peek != NULL)
        return peek_bytes(memory->peek, at, to, n_bytes);
    memcpy(to, (const void *)at, n_bytes);
    return true;
}

/* Returns 0 too when nothing can be read there. */
static uintptr_t word_at(const struct memory *memory, uintptr_t at)
{
    uintptr_t word = 0;
    return read_bytes(memory, at, &word, sizeof word) ? word : 0;
}

static bool visit_frame(const struct memory *memory, uintptr_t frame, regime_visit_fn visit,
                        void *context)
{
    const struct interp_layout *layout = &reader->layout;
    uint8_t owner = layout->owner_shim;
    uintptr_t code, ip, first;
    if (!read_bytes(memory, frame + layout->frame_owner, &owner, sizeof owner) ||
        owner >= layout->owner_shim)
        return true;
    /* 3.14 keeps flags in the two low bits of the reference. */
    code = word_at(memory, frame + layout->frame_code) & ~(uintptr_t)3;
    ip = word_at(memory, frame + layout->frame_ip);
    first = code + layout->code_units;
    if (code == 0)
        return true;
    return visit(context, (const void *)code, ip < first ? 0 : (uint32_t)((ip - first) / 2));
}

static bool walk_thread(const struct memory *memory, uintptr_t state, regime_visit_fn visit,
                        void *context)
{
    uintptr_t frame = word_at(memory, state + reader->layout.state_frame);
    if (reader->layout.frame_is_indirect && frame != 0)
        frame = word_at(memory, frame);
    for (uint32_t i = 0; frame != 0 && i < MOST_FRAMES; i++) {
        if (!visit_frame(memory, frame, visit, context))
            return false;
        frame = word_at(memory, frame + reader->layout.frame_previous);
    }
    return true;
}

static void walk_threads(const struct memory *memory, regime_visit_fn visit, void *context)
{
    uintptr_t state = (uintptr_t)PyInterpreterState_ThreadHead(interpreter);
    for (uint32_t i = 0; state != 0 && i < MOST_THREADS; i++) {
        if (!walk_thread(memory, state, visit, context))
            return;
        state = word_at(memory, state + offsetof(PyThreadState, next));
    }
}

void running_frames_walk(regime_visit_fn visit, void *context)
{
    bool has_gil = reader->binding.attached_state() != NULL;
    if (has_gil) {
        walk_threads(&(struct memory){NULL}, visit, context);
        return;
    }
    if (__atomic_exchange_n(&peek_is_taken, 1, __ATOMIC_ACQUIRE) != 0)
        return; /* a signal handler inside of this: what it would find is being found */
    peek_forget(&peek);
    walk_threads(&(struct memory){&peek}, visit, context);
    __atomic_store_n(&peek_is_taken, 0, __ATOMIC_RELEASE);
}

void running_frames_walk_own(regime_visit_fn visit, void *context)
{
    if (reader != NULL)
        (void)walk_thread(&(struct memory){NULL}, (uintptr_t)PyThreadState_Get(), visit, context);
}
