/*
 * peek.h - reads of this process's own memory that cannot fault.
 *
 * For a signal handler, or another thread, that follows pointers which may be half written: the
 * kernel copies, and says so when there is nothing (where that is forbidden, it is asked whether
 * there is something before we copy). Whole pages are fetched and kept, so that
 * following a chain through one page costs one system call. Not thread-safe: one owner at a time.
 */
#ifndef PROFTRACE_BASE_PEEK_H
#define PROFTRACE_BASE_PEEK_H

#include "base/compiler.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PEEK_PAGE_BYTES 4096u /* no page of a supported machine is smaller */
#define PEEK_PAGES 8u

struct peek {
    uintptr_t starts[PEEK_PAGES]; /* of the pages held; 0 = none */
    uint32_t next;                /* the place that is used again first */
    uint8_t pages[PEEK_PAGES][PEEK_PAGE_BYTES] __attribute__((aligned(8)));
};

/* What was fetched may be out of date by now. */
void peek_forget(struct peek *peek);

/* Copies n_bytes (at most a page) from an address. False: they cannot be read. */
NODISCARD bool peek_bytes(struct peek *peek, uintptr_t at, void *to, size_t n_bytes);

static inline bool peek_word(struct peek *peek, uintptr_t at, uintptr_t *value)
{
    return peek_bytes(peek, at, value, sizeof *value);
}

#endif
