#include "interp/pymalloc.h"

#include "check.h"

#include <string.h>
#include <sys/mman.h>

#define STATE_BYTES ((size_t)1 << 20)
#define TABLES_BYTES ((size_t)1 << 16)
#define ARENA_BYTES ((uint64_t)1 << 20)
#define NOTED 5000 /* the word of the state that leads to the tables */

/* pymalloc's tables as CPython lays them out: heads of lists, the array of arenas, its length. */
struct fake_tables {
    uintptr_t heads[64];
    const void *arenas;
    uint32_t n_arenas;
};

static void *map(size_t n_bytes)
{
    void *at = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(at != MAP_FAILED);
    return at;
}

/* All lists are empty, and there is no arena. */
static void make_tables(struct fake_tables *tables)
{
    memset(tables, 0, sizeof *tables);
    for (unsigned i = 0; i < 64; i++)
        tables->heads[i] = (uintptr_t)&tables->heads[i & ~1u] - 2 * sizeof(uintptr_t);
}

static void test_tables_within_the_state_stay_there(void)
{
    uintptr_t *state = map(STATE_BYTES);
    struct pymalloc_place place;
    struct pymalloc_view view;
    make_tables((struct fake_tables *)(state + NOTED));
    place = pymalloc_find((uintptr_t)state);
    CHECK(place.tables == (uintptr_t)(state + NOTED));
    CHECK(pymalloc_is_there(&place, (uintptr_t)state));
    CHECK(pymalloc_read(place.tables, ARENA_BYTES, &view) && view.arenas == 0);
    CHECK(!pymalloc_is_there(&place, (uintptr_t)state + 4096));
    munmap(state, STATE_BYTES);
}

static void test_another_interpreter_at_the_same_address_has_its_own(void)
{
    uintptr_t *state = map(STATE_BYTES);
    struct fake_tables *first = map(TABLES_BYTES), *second = map(TABLES_BYTES);
    struct pymalloc_place place;
    make_tables(first);
    make_tables(second);
    state[NOTED] = (uintptr_t)first;
    place = pymalloc_find((uintptr_t)state);
    CHECK(place.tables == (uintptr_t)first && place.interp == (uintptr_t)state);
    CHECK(pymalloc_is_there(&place, (uintptr_t)state));
    munmap(first, TABLES_BYTES);
    state[NOTED] = (uintptr_t)second;
    CHECK(!pymalloc_is_there(&place, (uintptr_t)state));
    CHECK(pymalloc_find((uintptr_t)state).tables == (uintptr_t)second);
    munmap(state, STATE_BYTES);
    CHECK(!pymalloc_is_there(&place, (uintptr_t)state));
    munmap(second, TABLES_BYTES);
}

static void test_tables_that_have_gone_are_not_read(void)
{
    struct fake_tables *tables = map(TABLES_BYTES);
    struct pymalloc_view view;
    make_tables(tables);
    munmap(tables, TABLES_BYTES);
    CHECK(!pymalloc_read((uintptr_t)tables, ARENA_BYTES, &view));
}

static void test_nothing_is_found_where_nothing_is(void)
{
    uintptr_t *state = map(STATE_BYTES);
    struct pymalloc_place place = pymalloc_find((uintptr_t)state);
    CHECK(place.tables == 0);
    CHECK(pymalloc_is_there(&place, (uintptr_t)state)); /* not searched for again and again */
    munmap(state, STATE_BYTES);
}

int main(void)
{
    test_tables_within_the_state_stay_there();
    test_another_interpreter_at_the_same_address_has_its_own();
    test_tables_that_have_gone_are_not_read();
    test_nothing_is_found_where_nothing_is();
    return 0;
}
