#include "lines/counters.h"

#include "check.h"

#define N_CODES 3000

static struct instr instrs[] = {
    {.unit = 0, .own_unit = 0, .flow = FLOW_NEXT, .resumes = true, .ends_block = true},
    {.unit = 1, .own_unit = 2, .flow = FLOW_NEXT, .probe = PROBE_FREE},
    {.unit = 3, .own_unit = 3, .flow = FLOW_END, .probe = PROBE_FREE, .may_stop = true},
};
static const struct instr_list list = {.instrs = instrs, .n_instrs = 3, .n_units = 4};

/* Addresses like those of objects, with collisions. */
static const void *key(uint32_t which)
{
    return (const void *)(uintptr_t)(0x7f0000000000u + which * 16u * (which % 3 == 0 ? 1u : 4096u));
}

static struct counters *add(struct counters_table *table, const void *at, enum counters_kind kind)
{
    struct counters *counters = counters_make(table, at, &list, NULL, NULL, kind);
    CHECK(counters != NULL);
    CHECK(counters_find(table, at)->key == NULL);
    counters_put(table, counters);
    return counters;
}

static void codes_are_found_again(void)
{
    static struct counters *counters[N_CODES];
    struct counters_table table = {0};
    CHECK_EQ(counters_init(&table), 0);
    CHECK(counters_find(&table, key(1))->key == NULL);
    CHECK(!counters_pass(counters_find(&table, key(1)), 2));
    for (uint32_t i = 0; i < N_CODES; i++) {
        if (counters_find(&table, key(i + 1))->key != NULL)
            continue; /* two numbers may make the same address */
        counters[i] = add(&table, key(i + 1), COUNT_PROBES);
    }
    for (uint32_t i = 0; i < N_CODES; i += 2)
        if (counters[i] != NULL)
            counters_remove(&table, key(i + 1));
    for (uint32_t i = 0; i < N_CODES; i++) {
        const struct counters_slot *slot = counters_find(&table, key(i + 1));
        if (counters[i] == NULL)
            continue;
        CHECK(slot->counters == (i % 2 ? counters[i] : NULL));
    }
    counters_remove(&table, key(1)); /* it is not there */
    counters_release(&table);
}

static void only_probes_are_counted(void)
{
    struct counters_table table = {0};
    struct counters *counters;
    const struct counters_slot *slot;
    CHECK_EQ(counters_init(&table), 0);
    counters = add(&table, key(1), COUNT_PROBES);
    slot = counters_find(&table, key(1));
    CHECK(!counters_pass(slot, 0));
    CHECK(!counters_pass(slot, 1)); /* a prefix */
    CHECK(counters_pass(slot, 2));
    CHECK(counters_pass(slot, 2));
    CHECK(!counters_pass(slot, 3));
    CHECK_EQ(counters->units[2], 2);
    CHECK_EQ(counters_instr(counters, 1), 1);
    CHECK_EQ(counters_instr(counters, 3), 2);
    CHECK_EQ(counters_instr(counters, 99), 0);
    CHECK(counters->may_stop[2] && !counters->may_stop[1]);
    counters_release(&table);
}

static void all_instructions_can_be_counted(void)
{
    struct counters_table table = {0};
    CHECK_EQ(counters_init(&table), 0);
    add(&table, key(1), COUNT_ALL);
    CHECK(counters_pass(counters_find(&table, key(1)), 0));
    CHECK(counters_pass(counters_find(&table, key(1)), 3));
    CHECK(!counters_pass(counters_find(&table, key(1)), 1));
    counters_release(&table);
}

int main(void)
{
    codes_are_found_again();
    only_probes_are_counted();
    all_instructions_can_be_counted();
    return 0;
}
