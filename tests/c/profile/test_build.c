/* A log through the whole reading side: fresh ones, and those of tests/logs (argv: v1, v2). */
#include "profile/build.h"

#include "check.h"
#include "log_fixture.h"
#include "test_path.h"

#include <unistd.h>

#define PAGE 4096
#define GIB ((int64_t)1 << 30)

static struct log_fixture log_;
static const char *path, *ring_path;

static void build(struct built_profile *profile, const char *from)
{
    struct read_error error = {0};
    if (profile_build(profile, from, &error) != 0) {
        fprintf(stderr, "%s: %s\n", from, error.text);
        exit(1);
    }
}

static void start(void)
{
    free(log_.bytes);
    log_ = (struct log_fixture){0};
    unlink(ring_path);
}

/* Live at the highest moment: after the 5 GiB came, before they went. */
static void check_memory(const struct built_profile *profile)
{
    const struct history *history = &profile->history;
    int64_t leaked = 0, peak = 0, mapped = 0;
    CHECK_EQ(profile->log.ending, LOG_ENDED);
    CHECK(!profile->events_damaged);
    CHECK_EQ(profile->history.n_events, 21);
    CHECK_EQ(profile->n_lost, 2);
    CHECK_EQ(history->totals.n_allocations, 11);
    CHECK_EQ(history->totals.n_frees, 5);
    CHECK_EQ(history->totals.largest, 5 * GIB);
    CHECK_EQ(history->totals.smallest, 0);
    CHECK_EQ(history->totals.bytes,
             100 + 200 + 64 + 300 + 4 * PAGE + 32 + 0 + 1000 + 10 + 8 + 5 * GIB);
    CHECK_EQ(history->peak.highest.bytes, 200 + 64 + 300 + 3 * PAGE + 10 + 8 + 5 * GIB);
    for (size_t i = 0; i < history->sites.n; i++) {
        leaked += history->leaks.sites.items[i].bytes;
        peak += history->peak.sites.items[i].at_peak.bytes;
        if (history->sites.items[i].allocator == EVENT_MMAP)
            mapped = history->leaks.sites.items[i].blocks;
    }
    CHECK_EQ(peak, history->peak.highest.bytes);
    CHECK_EQ(leaked, 200 + 64 + 300 + 3 * PAGE + 10 + 8);
    CHECK_EQ(mapped, 1); /* one mapping, in two pieces */
}

static void check_lines(const struct built_profile *profile)
{
    const struct line_results *results = &profile->results;
    CHECK_EQ(results->calls.n, 2);
    CHECK_EQ(results->calls.items[1].calls, 5);
    CHECK_EQ(results->calls.items[1].regime, REGIME_HOT);
    CHECK_EQ(results->lines.n, 2);
    CHECK_EQ(results->lines.items[1].hits, 5);
    CHECK_EQ(results->lines.items[1].raw_hits, 10);
    CHECK_EQ(results->lines.items[1].exclusive_ns, -40000);
    CHECK_EQ(results->lines.items[1].await_ns, 7);
    CHECK_EQ(profile->log.dict.sources.n, 1);
}

static void a_memory_log_is_what_was_written(void)
{
    struct built_profile profile;
    start();
    fixture_memory(&log_, true);
    write_file(path, log_.bytes, log_.n_bytes);
    build(&profile, path);
    check_memory(&profile);
    CHECK_EQ(profile.stacks.functions.n, 2);
    CHECK_EQ(profile.stacks.rows.n, 6); /* the empty stack and five nodes, each on its own line */
    CHECK_EQ(profile.stacks.frames.items[profile.stacks.rows.items[2].frame].line, 20);
    CHECK_EQ(profile.stacks.frames.items[profile.stacks.rows.items[3].frame].line, 21);
    CHECK_EQ(profile.stacks.frames.items[profile.stacks.rows.items[4].frame].line, 26);
    profile_release(&profile);
}

