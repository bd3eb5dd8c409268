#include "history/ranges.h"

#include "check.h"

#define N_BYTES 4000

static uint64_t random_state = 7;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* Sorted, disjoint, no empty range, no empty or overfull chunk. */
static void check_order(const struct ranges *ranges)
{
    uint64_t end = 0;
    for (size_t i = 0; i < ranges->chunks.n; i++) {
        const struct range_chunk *chunk = ranges->chunks.items[i];
        CHECK(chunk->n > 0 && chunk->n <= RANGES_IN_CHUNK);
        for (uint32_t k = 0; k < chunk->n; k++) {
            CHECK(chunk->items[k].start >= end);
            CHECK(chunk->items[k].end > chunk->items[k].start);
            end = chunk->items[k].end;
        }
    }
}

static void a_mapping_is_gone_with_its_last_piece(void)
{
    struct ranges ranges = {0};
    struct taken_ranges taken = {0};
    CHECK_EQ(ranges_add(&ranges, 100, 200, 1), 0);
    CHECK_EQ(ranges_take(&ranges, 120, 130, &taken), 0);
    CHECK_EQ(taken.n, 1);
    CHECK_EQ(taken.items[0].range.start, 120);
    CHECK_EQ(taken.items[0].range.end, 130);
    CHECK(!taken.items[0].last);
    CHECK_EQ(ranges_take(&ranges, 130, 300, &taken), 0);
    CHECK(!taken.items[1].last);
    CHECK_EQ(ranges_take(&ranges, 0, 300, &taken), 0);
    CHECK_EQ(taken.n, 3);
    CHECK(taken.items[2].last);
    CHECK_EQ(ranges.chunks.n, 0);
    CHECK_EQ(ranges_put_back(&ranges, &taken.items[2].range), 0);
    CHECK_EQ(ranges.n_pieces.items[0], 1);
    page_vec_release(&taken);
    ranges_release(&ranges);
}

/* Against an array with the owner of every byte. */
static void a_random_history_agrees_with_an_array(void)
{
    static uint32_t owner[N_BYTES];
    struct ranges ranges = {0};
    struct taken_ranges taken = {0};
    size_t most_chunks = 0;
    for (uint32_t step = 1; step <= 60000; step++) {
        uint64_t start = next_random() % N_BYTES;
        uint64_t end = start + 1 + next_random() % (step % 50 == 0 ? 500 : 4);
        uint64_t n_taken = 0, n_want = 0;
        if (end > N_BYTES)
            end = N_BYTES;
        taken.n = 0;
        CHECK_EQ(ranges_take(&ranges, start, end, &taken), 0);
        for (size_t i = 0; i < taken.n; i++) {
            const struct range *range = &taken.items[i].range;
            for (uint64_t at = range->start; at < range->end; at++, n_taken++)
                CHECK_EQ(owner[at], range->entry);
        }
        for (uint64_t at = start; at < end; at++) {
            n_want += owner[at] != 0;
            owner[at] = 0;
        }
        CHECK_EQ(n_taken, n_want);
        if (next_random() % 4 != 0) {
            CHECK_EQ(ranges_add(&ranges, start, end, step), 0);
            for (uint64_t at = start; at < end; at++)
                owner[at] = step;
        }
        if (ranges.chunks.n > most_chunks)
            most_chunks = ranges.chunks.n;
        if (step % 100 == 0)
            check_order(&ranges);
    }
    CHECK(most_chunks > 4);
    page_vec_release(&taken);
    ranges_release(&ranges);
}

int main(void)
{
    a_mapping_is_gone_with_its_last_piece();
    a_random_history_agrees_with_an_array();
    return 0;
}
