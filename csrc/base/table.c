/* table.c - see table.h. Linear probing; removal shifts the run back, so there are no tombstones.
 */
#include "base/table.h"

#include "base/arena.h" /* pages_alloc */

#include <string.h>

#define FIRST_SLOTS 256u
#define SMALL_SLOTS 1024u /* clearing more costs as much as new pages */

static uint32_t home_slot(const struct table *table, uint64_t key)
{
    return (uint32_t)hash_u64(key) & (table->n_slots - 1);
}

/* The slot that holds the key, or the free one where it belongs. */
static uint32_t find_slot(const struct table *table, uint64_t key)
{
    uint32_t slot = home_slot(table, key);
    while (table->entries[slot].value != 0 && table->entries[slot].key != key)
        slot = (slot + 1) & (table->n_slots - 1);
    return slot;
}

uint32_t table_get(const struct table *table, uint64_t key)
{
    return table->n_slots == 0 ? 0 : table->entries[find_slot(table, key)].value;
}

static int table_grow(struct table *table)
{
    struct table bigger = {.n_slots = table->n_slots == 0 ? FIRST_SLOTS : table->n_slots * 2};
    bigger.entries = pages_alloc(bigger.n_slots * sizeof(struct table_entry));
    if (bigger.entries == NULL)
        return -1;
    for (uint32_t slot = 0; slot < table->n_slots; slot++) {
        const struct table_entry *entry = &table->entries[slot];
        if (entry->value != 0)
            bigger.entries[find_slot(&bigger, entry->key)] = *entry;
    }
    bigger.n_used = table->n_used;
    table_release(table);
    *table = bigger;
    return 0;
}

int table_put(struct table *table, uint64_t key, uint32_t value)
{
    uint32_t slot;
    if (table->n_used * 2 >= table->n_slots && table_grow(table) != 0)
        return -1;
    slot = find_slot(table, key);
    if (table->entries[slot].value == 0)
        table->n_used++;
    table->entries[slot] = (struct table_entry){.key = key, .value = value};
    return 0;
}

void table_remove(struct table *table, uint64_t key)
{
    uint32_t mask = table->n_slots - 1;
    uint32_t hole, next;
    if (table->n_slots == 0)
        return;
    hole = find_slot(table, key);
    if (table->entries[hole].value == 0)
        return;
    for (next = (hole + 1) & mask; table->entries[next].value != 0; next = (next + 1) & mask) {
        uint32_t home = home_slot(table, table->entries[next].key);
        /* An entry may move back to the hole unless its home lies behind the hole. */
        if (((next - home) & mask) >= ((next - hole) & mask)) {
            table->entries[hole] = table->entries[next];
            hole = next;
        }
    }
    table->entries[hole] = (struct table_entry){0};
    table->n_used--;
}

void table_clear(struct table *table)
{
    if (table->n_slots > SMALL_SLOTS) {
        table_release(table);
    } else if (table->n_used != 0) {
        memset(table->entries, 0, table->n_slots * sizeof(struct table_entry));
        table->n_used = 0;
    }
}

void table_release(struct table *table)
{
    pages_free(table->entries, table->n_slots * sizeof(struct table_entry));
    *table = (struct table){0};
}
