/* live_map.c - see live_map.h. */
#include "history/live_map.h"

#include "base/arena.h" /* pages */
#include "base/table.h" /* hash_u64 */

#define FIRST_SLOTS 1024

static size_t home_slot(const struct live_map *map, uint64_t address)
{
    return hash_u64(address) & (map->n_slots - 1);
}

/* The slot that holds the address, or the free one where it belongs. */
static size_t find_slot(const struct live_map *map, uint64_t address)
{
    size_t slot = home_slot(map, address);
    while (map->slots[slot].entry != 0 && map->slots[slot].address != address)
        slot = (slot + 1) & (map->n_slots - 1);
    return slot;
}

static int grow(struct live_map *map)
{
    struct live_map bigger = {.n_slots = map->n_slots == 0 ? FIRST_SLOTS : map->n_slots * 2,
                              .n_used = map->n_used};
    bigger.slots = pages_alloc(bigger.n_slots * sizeof *bigger.slots);
    if (bigger.slots == NULL)
        return -1;
    for (size_t slot = 0; slot < map->n_slots; slot++) {
        if (map->slots[slot].entry != 0)
            bigger.slots[find_slot(&bigger, map->slots[slot].address)] = map->slots[slot];
    }
    pages_free(map->slots, map->n_slots * sizeof *map->slots);
    *map = bigger;
    return 0;
}

int live_map_put(struct live_map *map, const struct live_block *block, struct live_block *replaced)
{
    size_t slot;
    if (map->n_used * 4 >= map->n_slots * 3 && grow(map) != 0)
        return -1;
    slot = find_slot(map, block->address);
    *replaced = map->slots[slot];
    if (replaced->entry == 0)
        map->n_used++;
    map->slots[slot] = *block;
    return 0;
}

bool live_map_take(struct live_map *map, uint64_t address, struct live_block *taken)
{
    size_t mask = map->n_slots - 1;
    size_t hole, next;
    if (map->n_slots == 0)
        return false;
    address = LIVE_MAP_ADDRESS(address);
    hole = find_slot(map, address);
    if (map->slots[hole].entry == 0)
        return false;
    *taken = map->slots[hole];
    for (next = (hole + 1) & mask; map->slots[next].entry != 0; next = (next + 1) & mask) {
        size_t home = home_slot(map, map->slots[next].address);
        /* A block may move back to the hole unless its home lies behind the hole. */
        if (((next - home) & mask) >= ((next - hole) & mask)) {
            map->slots[hole] = map->slots[next];
            hole = next;
        }
    }
    map->slots[hole] = (struct live_block){0};
    map->n_used--;
    return true;
}

void live_map_release(struct live_map *map)
{
    pages_free(map->slots, map->n_slots * sizeof *map->slots);
    *map = (struct live_map){0};
}
