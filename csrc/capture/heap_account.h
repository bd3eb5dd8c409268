/*
 * heap_account.h - what malloc has taken from the system, and what of that is free, as the
 * allocator that serves the program says: the C library's (mallinfo2) or jemalloc.
 */
#ifndef PROFTRACE_CAPTURE_HEAP_ACCOUNT_H
#define PROFTRACE_CAPTURE_HEAP_ACCOUNT_H

#include "base/compiler.h"

#include <stdbool.h>
#include <stdint.h>

struct heap_account {
    uint64_t taken_bytes;
    uint64_t free_bytes;
};

/* Looks for the functions that tell; before any lock is taken, since the loader has one. */
void heap_account_find(void);

/*
 * False: the allocator does not tell. Takes the allocator's locks for a moment, so the caller may
 * not be inside it: hooks are not, before and after the real call.
 */
NODISCARD bool heap_account_read(struct heap_account *account);

#endif
