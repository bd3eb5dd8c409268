/* Each hooked function leaves exactly the events of docs/internals/capture-rules.md. */
#include "capture/capture.h"
#include "captured.h"
#include "check.h"

#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Read through a volatile, so that the compiler keeps calls whose results nobody uses. */
static void *volatile kept;
static volatile size_t huge = SIZE_MAX / 2;

static void *keep(void *block)
{
    kept = block;
    return kept;
}

static void finish(struct captured *captured, const char *path)
{
    proftrace_capture_stop();
    captured_read(captured, path);
    CHECK_EQ(captured->log.ending, LOG_ENDED);
    CHECK_EQ(captured->log.end.reason, END_CLEAN);
    CHECK_EQ(captured->log.end.n_events, captured->n);
    CHECK_EQ(captured->log.end.n_lost, 0);
}

static void every_allocator_is_recorded_once_with_the_requested_size(void)
{
    const char *path = test_path("allocators");
    struct captured captured;
    void *aligned = NULL;
    char *text = malloc(70002);
    memset(text, 'x', 70001);
    text[70001] = '\0';
    start_capture(path);
    keep(malloc(10001));
    keep(calloc(3, 10002));
    keep(realloc(NULL, 10003));
    keep(reallocarray(NULL, 7, 10004));
    CHECK(posix_memalign(&aligned, 64, 10005) == 0);
    keep(aligned_alloc(4096, 8192 * 3));
    keep(memalign(256, 10007));
    keep(valloc(10008));
    keep(pvalloc(10009));
    keep(strdup(text));
    keep(malloc(0));
    finish(&captured, path);
    CHECK_EQ(captured_count(&captured, EVENT_MALLOC, 10001), 1);
    CHECK_EQ(captured_count(&captured, EVENT_CALLOC, 30006), 1);
    CHECK_EQ(captured_count(&captured, EVENT_REALLOC, 10003), 1);
    CHECK_EQ(captured_count(&captured, EVENT_REALLOC, 70028), 1);
    CHECK_EQ(captured_count(&captured, EVENT_POSIX_MEMALIGN, 10005), 1);
    CHECK_EQ(captured_count(&captured, EVENT_ALIGNED_ALLOC, 24576), 1);
    CHECK_EQ(captured_count(&captured, EVENT_MEMALIGN, 10007), 1);
    CHECK_EQ(captured_count(&captured, EVENT_VALLOC, 10008), 1);
    CHECK_EQ(captured_count(&captured, EVENT_PVALLOC, 10009), 1);
    CHECK_EQ(captured_count(&captured, EVENT_MALLOC, 70002), 1); /* by strdup */
    CHECK_EQ(captured_count(&captured, EVENT_MALLOC, 0), 1);
    CHECK_EQ(captured.n, 11);
    captured_release(&captured);
}

static void a_free_is_recorded_and_a_free_of_null_is_not(void)
{
    const char *path = test_path("free");
    struct captured captured;
    void *block;
    start_capture(path);
    block = keep(malloc(111));
    free(NULL);
    free(kept);
    finish(&captured, path);
    CHECK_EQ(captured.n, 2);
    CHECK_EQ(captured.events[0].event.kind, EVENT_MALLOC);
    CHECK_EQ(captured.events[1].event.kind, EVENT_FREE);
    CHECK_EQ(captured.events[1].event.address, (uintptr_t)block);
    captured_release(&captured);
}

static void a_resize_frees_before_it_allocates(void)
{
    const char *path = test_path("realloc");
    struct captured captured;
    uintptr_t first, second;
    start_capture(path);
    first = (uintptr_t)keep(malloc(1000));
    second = (uintptr_t)keep(realloc(kept, 200000));
    kept = realloc(kept, 0);
    finish(&captured, path);
    CHECK_EQ(captured.n, 4);
    CHECK_EQ(captured.events[1].event.kind, EVENT_FREE);
    CHECK_EQ(captured.events[1].event.address, first);
    CHECK_EQ(captured.events[2].event.kind, EVENT_REALLOC);
    CHECK_EQ(captured.events[2].event.address, second);
    CHECK_EQ(captured.events[3].event.kind, EVENT_FREE); /* a size of 0 frees */
    captured_release(&captured);
}

static void a_failed_resize_is_undone(void)
{
    const char *path = test_path("realloc-fails");
    struct captured captured;
    void *block = malloc(1000);
    start_capture(path);
    errno = 0;
    CHECK(realloc(block, huge) == NULL);
    CHECK_EQ(errno, ENOMEM);
    CHECK(reallocarray(block, huge, 16) == NULL);
    CHECK(keep(malloc(huge)) == NULL);
    finish(&captured, path);
    CHECK_EQ(captured.n, 4);
    for (int i = 0; i < 4; i++) {
        CHECK_EQ(captured.events[i].event.kind, i % 2 == 0 ? EVENT_FREE : EVENT_UNFREE);
        CHECK_EQ(captured.events[i].event.address, (uintptr_t)block);
    }
    captured_release(&captured);
    free(block);
}

