#include "history/live_map.h"

#include "check.h"

#define N_ADDRESSES 5000

static uint64_t random_state = 1;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static void blocks_are_replaced_and_taken_once(void)
{
    struct live_map map = {0};
    struct live_block block = {.address = 0x1000, .size = 10, .entry = 1}, found;
    CHECK(!live_map_take(&map, 0x1000, &found));
    CHECK_EQ(live_map_put(&map, &block, &found), 0);
    CHECK_EQ(found.entry, 0);
    block.size = 20;
    CHECK_EQ(live_map_put(&map, &block, &found), 0);
    CHECK_EQ(found.size, 10);
    CHECK_EQ(map.n_used, 1);
    CHECK(live_map_take(&map, 0x1000, &found));
    CHECK_EQ(found.size, 20);
    CHECK(!live_map_take(&map, 0x1000, &found));
    CHECK_EQ(map.n_used, 0);
    live_map_release(&map);
}

/* Against an array that is indexed by the address: random puts and takes, with growth in between.
 */
static void a_random_history_agrees_with_an_array(void)
{
    static uint64_t sizes[N_ADDRESSES];
    static uint32_t entries[N_ADDRESSES];
    struct live_map map = {0};
    size_t n_live = 0;
    for (int step = 0; step < 200000; step++) {
        uint64_t index = next_random() % N_ADDRESSES;
        struct live_block block = {.address = index * 16,
                                   .size = next_random(),
                                   .entry = (uint32_t)step + 1},
                          found;
        if (next_random() % 2) {
            CHECK_EQ(live_map_put(&map, &block, &found), 0);
            CHECK_EQ(found.entry, entries[index]);
            n_live += entries[index] == 0;
            sizes[index] = block.size;
            entries[index] = block.entry;
        } else {
            CHECK_EQ(live_map_take(&map, block.address, &found), entries[index] != 0);
            if (entries[index] != 0) {
                CHECK(found.size == sizes[index] && found.entry == entries[index]);
                n_live--;
            }
            entries[index] = 0;
        }
        CHECK_EQ(map.n_used, n_live);
    }
    live_map_release(&map);
}

int main(void)
{
    blocks_are_replaced_and_taken_once();
    a_random_history_agrees_with_an_array();
    return 0;
}
