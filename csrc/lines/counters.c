/* counters.c - see counters.h. */
#include "lines/counters.h"

#include <string.h>

#define FIRST_SLOTS 64u

static int table_resize(struct counters_table *table, uint32_t n_slots)
{
    struct counters_table bigger = *table;
    bigger.slots = arena_alloc(&table->arena, n_slots * sizeof *bigger.slots);
    if (bigger.slots == NULL)
        return -1;
    bigger.mask = n_slots - 1;
    for (uint32_t i = 0; table->slots != NULL && i <= table->mask; i++)
        if (table->slots[i].key != NULL)
            bigger.slots[counters_find(&bigger, table->slots[i].key) - bigger.slots] =
                table->slots[i];
    table->slots = bigger.slots;
    table->mask = bigger.mask;
    return 0;
}

int counters_init(struct counters_table *table)
{
    return table_resize(table, FIRST_SLOTS);
}

void counters_release(struct counters_table *table)
{
    arena_release(&table->arena);
    memset(table, 0, sizeof *table);
}

static void make_units(struct counters *counters, const struct instr_list *code,
                       enum counters_kind kind)
{
    for (uint32_t unit = 0; unit < code->n_units; unit++)
        counters->units[unit] = NO_COUNTER;
    for (uint32_t i = 0; i < code->n_instrs; i++) {
        counters->may_stop[i] = code->instrs[i].may_stop;
        if (kind == COUNT_ALL)
            counters->units[code->instrs[i].own_unit] = 0;
    }
    for (uint32_t b = 0; b < counters->plan.n_blocks; b++)
        if (counters->plan.blocks[b].probe != NO_INSTR)
            counters->units[code->instrs[counters->plan.blocks[b].probe].own_unit] = 0;
}

struct counters *counters_make(struct counters_table *table, const void *key,
                               const struct instr_list *code, const uint8_t *needed,
                               const uint64_t *weights, enum counters_kind kind)
{
    struct counters *counters = arena_alloc(&table->arena, sizeof *counters);
    if (counters == NULL || blocks_plan(&counters->plan, code, needed, weights, &table->arena) < 0)
        return NULL;
    counters->key = key;
    counters->units = arena_alloc(&table->arena, (code->n_units + 1) * sizeof *counters->units);
    counters->losses = arena_alloc(&table->arena, (code->n_instrs + 1) * sizeof *counters->losses);
    counters->may_stop = arena_alloc(&table->arena, code->n_instrs + 1);
    if (counters->units == NULL || counters->losses == NULL || counters->may_stop == NULL)
        return NULL;
    make_units(counters, code, kind);
    if ((table->n_made + 1) * 4 > table->mask && table_resize(table, (table->mask + 1) * 2) < 0)
        return NULL;
    table->n_made++;
    return counters;
}

void counters_put(struct counters_table *table, struct counters *counters)
{
    struct counters_slot *slot = &table->slots[counters_find(table, counters->key) - table->slots];
    *slot = (struct counters_slot){counters->key, counters->units, counters};
}

void counters_remove(struct counters_table *table, const void *key)
{
    struct counters_slot *slots = table->slots;
    uint32_t hole = (uint32_t)(counters_find(table, key) - slots);
    if (slots[hole].key == NULL)
        return;
    slots[hole] = (struct counters_slot){0};
    /* What was pushed on by the one that is gone has to be found again. */
    for (uint32_t i = (hole + 1) & table->mask; slots[i].key != NULL; i = (i + 1) & table->mask) {
        struct counters_slot moved = slots[i];
        slots[i] = (struct counters_slot){0};
        slots[counters_find(table, moved.key) - slots] = moved;
    }
}
