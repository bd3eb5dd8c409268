/*
 * suspended.h - generators and coroutines that are suspended: since when, and on which line.
 *
 * A frame is known by its address, which stays the same as long as its generator lives, and may be
 * resumed by any thread. What is never resumed is forgotten when its address is used again, so that
 * abandoned generators have waited for nothing. Called with the GIL, or under a lock of its own
 * where there is none.
 */
#ifndef PROFTRACE_LINES_SUSPENDED_H
#define PROFTRACE_LINES_SUSPENDED_H

#include "base/compiler.h"

#include <stdbool.h>
#include <stdint.h>

struct suspension {
    const void *frame;  /* NULL = a free slot */
    const void *key;    /* of the code */
    const void *thread; /* whose virtual clock `since` is */
    uint64_t since;
    uint64_t since_raw;
    int64_t spent; /* ticks that the running hit of the line had taken when it was left */
    int32_t line;  /* 0 = none */
    bool is_waiting;
};

/* Takes the place of what is known of the frame. Left out when memory is out. */
void suspended_put(const struct suspension *suspension);

/* Takes out what is known of a frame of this code; false when it is nothing. */
NODISCARD bool suspended_take(const void *frame, const void *key, struct suspension *taken);

/* Says that threads run at the same time: from now on there is a lock. */
void suspended_use_lock(void);
void suspended_after_fork(void);

/* In a forked child: all that is suspended was so from now on, as far as the child is concerned. */
void suspended_restart(const void *thread, uint64_t now, uint64_t now_raw);

#endif
