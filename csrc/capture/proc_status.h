/*
 * proc_status.h - how much of the process is in memory, by what stands behind it: three lines of
 * /proc/self/status. Uses nothing of the C library, so that the ticker may call it.
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

/* False: there is no such file here, or it has not these lines. */
NODISCARD bool proc_status_read(struct resident *resident);

#endif
