/*
 * capture.h - recording, as the rest of the program sees it: start, stop, marks.
 *
 * All functions may be called from any thread. Nothing here calls malloc or Python. The names carry
 * the project's, since the library is loaded in front of all others: a program's own function of
 * the same name would be bound to ours.
 */
#ifndef PROFTRACE_CAPTURE_CAPTURE_H
#define PROFTRACE_CAPTURE_CAPTURE_H

#include "base/compiler.h"
#include "format/record.h"
#include "interp/binding.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct capture_meta {
    const char *key;
    const char *value;
};

/* A thread that runs already, and what the program calls it. */
struct capture_thread_name {
    uint64_t tid;
    const char *name;
};

struct capture_options {
    const char *path;                     /* absolute: the program may change its directory */
    bool replace;                         /* a capture that is there */
    bool native;                          /* native stacks too; see has_native */
    bool quiet;                           /* do not say at the end where the capture is */
    bool end_on_signals;                  /* SIGTERM and the like close the log first */
    bool follow_forks;                    /* forked children record too, into <stem>.<pid> */
    const char *stem;                     /* NULL: path */
    bool python_allocators;               /* record Python's allocators; see below */
    bool aggregate;                       /* keep sums by site instead of events */
    uint64_t ring_bytes;                  /* not 0: sums and the last events up to this size */
    uint64_t interval_ns;                 /* how often the size is looked at; 0: never */
    uint64_t sample_bytes;                /* record one allocation in so many bytes; 0: all */
    bool verify;                          /* compare each stack with the interpreter's own view */
    const struct interp_binding *binding; /* NULL: no Python stacks */
    const struct capture_meta *metas;
    size_t n_metas;
    const struct capture_thread_name *threads; /* those that have a name, or NULL */
    size_t n_threads;
    /*
     * Frames of files below this folder that are on top of the calling thread's stack now do not
     * show: the thread is recorded from the moment on that they have returned. NULL: at once.
     */
    const char *own_folder;
};

/*
 * Starts recording. -1 with errno: EALREADY while it is on, EEXIST when the file is there, ENOTSUP
 * when native stacks cannot be recorded here, or what the system said. *no_stacks becomes the
 * reason why there are no Python stacks, or NULL.
 */
EXPORT NODISCARD int proftrace_capture_start(const struct capture_options *options,
                                             const char **no_stacks);

/*
 * From now on a Python that this process or one of its children starts gets `boot_folder` in front
 * of its PYTHONPATH, `boot` as PROFTRACE_BOOT and this library. The texts stay valid. NULL: it gets
 * nothing.
 */
EXPORT void proftrace_capture_follow_children(const char *boot_folder, const char *boot);

/*
 * Python's allocators. The interpreter's side hands over what serves a domain and installs what it
 * gets instead; the structs are laid out as CPython's PyMemAllocatorEx and PyObjectArenaAllocator.
 * The domains' calls are recorded while a capture is on that was started with python_allocators,
 * arenas in every capture.
 */
struct capture_allocator {
    void *ctx;
    void *(*malloc)(void *ctx, size_t n_bytes);
    void *(*calloc)(void *ctx, size_t n, size_t n_bytes);
    void *(*realloc)(void *ctx, void *block, size_t n_bytes);
    void (*free)(void *ctx, void *block);
};

struct capture_arenas {
    void *ctx;
    void *(*alloc)(void *ctx, size_t n_bytes);
    void (*free)(void *ctx, void *arena, size_t n_bytes);
};

/*
 * A domain is wrapped once at a time: what is wrapped twice would call itself. The wrapper ignores
 * its context and has that of the real one, so that a caller that sees half of an exchange is
 * served all the same.
 */
EXPORT void proftrace_capture_wrap_allocator(enum event_domain domain,
                                             const struct capture_allocator *real,
                                             struct capture_allocator *wrapper);
/* Whether a wrapper of ours is in or behind this allocator; finds out by a call. */
EXPORT bool proftrace_capture_is_wrapped(const struct capture_allocator *allocator);
EXPORT void proftrace_capture_wrap_arenas(const struct capture_arenas *real,
                                          struct capture_arenas *wrapper);

/*
 * Starts and stops come one after the other. Around more than one of these calls, where nothing may
 * come between; signals are held back meanwhile. May be nested.
 */
EXPORT void proftrace_capture_control(sigset_t *signals_before);
EXPORT void proftrace_capture_release(const sigset_t *signals_before);

/* Writes what is recorded, ends and closes the file. Does nothing when recording is not on. */
EXPORT void proftrace_capture_stop(void);

/*
 * The number of the recording that is on, 0 = none. Each start of this process has another; a
 * followed child's recording keeps that of its parent, as it goes on for it.
 */
EXPORT uint64_t proftrace_capture_session(void);
/* Stops this recording only. False: it is not on any more. */
EXPORT bool proftrace_capture_stop_session(uint64_t session);

/*
 * While it is paused only what ends a block's life is recorded: what was allocated before may go,
 * and nothing new is seen. A realloc ends the old block. Does nothing when recording is not on.
 */
EXPORT void proftrace_capture_pause(bool paused);

EXPORT bool proftrace_capture_is_on(void);
/* Tells whether the program's malloc is ours: whether the library was preloaded. */
EXPORT bool proftrace_capture_is_preloaded(void);

/*
 * The hook that stands in for a function of another library, found by its address; NULL for any
 * other address, and before the first start of a capture in a program that did not preload us.
 */
EXPORT void *proftrace_capture_hook_of(const void *function);

/* Tells whether this machine's native stacks can be recorded. */
EXPORT bool proftrace_capture_has_native(void);

/*
 * The calling thread works for us from here on, or for the program again: what it allocates
 * meanwhile is not recorded, what it frees is.
 */
EXPORT void proftrace_capture_set_aside(bool aside);

/* A MARK event of the calling thread. */
EXPORT void proftrace_capture_mark(enum mark_kind kind, uint64_t value);
/* The same with a text of the program's own. False: recording is not on. */
EXPORT bool proftrace_capture_mark_label(const char *label);

/* Names the calling thread in the capture. */
EXPORT void proftrace_capture_name_thread(const char *name);

/* To be called when a code object dies, before its memory is used again. */
EXPORT void proftrace_capture_code_died(const void *code);

/* Everything recorded by now goes to the log; 0, or -1 when recording is not on or failed. */
EXPORT int proftrace_capture_flush(void);

struct capture_check {
    uint64_t n_events; /* recorded by the calling thread, in its slot or written */
    uint32_t stream;
    bool stacks_agree; /* the cached walks of the frames against full ones */
};

/* Checks the calling thread's stack, for tests and --verify-stacks. -1: recording is not on. */
EXPORT int proftrace_capture_check_thread(struct capture_check *check);

#endif
