/*
 * result.h - writes what was counted into a file of format/, whole or not at all.
 *
 * Needs no Python, no malloc and no lock: system calls and memory from pages only, so that it can
 * run in a signal handler. The caller sees to it that only one thread writes.
 */
#ifndef PROFTRACE_LINES_RESULT_H
#define PROFTRACE_LINES_RESULT_H

#include "base/compiler.h"
#include "base/ticks.h"
#include "lines/account.h"

#include <stdint.h>

struct result_settings {
    const char *path;      /* absolute */
    const char *temporary; /* in the same folder; renamed to path when complete */
    uint32_t python_hexversion;
    uint32_t options; /* enum file_option */
    uint32_t pid;
    uint32_t ppid;
    uint64_t start_wall_ns;
    struct tick_anchor start;
    uint8_t session_id[16];
    const char *parts; /* folder whose files belong behind it (parts.h); NULL = none */
    uint32_t n_parts;  /* how many that were the last time */
};

/*
 * Returns 0, or an errno value: then neither file is there (an older one at path is kept). A device
 * or pipe at path is written to as it is.
 */
NODISCARD int result_write(struct result_settings *settings, uint8_t end_reason);

/*
 * Writes totals to settings->path itself, with the functions that `wanted` has a 1 for (by code
 * id). Not for signal handlers. Returns 0 or an errno value.
 */
NODISCARD int result_write_totals(const struct result_settings *settings,
                                  struct account_totals *totals, const uint8_t *wanted);

#endif
