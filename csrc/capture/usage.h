/*
 * usage.h - the size of the process, beside the events: what is in memory, malloc's own account,
 * pymalloc's arenas and our own pages. Written as marks (see log-format.md), so that a reader knows
 * what was live at that moment.
 *
 * The ticker says when; the next event of any thread then looks, inside its hook, before the event
 * is recorded: there no lock of the C library's is ours, and each of the sources below takes at
 * most malloc's own locks for a moment. What takes long is looked at less often: at most a 400th of
 * the time goes into it, a hundredth while the process reaches new heights; one that is a quarter
 * higher than the last is looked at whatever it takes.
 */
#ifndef PROFTRACE_CAPTURE_USAGE_H
#define PROFTRACE_CAPTURE_USAGE_H

#include "base/compiler.h"
#include "capture/ticker.h"
#include "format/record.h"
#include "interp/pymalloc.h"

#include <stdbool.h>
#include <stdint.h>

struct capture_options;

#define USAGE_LARGE_BYTES ((uint64_t)4 << 20)

struct usage {
    struct ticker *ticker; /* NULL: it could not be had */
    uint64_t interval_ns;  /* 0: the size is not looked at */
    uint64_t start_ns;
    uint64_t next_ns;         /* not before */
    bool wanted;              /* a look that came too early is made up for */
    uint64_t next_detail_ns;  /* the parts that take long */
    uint64_t next_height_ns;  /* the same of a size that was not reached before */
    uint64_t detailed_bytes;  /* the largest size at which they were looked at */
    uint64_t own_range_bytes; /* of our pages, when it was asked how many are in memory */
    uint32_t n_details;       /* how often the parts were looked at */
    struct proc_status status;
    uint64_t values[USAGE_FIELDS]; /* as they were written last */
    struct pymalloc_place pymalloc;
};

/* With the capture lock held: before the first event, and after the last. */
void usage_start_locked(const struct capture_options *options);
void usage_stop_locked(void);
/* After an exec that failed. */
void usage_go_on_locked(void);
/* In a forked child: the ticker is its parent's. */
void usage_forget(void);

/* It is time; or it is wanted now, whatever the time (`now`). In a hook, guard held, without lock.
 */
void usage_look(bool now);

/*
 * A block has come that is worth a look by itself: the next event looks, when the program has had
 * time to use it, or the first one that may. On a busy machine the ticker comes late.
 */
void usage_look_soon(void);

/* The last look; `ask_malloc`: what the size consists of too, if nothing has told that so far. */
void usage_look_at_end(bool ask_malloc);

/*
 * usage_look(false) where the real call has returned that gave a block or range back which was
 * recorded as gone before: what was seen meanwhile was with it.
 */
NOINLINE void usage_look_after_release(const void *address);

/* Of pymalloc's arenas, as its hook sees it. */
void usage_note_arena_bytes(uint64_t n_bytes);

#endif
