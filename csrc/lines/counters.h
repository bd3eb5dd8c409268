/*
 * counters.h - the counters of hot code objects: what the INSTRUCTION and RAISE callbacks write.
 *
 * All threads write the same counters with plain adds: a callback holds the GIL from its beginning
 * to its end, and code of free-threaded builds never gets hot. Reading is possible at any time.
 */
#ifndef PROFTRACE_LINES_COUNTERS_H
#define PROFTRACE_LINES_COUNTERS_H

#include "lines/blocks.h"

/* In `units`: there is no counter at this code unit. */
#define NO_COUNTER INT64_MIN

struct counters {
    const void *key;   /* the code object; compared, never followed */
    int64_t *units;    /* by code unit: how often the probe there was passed, or NO_COUNTER */
    int64_t *losses;   /* by instruction; see blocks_derive */
    uint8_t *may_stop; /* by instruction: a StopIteration ends here and is no loss */
    struct block_plan plan;
};

struct counters_slot {
    const void *key; /* NULL = free */
    int64_t *units;
    struct counters *counters;
};

/* By address of the code object: open addressing, at most a quarter full. All zero = empty. */
struct counters_table {
    uint32_t mask;
    uint32_t n_made;             /* counters that may be put into it */
    struct counters_slot *slots; /* one that is always free while the table is empty */
    struct arena arena;          /* owns everything */
};

NODISCARD int counters_init(struct counters_table *table);
void counters_release(struct counters_table *table);

enum counters_kind {
    COUNT_PROBES, /* what blocks_derive needs */
    COUNT_ALL,    /* every instruction, to compare with */
};

/*
 * Plans the counters of a code object, all at zero; `needed` and `weights` as for blocks_plan. They
 * live in the table's arena, but do not count before they are put into it. NULL when memory is out.
 */
NODISCARD struct counters *counters_make(struct counters_table *table, const void *key,
                                         const struct instr_list *code, const uint8_t *needed,
                                         const uint64_t *weights, enum counters_kind kind);

/* Lets the counters count; their key must not be in the table. counters_make has seen to room. */
void counters_put(struct counters_table *table, struct counters *counters);

/* Takes a code object out; its counters stay where they are. */
void counters_remove(struct counters_table *table, const void *key);

/* Returns the slot of a code object, or a free one (key NULL). */
static inline const struct counters_slot *counters_find(const struct counters_table *table,
                                                        const void *key)
{
    uintptr_t address = (uintptr_t)key;
    uint32_t i = (uint32_t)(address >> 4 ^ address >> 12) & table->mask;
    while (unlikely(table->slots[i].key != key) && table->slots[i].key != NULL)
        i = (i + 1) & table->mask;
    return &table->slots[i];
}

/*
 * Passes the probe at a code unit. False when there is none: the event should not come again. The
 * slot may be a free one.
 */
static inline bool counters_pass(const struct counters_slot *slot, uint32_t unit)
{
    int64_t *counter;
    if (unlikely(slot->key == NULL))
        return false;
    counter = slot->units + unit;
    if (unlikely(*counter < 0))
        return false;
    ++*counter;
    return true;
}

/* The instruction that a code unit belongs to. */
static inline uint32_t counters_instr(const struct counters *counters, uint32_t unit)
{
    return unit < counters->plan.n_units ? counters->plan.instr_of_unit[unit] : 0;
}

#endif