static void anonymous_memory_counts_and_files_do_not(void)
{
    const char *path = test_path("mmap");
    const size_t n = 1 << 20;
    struct captured captured;
    char *range, *file;
    FILE *stream = tmpfile();
    CHECK(stream != NULL && ftruncate(fileno(stream), (off_t)n) == 0);
    start_capture(path);
    range = mmap(NULL, n, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    file = mmap64(NULL, n, PROT_READ, MAP_SHARED, fileno(stream), 0);
    CHECK(range != MAP_FAILED && file != MAP_FAILED);
    file = mremap(file, n, 2 * n, MREMAP_MAYMOVE);
    CHECK(munmap(file, 2 * n) == 0);
    CHECK(munmap(range + 4096, 4096) == 0);
    CHECK(munmap(range + 1, 4096) == -1 && errno == EINVAL);
    finish(&captured, path);
    CHECK_EQ(captured_count(&captured, EVENT_MMAP, n), 1);
    CHECK_EQ(captured_count(&captured, EVENT_MMAP, 2 * n), 0);
    CHECK(captured_at(&captured, EVENT_MUNMAP, range + 4096, captured.events) != NULL);
    CHECK(captured_at(&captured, EVENT_UNFREE, range + 1, captured.events) != NULL);
    captured_release(&captured);
    fclose(stream);
    munmap(range, n);
}

static void a_moved_range_belongs_to_who_moved_it(void)
{
    const char *path = test_path("mremap");
    const size_t n = 1 << 20;
    struct captured captured;
    const struct captured_event *gone;
    char *range, *moved, *fixed;
    start_capture(path);
    range = mmap(NULL, n, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    moved = mremap(range, n, 3 * n, MREMAP_MAYMOVE);
    CHECK(moved != MAP_FAILED);
    fixed = mmap(moved + n, n, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    CHECK(fixed == moved + n);
    finish(&captured, path);
    gone = captured_at(&captured, EVENT_MUNMAP, range, captured.events);
    CHECK(gone != NULL && gone->event.size == n);
    CHECK(captured_at(&captured, EVENT_MMAP, moved, gone) != NULL);
    CHECK_EQ(captured_count(&captured, EVENT_MMAP, 3 * n), 1);
    CHECK(captured_at(&captured, EVENT_MUNMAP, fixed, gone) != NULL);
    captured_release(&captured);
    munmap(moved, 3 * n);
}

static void shared_memory_is_still_memory_when_it_is_resized(void)
{
    const char *path = test_path("mremap-shared");
    const size_t n = 1 << 20;
    struct captured captured;
    char *range, *second;
    start_capture(path);
    range = mmap(NULL, n, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    second = mremap(range, 0, n / 2, MREMAP_MAYMOVE); /* two places of one memory */
    range = mremap(range, n, n / 4, 0);
    CHECK(range != MAP_FAILED && second != MAP_FAILED);
    finish(&captured, path);
    CHECK(captured_count(&captured, EVENT_MMAP, n) == 1);
    CHECK(captured_count(&captured, EVENT_MMAP, n / 2) == 1);
    CHECK(captured_count(&captured, EVENT_MMAP, n / 4) == 1);
    CHECK_EQ(captured.n, 4); /* one MUNMAP, of the place that was resized */
    CHECK(captured_at(&captured, EVENT_MUNMAP, range, captured.events)->event.size == n);
    captured_release(&captured);
    munmap(range, n / 4);
    munmap(second, n / 2);
}

static void a_range_that_only_loses_its_contents_stays(void)
{
    const char *path = test_path("mremap-dontunmap");
    const size_t n = 1 << 20;
    struct captured captured;
    char *range, *moved;
    start_capture(path);
    range = mmap(NULL, n, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    moved = mremap(range, n, n, MREMAP_MAYMOVE | 4 /* MREMAP_DONTUNMAP */);
    CHECK(moved != MAP_FAILED);
    finish(&captured, path);
    CHECK_EQ(captured.n, 2);
    CHECK_EQ(captured_count(&captured, EVENT_MMAP, n), 2);
    captured_release(&captured);
    munmap(range, n);
    munmap(moved, n);
}

static void a_failed_move_leaves_both_places(void)
{
    const char *path = test_path("mremap-fails");
    const size_t n = 1 << 20;
    struct captured captured;
    char *range, *other;
    start_capture(path);
    range = mmap(NULL, n, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    other = mmap(NULL, n, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(mremap(range, n, n, MREMAP_MAYMOVE | MREMAP_FIXED, other + 1) == MAP_FAILED);
    CHECK_EQ(errno, EINVAL);
    finish(&captured, path);
    CHECK_EQ(captured.n, 4);
    CHECK_EQ(captured.events[2].event.kind, EVENT_MUNMAP);
    CHECK_EQ(captured.events[3].event.kind, EVENT_UNFREE);
    CHECK_EQ(captured.events[3].event.address, (uintptr_t)range);
    captured_release(&captured);
    munmap(range, n);
    munmap(other, n);
}

static void errno_is_that_of_the_real_call(void)
{
    start_capture(test_path("errno"));
    errno = 77;
    for (int i = 0; i < 30000; i++) /* more than a slot: it is written in between */
        free(keep(malloc(16)));
    CHECK_EQ(errno, 77);
    proftrace_capture_stop();
}

static void nothing_is_recorded_outside_of_a_capture(void)
{
    const char *path = test_path("outside");
    struct captured captured;
    free(keep(malloc(4321)));
    CHECK(!proftrace_capture_is_on());
    start_capture(path);
    CHECK(proftrace_capture_is_on() && proftrace_capture_is_preloaded());
    proftrace_capture_mark(MARK_END_OF_SCRIPT, 0);
    finish(&captured, path);
    free(keep(malloc(4321)));
    proftrace_capture_mark(MARK_END_OF_SCRIPT, 0);
    CHECK(proftrace_capture_flush() == -1);
    CHECK_EQ(captured.n, 1);
    CHECK_EQ(captured.events[0].event.kind, EVENT_MARK);
    CHECK_EQ(captured.events[0].event.address, MARK_END_OF_SCRIPT);
    captured_release(&captured);
}

static void starting_twice_or_over_a_file_is_refused(void)
{
    const char *path = test_path("twice");
    struct capture_options options = {.path = path, .quiet = true};
    struct captured captured;
    const char *no_stacks;
    CHECK(proftrace_capture_start(&options, &no_stacks) == 0);
    CHECK(no_stacks != NULL); /* there is no interpreter here */
    CHECK(proftrace_capture_start(&options, &no_stacks) == -1 && errno == EALREADY);
    finish(&captured, path);
    CHECK(captured.log.header.options & OPTION_NO_PYTHON_STACKS);
    captured_release(&captured);
    proftrace_capture_stop(); /* for the second time: nothing */
    CHECK(proftrace_capture_start(&options, &no_stacks) == -1 && errno == EEXIST);
    options.path = test_path("no-such-folder/file");
    CHECK(proftrace_capture_start(&options, &no_stacks) == -1 && errno == ENOENT);
    options.path = "/dev/null";
    options.replace = true; /* only regular files are replaced */
    CHECK(proftrace_capture_start(&options, &no_stacks) == -1);
    CHECK(access("/dev/null", W_OK) == 0);
    CHECK(!proftrace_capture_is_on());
}

static void what_the_caller_says_is_in_the_log(void)
{
    const struct capture_meta metas[] = {{"program", "a.py"}, {"argv", "[\"a.py\"]"}};
    const char *path = test_path("meta");
    struct capture_options options = {
        .path = path, .replace = true, .quiet = true, .metas = metas, .n_metas = 2};
    struct captured captured;
    const char *no_stacks;
    CHECK(proftrace_capture_start(&options, &no_stacks) == 0);
    CHECK(access(test_path("meta.ring"), F_OK) == 0);
    finish(&captured, path);
    CHECK(access(test_path("meta.ring"), F_OK) == -1);
    CHECK_EQ(captured.log.dict.metas.n, 2);
    CHECK(memcmp(captured.log.dict.metas.items[1].value, "[\"a.py\"]", 8) == 0);
    CHECK_EQ(captured.log.header.pid, getpid());
    captured_release(&captured);
}

int main(void)
{
    every_allocator_is_recorded_once_with_the_requested_size();
    a_free_is_recorded_and_a_free_of_null_is_not();
    a_resize_frees_before_it_allocates();
    a_failed_resize_is_undone();
    anonymous_memory_counts_and_files_do_not();
    a_moved_range_belongs_to_who_moved_it();
    shared_memory_is_still_memory_when_it_is_resized();
    a_range_that_only_loses_its_contents_stays();
    a_failed_move_leaves_both_places();
    errno_is_that_of_the_real_call();
    nothing_is_recorded_outside_of_a_capture();
    starting_twice_or_over_a_file_is_refused();
    what_the_caller_says_is_in_the_log();
    return 0;
}
