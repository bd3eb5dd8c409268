/* A history that goes on from a checkpoint is the one that goes on without. */
#include "check.h"
#include "history/checkpoint.h"

#include <string.h>

#define MOST_BLOCKS 64

struct written {
    struct {
        uint8_t *bytes;
        size_t n_bytes;
    } blocks[MOST_BLOCKS];
    size_t n;
};

static int keep(void *context, const void *records, size_t n_bytes, uint32_t n_records)
{
    struct written *written = context;
    struct get from = get_over(records, n_bytes), record;
    uint32_t n = 0;
    CHECK(written->n < MOST_BLOCKS && n_bytes < (4u << 20));
    while (table_next(&from, &record) != 0)
        n++;
    CHECK(!from.bad && n == n_records);
    written->blocks[written->n].bytes = malloc(n_bytes);
    memcpy(written->blocks[written->n].bytes, records, n_bytes);
    written->blocks[written->n++].n_bytes = n_bytes;
    return 0;
}

static uint32_t same_row(void *context, uint32_t id)
{
    (void)context;
    return id;
}

/* Events of a program that makes, resizes, maps and frees, and that fails to do so at times. */
static uint64_t seed;

static uint32_t random_below(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

static void step(struct event *event, uint32_t *stream)
{
    static const uint8_t kinds[] = {EVENT_MALLOC, EVENT_CALLOC, EVENT_PYMALLOC_MALLOC,
                                    EVENT_FREE,   EVENT_FREE,   EVENT_MMAP,
                                    EVENT_MUNMAP, EVENT_ARENA,  EVENT_FREE,
                                    EVENT_UNFREE, EVENT_MARK};
    const uint32_t kind = random_below(sizeof kinds * 20);
    const uint64_t page = (uint64_t)(random_below(60) + 1) << 20;
    *stream = random_below(4) + 1;
    *event = (struct event){.kind = kinds[kind % sizeof kinds],
                            .address = 0x7f0000000000 + random_below(3000) * 16ul,
                            .size = random_below(3000),
                            .node = random_below(12),
                            .domain = DOMAIN_OBJ};
    if (event->kind == EVENT_MMAP || event->kind == EVENT_MUNMAP || event->kind == EVENT_ARENA) {
        event->address = page + random_below(4) * 4096ul;
        event->size = (random_below(5) + 1) * 4096ul;
    }
    if (event->kind == EVENT_UNFREE) { /* the one before did happen */
        event->kind = EVENT_FREE;
    } else if (event->kind == EVENT_MARK) {
        event->address = kind % 3 == 0 ? MARK_END_OF_SCRIPT : MARK_USER;
        event->size = random_below(5);
    }
}

static void apply_many(struct history *history, struct history *other, int n)
{
    while (n-- > 0) {
        struct event event;
        uint32_t stream;
        step(&event, &stream);
        CHECK_EQ(history_apply(history, &event, stream, stream, event.node), APPLY_OK);
        if (other != NULL)
            CHECK_EQ(history_apply(other, &event, stream, stream, event.node), APPLY_OK);
    }
}

#define SAME(member_) CHECK(memcmp(&a->member_, &b->member_, sizeof a->member_) == 0)

/* The rows of a mark stand in any order. */
static uint64_t sum_of_rows(const struct reduce_marks *marks)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < marks->rows.n; i++) {
        const struct mark_row *row = &marks->rows.items[i];
        sum += hash_u64(hash_u64((uint64_t)row->mark << 32 | row->site) +
                        (uint64_t)row->bytes * 31 + (uint64_t)row->blocks);
    }
    return sum;
}

/* What a site had at the peak is known when the history is finished. */
static void check_same(const struct history *a, const struct history *b, bool finished)
{
    CHECK_EQ(a->sites.n, b->sites.n);
    for (size_t i = 0; i < a->sites.n; i++) {
        const struct site *site = &a->sites.items[i], *other = &b->sites.items[i];
        CHECK(site->stack == other->stack && site->thread == other->thread &&
              site->allocator == other->allocator && site->carry == other->carry);
        CHECK_EQ(site->bytes, other->bytes);
        CHECK_EQ(site->blocks, other->blocks);
        if (finished)
            SAME(peak.sites.items[i].at_peak);
        SAME(leaks.sites.items[i]);
        SAME(totals.sites.items[i]);
        SAME(temporary.sites.items[i]);
    }
    SAME(totals.sizes);
    SAME(peak.highest);
    SAME(python_heap.now);
    SAME(python_heap.at_peak);
    SAME(python_heap.at_end);
    SAME(python_heap.domains);
    CHECK_EQ(a->totals.bytes, b->totals.bytes);
    CHECK_EQ(a->totals.n_frees, b->totals.n_frees);
    CHECK_EQ(a->totals.largest, b->totals.largest);
    CHECK_EQ(a->live.n_used, b->live.n_used);
    CHECK_EQ(a->n_events, b->n_events);
    CHECK_EQ(a->marks.marks.n, b->marks.marks.n);
    CHECK_EQ(a->marks.rows.n, b->marks.rows.n);
    CHECK_EQ(sum_of_rows(&a->marks), sum_of_rows(&b->marks));
}

static enum checkpoint_verdict load(const struct written *written, struct history *history)
{
    struct checkpoint_loader loader = {
        .history = history, .stack_row = same_row, .thread_row = same_row};
    enum checkpoint_verdict verdict;
    for (size_t i = 0; i < written->n; i++)
        CHECK_EQ(checkpoint_load(&loader, written->blocks[i].bytes, written->blocks[i].n_bytes),
                 CHECKPOINT_OK);
    verdict = checkpoint_loaded(&loader);
    checkpoint_loader_release(&loader);
    return verdict;
}

