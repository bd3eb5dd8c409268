/* Events of several threads come out in the order of their seqs, whatever order they come in. */
#include "capture/reorder.h"
#include "check.h"

#define MANY 5000

static uint64_t out[3 * MANY];
static size_t n_out;

static void note(void *context, const struct event *event, uint32_t stream)
{
    (void)context;
    CHECK_EQ(stream, event->size % 3);
    out[n_out++] = event->address;
}

/* `stream` is told by the size; `name` is what comes out. */
static void put(struct reorder *reorder, uint32_t stream, uint64_t seq, uint64_t name)
{
    const struct event event = {.kind = EVENT_FREE, .seq = seq, .address = name, .size = stream};
    reorder_put(reorder, &event, stream, note, NULL);
}

static void check_out(const uint64_t *want, size_t n)
{
    CHECK_EQ(n_out, n);
    for (size_t i = 0; i < n; i++)
        CHECK_EQ(out[i], want[i]);
    n_out = 0;
}

static void what_is_missing_is_waited_for(void)
{
    struct reorder reorder = {0};
    CHECK_EQ(reorder_start(&reorder), 0);
    for (uint64_t seq = 2; seq <= MANY; seq++) {
        put(&reorder, seq % 3, seq, seq * 10);
        put(&reorder, seq % 3, 0, seq * 10 + 1); /* behind it, in its run */
    }
    reorder_advance(&reorder, note, NULL);
    CHECK(n_out == 0 && reorder_waits(&reorder));
    put(&reorder, 1, 1, 10);
    put(&reorder, 1, 0, 11);
    reorder_advance(&reorder, note, NULL);
    CHECK(n_out == 2 * MANY && !reorder_waits(&reorder));
    for (size_t i = 0; i < n_out; i++)
        CHECK_EQ(out[i], (i / 2 + 1) * 10 + i % 2);
    n_out = 0;
    reorder_release(&reorder);
}

/* A run is applied as a whole, also when the streams are looked at in another order. */
static void runs_stay_together(void)
{
    struct reorder reorder = {0};
    CHECK_EQ(reorder_start(&reorder), 0);
    put(&reorder, 0, 0, 1); /* from before there were two threads */
    check_out((const uint64_t[]){1}, 1);
    put(&reorder, 2, 2, 20);
    put(&reorder, 2, 0, 21);
    put(&reorder, 2, 4, 40);
    put(&reorder, 1, 1, 10);
    put(&reorder, 1, 0, 11);
    put(&reorder, 1, 3, 30);
    put(&reorder, 1, 0, 31);
    CHECK_EQ(n_out, 0);
    reorder_advance(&reorder, note, NULL);
    check_out((const uint64_t[]){10, 11, 20, 21, 30, 31, 40}, 7);
    put(&reorder, 2, 0, 41); /* nobody else has taken a seq */
    check_out((const uint64_t[]){41}, 1);
    reorder_release(&reorder);
}

static void what_is_skipped_comes_late(void)
{
    struct reorder reorder = {0};
    CHECK_EQ(reorder_start(&reorder), 0);
    put(&reorder, 0, 1, 1);
    put(&reorder, 1, 6, 6);
    put(&reorder, 2, 3, 3);
    put(&reorder, 2, 4, 4);
    reorder_advance(&reorder, note, NULL);
    check_out((const uint64_t[]){1}, 1);
    reorder_skip(&reorder, note, NULL);
    check_out((const uint64_t[]){3, 4, 6}, 3);
    put(&reorder, 0, 2, 2);
    put(&reorder, 1, 7, 7);
    put(&reorder, 0, 5, 5);
    reorder_advance(&reorder, note, NULL);
    check_out((const uint64_t[]){2, 5, 7}, 3);
    reorder_release(&reorder);
}

/* An event that never comes does not let the rest wait for ever. */
static void the_window_has_an_end(void)
{
    struct reorder reorder = {0};
    CHECK_EQ(reorder_start(&reorder), 0);
    put(&reorder, 0, 2, 2);
    put(&reorder, 1, (1ull << 30) + 5, 5);
    put(&reorder, 1, 0, 6);
    reorder_advance(&reorder, note, NULL);
    check_out((const uint64_t[]){2, 5, 6}, 3);
    put(&reorder, 0, (1ull << 30) + 6, 7);
    reorder_advance(&reorder, note, NULL);
    check_out((const uint64_t[]){7}, 1);
    reorder_release(&reorder);
}

int main(void)
{
    what_is_missing_is_waited_for();
    runs_stay_together();
    what_is_skipped_comes_late();
    the_window_has_an_end();
    return 0;
}
