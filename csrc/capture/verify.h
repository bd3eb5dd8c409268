/*
 * verify.h - every recorded stack a second time by other means: `memtrace run --verify-stacks`.
 *
 * The node of an event is taken apart again, and each place compared with what the interpreter's
 * own functions say of a walk without memory. Code is compared by content, never by address. Every
 * so often the second walk is the interpreter's own, through frame objects.
 */
#ifndef PROFTRACE_CAPTURE_VERIFY_H
#define PROFTRACE_CAPTURE_VERIFY_H

#include "format/record.h"

#include <stdbool.h>
#include <stdint.h>

/* Before the first node of a capture is defined; sets capture.verify. */
void verify_start_locked(bool on);

/* The calling thread's stack was just recorded as `node`; with the guard, without the lock. */
void verify_stack(uint32_t node, enum event_kind kind);

struct verify_counts {
    uint64_t n_stacks;
    uint64_t n_differences;
};

void verify_counts(struct verify_counts *counts);

/* At the end: one line on stderr, if stacks were verified. */
void verify_report_locked(void);

#endif
