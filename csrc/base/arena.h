/*
 * arena.h - memory that only grows, straight from mmap, for code that may run inside malloc.
 *
 * Not thread-safe: the owner holds its lock. Memory is zeroed and 16-byte aligned, and stays
 * where it is until arena_release.
 */
#ifndef PROFTRACE_BASE_ARENA_H
#define PROFTRACE_BASE_ARENA_H

#include "base/compiler.h"

#include <stddef.h>
#include <stdint.h>

struct arena_chunk;

struct arena {
    struct arena_chunk *newest; /* owned */
    uint8_t *next;
    uint8_t *end;
    size_t total_bytes; /* mapped so far */
};

/* Returns NULL when the kernel has no memory left. An all-zero arena is a valid empty one. */
NODISCARD void *arena_alloc(struct arena *arena, size_t n_bytes);
void arena_release(struct arena *arena);

/* Page-wise anonymous memory without an arena; NULL on failure. */
NODISCARD void *pages_alloc(size_t n_bytes);
void pages_free(void *at, size_t n_bytes);
/* Grows or moves; the old contents are kept and the rest is zero. NULL leaves the old mapping. */
NODISCARD void *pages_grow(void *at, size_t old_bytes, size_t new_bytes);

/*
 * The kernel's calls themselves: the capture library interposes mmap and munmap, and what we map
 * must never come back to us as an event of the program.
 */
void *raw_mmap(void *at, size_t n_bytes, int protection, int flags, int fd, long offset);
int raw_munmap(void *at, size_t n_bytes);

#endif