static void check_line_details(const struct built_profile *profile)
{
    const struct line_results *results = &profile->results;
    const struct line_row *line = &results->lines.items[0];
    CHECK_EQ(results->calls.items[0].reason, COLD_CLOCK);
    CHECK_EQ(results->calls.items[0].yields, 2);
    CHECK_EQ(results->calls.items[1].samples, 9);
    CHECK_EQ(results->calls.items[1].discarded, 1);
    CHECK_EQ(results->calls.items[1].inclusive_error_ns, 60);
    CHECK(line->min_ns == 80 && line->max_ns == 300 && line->n_buckets == 9);
    CHECK_EQ(results->buckets.items[line->buckets_at + 6], 9);
    CHECK_EQ(results->buckets.items[line->buckets_at + 8], 1);
    CHECK_EQ(results->lines.items[1].n_buckets, 0);
    CHECK_EQ(results->lines.items[1].samples, 9);
    CHECK_EQ(results->edges.n, 2);
    CHECK_EQ(results->edges.items[0].caller, NO_FUNCTION);
    CHECK_EQ(results->edges.items[1].caller, results->lines.items[1].function);
    CHECK_EQ(results->edges.items[1].line, 6);
    CHECK_EQ(results->edges.items[1].callee, results->lines.items[0].function);
    CHECK_EQ(results->edges.items[1].calls, 10);
    CHECK_EQ(results->edges.items[1].exclusive_ns, 900);
}

static void a_lines_log_is_what_was_written(void)
{
    struct built_profile profile;
    start();
    fixture_lines(&log_);
    write_file(path, log_.bytes, log_.n_bytes);
    build(&profile, path);
    check_lines(&profile);
    check_line_details(&profile);
    profile_release(&profile);
}

static void the_ring_is_appended(void)
{
    static uint8_t ring[FIXTURE_RING_BYTES];
    struct built_profile profile;
    start();
    fixture_memory(&log_, false);
    fixture_ring(ring);
    write_file(path, log_.bytes, log_.n_bytes);
    write_file(ring_path, ring, sizeof ring);
    build(&profile, path);
    CHECK_EQ(profile.log.ending, LOG_OPEN);
    CHECK(profile.log.ring != NULL);
    CHECK_EQ(profile.history.n_events, 23);
    CHECK_EQ(profile.log.n_missing, 0);
    CHECK_EQ(profile.history.totals.largest, (int64_t)6 << 32);
    CHECK_EQ(profile.history.totals.n_frees, 6); /* the mapping is gone now */
    CHECK_EQ(profile.stacks.rows.n, 7);
    profile_release(&profile);
}

/* Sizes only grow with the length that is left: what is read is always a prefix of the truth. */
static void every_prefix_is_an_error_or_a_prefix(void)
{
    int64_t events = 0;
    start();
    fixture_memory(&log_, true);
    for (size_t n = 0; n <= log_.n_bytes; n++) {
        struct built_profile profile;
        struct read_error error = {0};
        write_file(path, log_.bytes, n);
        if (profile_build(&profile, path, &error) != 0) {
            CHECK(n < FILE_HEADER_BYTES);
            CHECK_EQ(error.kind, n == 0 ? READ_EMPTY : READ_CUT);
        } else {
            CHECK(n >= FILE_HEADER_BYTES);
            CHECK((int64_t)profile.history.n_events >= events);
            CHECK((profile.log.ending == LOG_ENDED) == (n == log_.n_bytes));
            events = (int64_t)profile.history.n_events;
        }
        profile_release(&profile);
    }
    CHECK_EQ(events, 21);
}

static void repeated_blocks_count_once(void)
{
    struct built_profile profile;
    struct log_fixture once = {0};
    size_t first_blocks;
    start();
    fixture_memory(&log_, false);
    first_blocks = log_.n_bytes - FILE_HEADER_BYTES;
    fixture_append(&once, log_.bytes, log_.n_bytes);
    fixture_append(&log_, once.bytes + FILE_HEADER_BYTES, first_blocks);
    fixture_end(&log_);
    write_file(path, log_.bytes, log_.n_bytes);
    build(&profile, path);
    check_memory(&profile);
    profile_release(&profile);
    free(once.bytes);
}

