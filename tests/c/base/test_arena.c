#include "base/arena.h"

#include "check.h"

#include <string.h>

static void memory_is_zeroed_aligned_and_apart(void)
{
    struct arena arena = {0};
    uint8_t *before = NULL;
    for (size_t n = 1; n < 3000; n++) {
        uint8_t *at = arena_alloc(&arena, n);
        CHECK(at != NULL);
        CHECK_EQ((uintptr_t)at % 16, 0);
        for (size_t i = 0; i < n; i++)
            CHECK_EQ(at[i], 0);
        memset(at, 0xab, n);
        CHECK(before == NULL || before[0] == 0xab);
        before = at;
    }
    arena_release(&arena);
    CHECK(arena.newest == NULL);
}

static void an_allocation_may_be_larger_than_a_chunk(void)
{
    struct arena arena = {0};
    uint8_t *at = arena_alloc(&arena, 10 << 20);
    CHECK(at != NULL);
    at[(10 << 20) - 1] = 1;
    CHECK(arena_alloc(&arena, 16) != NULL);
    arena_release(&arena);
}

static void growing_pages_keeps_what_was_there(void)
{
    uint8_t *at = pages_alloc(4096);
    CHECK(at != NULL);
    at[4095] = 7;
    at = pages_grow(at, 4096, 1 << 20);
    CHECK(at != NULL);
    CHECK_EQ(at[4095], 7);
    CHECK_EQ(at[(1 << 20) - 1], 0);
    pages_free(at, 1 << 20);
}

int main(void)
{
    memory_is_zeroed_aligned_and_apart();
    an_allocation_may_be_larger_than_a_chunk();
    growing_pages_keeps_what_was_there();
    return 0;
}
