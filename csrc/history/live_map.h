/*
 * live_map.h - blocks that are allocated now: address -> size and entry. Open addressing; removal
 * shifts the run back, so there are no tombstones.
 */
#ifndef PROFTRACE_HISTORY_LIVE_MAP_H
#define PROFTRACE_HISTORY_LIVE_MAP_H

#include "base/compiler.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct live_block {
    uint64_t address : 48;
    uint64_t ordinal_low : 16; /* see live_block_ordinal */
    uint64_t size : 48;        /* bytes it stands for: its own, and more where it is a sample */
    uint64_t ordinal_high : 16;
    uint32_t entry;        /* row of the tally, plus 1; 0 = a free slot */
    uint32_t blocks : 31;  /* that it stands for: 1, and more where it is a sample */
    uint32_t in_arena : 1; /* see python_heap.h */
};

/* Which of its thread's allocations it was: 32 bits, in what is left of two words. */
static inline uint32_t live_block_ordinal(const struct live_block *block)
{
    return (uint32_t)block->ordinal_high << 16 | (uint32_t)block->ordinal_low;
}

static inline void live_block_set_ordinal(struct live_block *block, uint32_t ordinal)
{
    block->ordinal_low = ordinal & 0xffff;
    block->ordinal_high = ordinal >> 16;
}

/* Addresses have so many bits, on every machine we know; others come from damaged logs. */
#define LIVE_MAP_ADDRESS(address_) ((address_) & (((uint64_t)1 << 48) - 1))

struct live_map {
    struct live_block *slots; /* owned; n_slots of them, a power of two or 0 */
    size_t n_slots;
    size_t n_used;
};

/*
 * Adds a block. If there is one at this address already (its free was not seen), *replaced gets it,
 * else replaced->entry is 0. -1 when there is no memory left.
 */
NODISCARD int live_map_put(struct live_map *map, const struct live_block *block,
                           struct live_block *replaced);
/* Takes the block at an address out; false when there is none. */
NODISCARD bool live_map_take(struct live_map *map, uint64_t address, struct live_block *taken);
void live_map_release(struct live_map *map);

#endif