static void the_files_of_version_1_read_as_ever(const char *logs)
{
    struct built_profile profile;
    char name[4096];
    snprintf(name, sizeof name, "%s/memory.bin", logs);
    build(&profile, name);
    check_memory(&profile);
    profile_release(&profile);
    snprintf(name, sizeof name, "%s/lines.bin", logs);
    build(&profile, name);
    check_lines(&profile);
    CHECK_EQ(profile.results.lines.items[0].n_buckets, 0);
    profile_release(&profile);
    snprintf(name, sizeof name, "%s/lines-2.bin", logs);
    build(&profile, name);
    check_lines(&profile);
    check_line_details(&profile);
    profile_release(&profile);
}

static void the_memory_log_of_version_2_reads_as_ever(const char *logs)
{
    struct built_profile profile;
    char name[4096];
    snprintf(name, sizeof name, "%s/memory.bin", logs);
    build(&profile, name);
    check_memory(&profile);
    profile_release(&profile);
}

/* The functions of the stack of the block of a size, outermost first, as "main > work". */
static const char *stack_text(const struct built_profile *profile, size_t site)
{
    static char text[512];
    const struct stacks *stacks = &profile->stacks;
    text[0] = '\0';
    for (uint32_t row = profile->history.sites.items[site].stack; row != 0;
         row = stacks->rows.items[row].parent) {
        const struct frame *frame = &stacks->frames.items[stacks->rows.items[row].frame];
        uint32_t name = stacks->functions.items[frame->function].name;
        const struct text *bytes = &stacks->strings.items[name];
        char outer[512];
        snprintf(outer, sizeof outer, "%.*s%s%.400s", (int)bytes->n_bytes, bytes->bytes,
                 text[0] == '\0' ? "" : " > ", text);
        memcpy(text, outer, sizeof text);
    }
    return text;
}

static void python_frames_stand_among_native_ones(void)
{
    static const char *const want[] = {
        "main",
        "main > work > helper > inlined > main > lib.so+0x202f",
        /* A run without a frame takes none; what is left over is further out. */
        "main > work > helper > inlined > main > lib.so+0x202f > <signal handler> > "
        "<code made at run time>",
        "main > work > main > helper > inlined",
        "helper > inlined > lib.so+0x202f > <signal handler> > <code made at run time>",
    };
    static const char *const python[] = {"main", "main > work > main", "main > work > main",
                                         "main > work > main", ""};
    struct built_profile profile;
    struct read_error error;
    start();
    fixture_native(&log_);
    write_file(path, log_.bytes, log_.n_bytes);
    build(&profile, path);
    CHECK_EQ(profile.history.sites.n, 5);
    for (size_t i = 0; i < 5; i++)
        CHECK(strcmp(stack_text(&profile, i), want[i]) == 0);
    CHECK_EQ(profile.hybrids.verdicts.items[2], MODULE_MISSING + 1);
    profile_release(&profile);
    CHECK(profile_build_at(&profile, path, 0, false, &error) == 0);
    for (size_t i = 0; i < profile.history.sites.n; i++)
        CHECK(strcmp(stack_text(&profile, i), python[i < 2 ? i : 4]) == 0);
    CHECK_EQ(profile.history.sites.n, 3);
    profile_release(&profile);
}

int main(int argc, char **argv)
{
    CHECK_EQ(argc, 3);
    path = test_path("log");
    ring_path = test_path("log.ring");
    a_memory_log_is_what_was_written();
    a_lines_log_is_what_was_written();
    the_ring_is_appended();
    every_prefix_is_an_error_or_a_prefix();
    repeated_blocks_count_once();
    python_frames_stand_among_native_ones();
    the_files_of_version_1_read_as_ever(argv[1]);
    the_memory_log_of_version_2_reads_as_ever(argv[2]);
    start();
    return 0;
}
