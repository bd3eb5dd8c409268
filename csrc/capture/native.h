/*
 * native.h - native stacks of the process: what unwind.h and modules.h make together, and the node
 * that joins a native stack with a Python one.
 */
#ifndef PROFTRACE_CAPTURE_NATIVE_H
#define PROFTRACE_CAPTURE_NATIVE_H

#include "capture/modules.h"
#include "capture/unwind.h"
#include "interp/frames.h"

#define NATIVE_HYBRIDS 1024 /* pairs a thread remembers; a power of two */
#define NATIVE_LOOPS 32     /* parts of the interpreter's loop: compilers split it */

struct known_hybrid {
    uint32_t python, native;
    uint32_t id; /* 0 = free */
};

/* What a thread keeps. Pages of its own, made at its first stack. */
struct native_thread {
    uint64_t epoch;
    struct unwind_cache unwind;
    struct known_hybrid hybrids[NATIVE_HYBRIDS];
};

/* Of the capture; guarded by its lock, but for the first three. */
struct native_state {
    struct unwind_reader reader;
    uint64_t epoch; /* atomic: changes when code goes that threads may remember */
    /*
     * Atomic: calls of dlclose that have not returned; the list of modules may be too old while
     * there are any. One that a jump or a fork cuts short leaves another number, which costs time.
     */
    uint32_t n_unloading;

    struct modules modules;
    struct table places;  /* hash of module, address and flags -> place */
    struct table nodes;   /* parent:32 | place:32 -> id */
    struct table hybrids; /* python:32 | native:32 -> id */
    uint32_t n_places, n_nodes, n_hybrids;
    struct {
        uintptr_t start, end;
    } loops[NATIVE_LOOPS];
    uint32_t n_loops;
};

struct capture_thread;

/* Whether this machine's stacks can be unwound. */
bool native_is_supported(void);

/* Gives back the tables, with the capture lock held: the capture is over. */
void native_release_locked(void);

/* Before the first event; `interpreter` is an address in its code or data, or NULL. */
void native_start_locked(const void *interpreter);

/*
 * The HYBRID of a Python stack and the native stack that ends in `from`; called with the guard
 * held, without the lock. Keeps errno. 0 when there is no memory left.
 */
uint32_t native_stack(struct capture_thread *thread, uint32_t python,
                      const struct unwind_state *from);

/* Around a dlclose: what was remembered about the code that goes is dropped. */
void native_unloads(void);
void native_unloaded(void);

/* The thread's block gets another thread or capture, or was left in the middle of a change. */
void native_forget(struct capture_thread *thread);

/* Self-check of the calling thread's stack; see unwind_agrees. */
bool native_agrees(struct capture_thread *thread, uint32_t python);

#endif
