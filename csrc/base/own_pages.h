/*
 * own_pages.h - which memory is ours and not the program's, and how much of it is in memory.
 *
 * Every function may be called from any thread, inside malloc and after a fork: where the list is
 * in use or full, a range is not noted, and counts as the program's.
 */
#ifndef PROFTRACE_BASE_OWN_PAGES_H
#define PROFTRACE_BASE_OWN_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void own_pages_note(const void *at, size_t n_bytes, bool shared);
void own_pages_forget(const void *at);

/* Bytes of them, in memory or not. */
uint64_t own_pages_bytes(void);

/* Bytes of them that are in memory now. One caller at a time. */
void own_pages_resident(uint64_t *anonymous, uint64_t *shared);

#endif