static void one_round(uint64_t first_seed, int n_before, uint64_t sample_bytes, bool traced)
{
    struct history whole = {.sample_bytes = sample_bytes}, resumed = {.sample_bytes = sample_bytes};
    struct written written = {0};
    const struct checkpoint_sink sink = {keep, &written};
    const struct checkpoint_cut cuts[] = {{1, 10}, {2, 1ull << 40}};
    whole.python_heap.traced = resumed.python_heap.traced = traced;
    seed = first_seed;
    apply_many(&whole, NULL, n_before);
    CHECK_EQ(checkpoint_write(&whole, cuts, 2, true, &sink), 0);
    CHECK_EQ(load(&written, &resumed), CHECKPOINT_OK);
    check_same(&whole, &resumed, false);
    apply_many(&whole, &resumed, 3000);
    check_same(&whole, &resumed, false);
    history_finish(&whole);
    history_finish(&resumed);
    check_same(&whole, &resumed, true);
    history_release(&whole);
    history_release(&resumed);
    for (size_t i = 0; i < written.n; i++)
        free(written.blocks[i].bytes);
}

static void set_numbers(struct history *history, int64_t value)
{
    const struct amount amount = {value, value};
    const struct arena_state arenas = {value, value, value, value};
    for (size_t i = 0; i < history->sites.n; i++) {
        history->sites.items[i].bytes = history->sites.items[i].blocks = value;
        history->totals.sites.items[i] = history->temporary.sites.items[i] = amount;
    }
    for (int i = 0; i < SIZE_CLASSES; i++)
        history->totals.sizes[i] = value;
    for (int i = 0; i < N_DOMAINS; i++)
        history->python_heap.domains[i] = amount;
    history->totals.bytes = history->totals.n_allocations = history->totals.n_frees = value;
    history->peak.live = amount;
    history->python_heap.now = arenas;
    history->usage.now.live_bytes = history->usage.now.live_blocks = value;
    history->usage.now.mapped_bytes = history->usage.now.arena_bytes = value;
}

/* A log may say any number; the sanitizers see to it that no sum is undefined. */
static void numbers_at_their_limits_wrap(int64_t limit, bool traced)
{
    static const uint64_t looks[] = {MARK_USAGE_FIRST + USAGE_ANONYMOUS,
                                     MARK_USAGE_FIRST + USAGE_FILE, MARK_USAGE_TAKEN,
                                     MARK_USAGE_TAKEN};
    struct history whole = {0}, resumed = {0};
    struct written written = {0};
    const struct checkpoint_sink sink = {keep, &written};
    whole.python_heap.traced = resumed.python_heap.traced = traced;
    seed = 5;
    apply_many(&whole, NULL, 3000);
    set_numbers(&whole, limit);
    CHECK_EQ(checkpoint_write(&whole, NULL, 0, true, &sink), 0);
    CHECK_EQ(load(&written, &resumed), CHECKPOINT_MALFORMED); /* they do not agree */
    apply_many(&resumed, NULL, 3000);
    for (size_t i = 0; i < sizeof looks / sizeof looks[0]; i++) {
        const struct event look = {.kind = EVENT_MARK, .address = looks[i], .size = INT64_MAX};
        CHECK_EQ(history_apply(&resumed, &look, 1, 1, 0), APPLY_OK);
    }
    CHECK_EQ(resumed.usage.n_taken, 2);
    CHECK(resumed.totals.n_allocations != limit && resumed.totals.n_frees != limit);
    history_finish(&resumed);
    history_release(&whole);
    history_release(&resumed);
    for (size_t i = 0; i < written.n; i++)
        free(written.blocks[i].bytes);
}

static void damaged_ones_are_refused_or_read(void)
{
    struct history whole = {0};
    struct written written = {0};
    const struct checkpoint_sink sink = {keep, &written};
    seed = 99;
    apply_many(&whole, NULL, 2000);
    CHECK_EQ(checkpoint_write(&whole, NULL, 0, true, &sink), 0);
    for (int round = 0; round < 3000; round++) {
        struct history read = {0};
        struct checkpoint_loader loader = {
            .history = &read, .stack_row = same_row, .thread_row = same_row};
        uint8_t *bytes = written.blocks[0].bytes;
        size_t at = random_below((uint32_t)written.blocks[0].n_bytes);
        uint8_t before = bytes[at];
        bytes[at] = (uint8_t)random_below(256);
        if (checkpoint_load(&loader, bytes, written.blocks[0].n_bytes) == CHECKPOINT_OK &&
            checkpoint_loaded(&loader) == CHECKPOINT_OK) {
            apply_many(&read, NULL, 20);
            history_finish(&read);
        }
        bytes[at] = before;
        checkpoint_loader_release(&loader);
        history_release(&read);
    }
    history_release(&whole);
    free(written.blocks[0].bytes);
}

int main(void)
{
    for (uint64_t first = 1; first < 30; first++) {
        one_round(first, (int)first * 100, 0, first % 2 == 0);
        one_round(first, (int)first * 100, 1000, first % 2 == 0);
    }
    one_round(7, 0, 0, false);
    one_round(8, 60000, 0, true);
    for (int traced = 0; traced < 2; traced++) {
        numbers_at_their_limits_wrap(INT64_MAX, traced);
        numbers_at_their_limits_wrap(INT64_MIN, traced);
    }
    damaged_ones_are_refused_or_read();
    return 0;
}
