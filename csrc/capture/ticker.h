/*
 * ticker.h - says when it is time to look at the size of the process, and looks at it itself while
 * the program does nothing that we see.
 *
 * A thread would be seen: Python warns at every fork of a process that has one, and counts them in
 * /proc. So it is a process of its own that shares our memory (clone with CLONE_VM, and no signal
 * at its end): it is in no list of threads, has no descriptor open in the program, and wait() does
 * not know it. It calls nothing of the C library, whose thread-local memory is another thread's. It
 * ends when it is told to, and when its parent has ended. Where it cannot be had, the size is
 * looked at at the end of the script only.
 */
#ifndef PROFTRACE_CAPTURE_TICKER_H
#define PROFTRACE_CAPTURE_TICKER_H

#include "capture/proc_status.h"

#include <stddef.h>
#include <stdint.h>

#define TICKER_SAMPLES 128u

struct ticker_sample {
    uint32_t turn; /* how often samples had been taken before */
    uint64_t mono_ns;
    struct resident resident;
};

struct ticker; /* pages that it shares with us */

/*
 * Starts one that sets the bits in *attention at every interval, before it looks: whoever finds
 * them set takes the samples, so that none is of a time on both sides. NULL where that is not
 * possible.
 * With the capture lock held.
 */
struct ticker *ticker_start(uint64_t interval_ns, uint32_t *attention, uint32_t bits);
/* Ends it and gives its memory back. */
void ticker_stop(struct ticker *ticker);

/*
 * What it has seen since the last call, the oldest first; where that was more than fits, of two
 * neighbours the larger one. A look that is going on meanwhile is dropped.
 */
size_t ticker_take(struct ticker *ticker, struct ticker_sample samples[TICKER_SAMPLES]);

#endif
