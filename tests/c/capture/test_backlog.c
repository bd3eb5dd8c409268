/* Runs of events come out of a backlog as they went in, and only when it is asked for them. */
#include "capture/backlog.h"
#include "check.h"

#include <string.h>

#define RUN_WORDS 8000u

static uint64_t words[RUN_WORDS];

static size_t add_until_full(struct backlog *backlog)
{
    size_t n = 0;
    words[0] = 0;
    while (backlog_add(backlog, (uint32_t)n, words, RUN_WORDS))
        words[0] = ++n;
    return n;
}

static void runs_come_in_order(void)
{
    struct backlog backlog = {0};
    struct backlog_run run;
    CHECK_EQ(backlog_start(&backlog), 0);
    for (uint32_t i = 1; i < RUN_WORDS; i++)
        words[i] = i * 0x9e3779b97f4a7c15ull;
    for (int round = 0; round < 2; round++) { /* it is empty again after the first */
        const size_t n = add_until_full(&backlog);
        CHECK(n > 10);
        for (uint32_t i = 0; i < n; i++) {
            CHECK(backlog_next(&backlog, &run));
            CHECK_EQ(run.stream, i);
            CHECK_EQ(run.n_words, RUN_WORDS);
            CHECK_EQ(run.words[0], i);
            CHECK_EQ(memcmp(run.words + 1, words + 1, (RUN_WORDS - 1) * sizeof words[0]), 0);
        }
        CHECK(!backlog_next(&backlog, &run));
    }
    CHECK(!backlog_next(&backlog, &run));
    backlog_release(&backlog);
}

static void moments_are_runs_without_words(void)
{
    struct backlog backlog = {0};
    struct backlog_run run;
    CHECK_EQ(backlog_start(&backlog), 0);
    CHECK(backlog_add(&backlog, 7, words, 3));
    CHECK(backlog_add(&backlog, 0, NULL, 0));
    CHECK(backlog_add(&backlog, UINT32_MAX, words, 1));
    CHECK(backlog_next(&backlog, &run));
    CHECK_EQ(run.stream, 7);
    CHECK(backlog_next(&backlog, &run));
    CHECK_EQ(run.n_words, 0);
    CHECK(backlog_next(&backlog, &run));
    CHECK_EQ(run.stream, UINT32_MAX);
    CHECK_EQ(run.n_words, 1);
    CHECK(!backlog_next(&backlog, &run));
    backlog_release(&backlog);
}

int main(void)
{
    runs_come_in_order();
    moments_are_runs_without_words();
    return 0;
}
