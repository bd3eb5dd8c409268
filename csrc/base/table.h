/*
 * table.h - u64 -> u32, open addressing, in pages of its own; usable inside malloc.
 *
 * Keys are any u64; a value of 0 means "absent" and cannot be stored. Grows at 1/2 full, never
 * pre-sized: a large sparse table costs page faults at start. Not thread-safe.
 */
#ifndef PROFTRACE_BASE_TABLE_H
#define PROFTRACE_BASE_TABLE_H

#include "base/compiler.h"

#include <stddef.h>
#include <stdint.h>

struct table_entry {
    uint64_t key;
    uint32_t value; /* 0 = free */
    uint32_t padding;
};

struct table {
    struct table_entry *entries; /* owned; n_slots of them, NULL while empty */
    uint32_t n_slots;            /* a power of two, or 0 */
    uint32_t n_used;
};

/* Returns the value, 0 when the key is absent. */
NODISCARD uint32_t table_get(const struct table *table, uint64_t key);
/* Adds or replaces; value != 0. -1 when the table could not grow (it is unchanged). */
NODISCARD int table_put(struct table *table, uint64_t key, uint32_t value);
void table_remove(struct table *table, uint64_t key);
/* Forgets all entries; keeps the pages of a small table, so that doing it often costs little. */
void table_clear(struct table *table);
void table_release(struct table *table);

/* A strong 64-bit mix (the finaliser of MurmurHash3). */
static inline uint64_t hash_u64(uint64_t value)
{
    value ^= value >> 33;
    value *= 0xff51afd7ed558ccdULL;
    value ^= value >> 33;
    value *= 0xc4ceb9fe1a85ec53ULL;
    value ^= value >> 33;
    return value;
}

#endif
