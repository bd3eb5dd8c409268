/*
 * proc_status.h - how much of the process is in memory, by what stands behind it. Uses nothing of
 * the C library, so that the ticker may call it.
 *
 * Three lines of /proc/self/status tell all of it, but the kernel writes fifty more for them.
 * /proc/self/statm is a line of numbers; what it does not tell is how files and shared memory share
 * their sum, which seldom changes.
 */
#ifndef PROFTRACE_CAPTURE_PROC_STATUS_H
#define PROFTRACE_CAPTURE_PROC_STATUS_H

#include "base/compiler.h"

#include <stdbool.h>
#include <stdint.h>

struct resident {
    uint64_t anonymous; /* bytes */
    uint64_t file;
    uint64_t shared; /* shared memory, also in files without a disk */
};

/* What is remembered from one reading to the next: zero but for page_bytes at the start. */
struct proc_status {
    uint64_t page_bytes;
    struct resident known; /* as /proc/self/status had it last */
};

/*
 * False: there is no such file here, or it has not these lines. `exactly`: how files and shared
 * memory share their sum is read again, even if the sum is what it was.
 */
NODISCARD bool proc_status_read(struct proc_status *status, bool exactly,
                                struct resident *resident);

#endif
