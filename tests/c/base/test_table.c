#include "base/table.h"

#include "check.h"

#include <string.h>

#define N_KEYS 1000

static void a_random_history_agrees_with_an_array(void)
{
    static uint32_t truth[N_KEYS];
    struct table table = {0};
    uint64_t random = 1;
    for (int step = 0; step < 200000; step++) {
        uint32_t key, value;
        random = random * 6364136223846793005ull + 1442695040888963407ull;
        key = (uint32_t)(random >> 33) % N_KEYS;
        value = (uint32_t)(random >> 40) | 1;
        if (random & 1ull << 60) {
            CHECK_EQ(table_put(&table, key, value), 0);
            truth[key] = value;
        } else {
            table_remove(&table, key);
            truth[key] = 0;
        }
        CHECK_EQ(table_get(&table, (key + 1) % N_KEYS), truth[(key + 1) % N_KEYS]);
    }
    for (uint32_t key = 0; key < N_KEYS; key++)
        CHECK_EQ(table_get(&table, key), truth[key]);
    table_release(&table);
}

static void an_empty_table_answers(void)
{
    struct table table = {0};
    CHECK_EQ(table_get(&table, 5), 0);
    table_remove(&table, 5);
    CHECK_EQ(table_put(&table, 0, 9), 0); /* key 0 is a key like any other */
    CHECK_EQ(table_get(&table, 0), 9);
    table_release(&table);
}

static void a_cleared_table_is_empty(void)
{
    for (uint32_t n = 0; n < 5000; n = n * 3 + 1) { /* small ones keep their pages, others do not */
        struct table table = {0};
        table_clear(&table);
        for (uint32_t key = 0; key < n; key++)
            CHECK(table_put(&table, key, key + 1) == 0);
        table_clear(&table);
        for (uint32_t key = 0; key < n; key++)
            CHECK(table_get(&table, key) == 0);
        CHECK(table_put(&table, 7, 8) == 0 && table_get(&table, 7) == 8 && table.n_used == 1);
        table_release(&table);
    }
}

int main(void)
{
    a_random_history_agrees_with_an_array();
    an_empty_table_answers();
    a_cleared_table_is_empty();
    return 0;
}
