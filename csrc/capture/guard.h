/*
 * guard.h - "this thread is inside one of our hooks": what it calls meanwhile is not recorded.
 *
 * The guard is the stack pointer of the hook that set it, so that one left behind by a siglongjmp
 * out of a signal handler is recognised: the stack has then shrunk past it.
 */
#ifndef PROFTRACE_CAPTURE_GUARD_H
#define PROFTRACE_CAPTURE_GUARD_H

#include "base/compiler.h"

#include <stdbool.h>
#include <stdint.h>

extern TLS_FAST uintptr_t guard_holder;
/* What is recorded; read by every hook, written at start, pause and stop only. */
enum {
    CAPTURE_EVENTS = 1,     /* anything */
    CAPTURE_PYTHON = 2,     /* calls of Python's allocators */
    CAPTURE_NEW = 4,        /* events are recorded that begin a block's life */
    CAPTURE_PYTHON_NEW = 8, /* both of them */
};
extern int capture_on; /* 0 = off */

/* Decides about a guard that is set; takes it over when its holder is gone. */
bool guard_enter_slow(uintptr_t sp);

/* True: the caller holds the guard now and must leave. False: call the real function, no more. */
static inline bool guard_enter_for(int what)
{
    uintptr_t sp = (uintptr_t)__builtin_frame_address(0);
    if (likely((__atomic_load_n(&capture_on, __ATOMIC_RELAXED) & what) == 0))
        return false;
    if (unlikely(guard_holder != 0))
        return guard_enter_slow(sp);
    guard_holder = sp;
    return true;
}

static inline bool guard_enter(void)
{
    return guard_enter_for(CAPTURE_EVENTS);
}

/* Whether blocks that come about now are recorded; they are not while recording is paused. */
static inline bool capture_takes_new(void)
{
    return likely((__atomic_load_n(&capture_on, __ATOMIC_RELAXED) & CAPTURE_NEW) != 0);
}

static inline void guard_leave(void)
{
    COMPILER_BARRIER();
    guard_holder = 0;
}

/* For our own code outside of the hooks: everything in between passes through. Nests. */
static inline uintptr_t guard_hold(void)
{
    uintptr_t before = guard_holder;
    if (before == 0)
        guard_holder = (uintptr_t)__builtin_frame_address(0);
    COMPILER_BARRIER();
    return before;
}

static inline void guard_restore(uintptr_t before)
{
    COMPILER_BARRIER();
    guard_holder = before;
}

#endif
