/* Blocks that go from thread to thread, and threads that come and go. */
#include "captured.h"
#include "check.h"

#include "base/table.h"
#include "capture/capture.h"

#include <malloc.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

#define THREADS 8
#define BLOCKS 1000000
#define PLACES 4096

static void *_Atomic places[PLACES];
static _Atomic uint64_t n_handed;

/* Puts blocks where others take them away and free them. */
static void *hand_over(void *argument)
{
    uint64_t seed = (uintptr_t)argument;
    for (int i = 0; i < BLOCKS / THREADS; i++) {
        void *fresh, *taken;
        seed = hash_u64(seed + 1);
        fresh = malloc(16 + seed % 200);
        taken =
            __atomic_exchange_n((void **)&places[(seed >> 32) % PLACES], fresh, __ATOMIC_ACQ_REL);
        free(taken);
        n_handed++;
    }
    return NULL;
}

static void run_threads(void *(*run)(void *), int n)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < n; i++)
        CHECK(pthread_create(&threads[i], NULL, run, (void *)(uintptr_t)(i + 1)) == 0);
    for (int i = 0; i < n; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

/* Replays the log: an address may be allocated only while it is free, and freed only while not. */
static void replay(const struct captured *captured, struct table *live)
{
    for (size_t i = 0; i < captured->n; i++) {
        const struct event *event = &captured->events[i].event;
        if (event_is_allocation(event->kind)) {
            CHECK_EQ(table_get(live, event->address), 0);
            CHECK(table_put(live, event->address, (uint32_t)event->size + 1) == 0);
        } else if (event->kind == EVENT_FREE) {
            table_remove(live, event->address);
        }
    }
}

static void blocks_handed_between_threads_are_not_lost(void)
{
    const char *path = test_path("handed");
    struct captured captured;
    struct table live = {0};
    uint32_t n_live = 0;
    mallopt(M_ARENA_MAX, 1); /* one arena: a freed address is at once another thread's */
    start_capture(path);
    run_threads(hand_over, THREADS);
    proftrace_capture_stop();
    CHECK_EQ(n_handed, BLOCKS);
    captured_read(&captured, path);
    CHECK_EQ(captured.log.end.n_lost, 0);
    replay(&captured, &live);
    for (int i = 0; i < PLACES; i++) {
        void *block = places[i];
        if (block == NULL)
            continue;
        CHECK(table_get(&live, (uintptr_t)block) != 0);
        table_remove(&live, (uintptr_t)block);
        n_live++;
        free(block);
    }
    CHECK(n_live > PLACES / 2);
    /* What is left is the C library's own for its threads (their control blocks). */
    CHECK(live.n_used <= 2 * THREADS);
    table_release(&live);
    captured_release(&captured);
}

/* ---- threads that come and go -------------------------------------------------------------- */

static pthread_key_t last_key;

/* Runs when the thread's own stream is closed already. */
static void free_late(void *block)
{
    static _Thread_local int rounds;
    if (++rounds < 3)
        CHECK(pthread_setspecific(last_key, block) == 0);
    else
        free(block);
}

static void *live_shortly(void *argument)
{
    (void)argument;
    CHECK(pthread_setspecific(last_key, malloc(70001)) == 0);
    return NULL;
}

static long own_kib(void)
{
    char line[128];
    long kib = -1;
    FILE *status = fopen("/proc/self/status", "r");
    CHECK(status != NULL);
    while (fgets(line, sizeof line, status) != NULL)
        sscanf(line, "VmSize: %ld", &kib);
    fclose(status);
    return kib;
}

static void a_finished_thread_leaves_nothing_behind(void)
{
    const char *path = test_path("short");
    struct captured captured;
    struct stat ring;
    long before, after;
    CHECK(pthread_key_create(&last_key, free_late) == 0);
    start_capture(path);
    run_threads(live_shortly, THREADS);
    before = own_kib();
    for (int i = 0; i < 2000; i++)
        run_threads(live_shortly, 1);
    after = own_kib();
    CHECK(after - before < 2000); /* less than 1 KiB a thread */
    CHECK(stat(test_path("short.ring"), &ring) == 0);
    CHECK(ring.st_size < 2 << 20);
    proftrace_capture_stop();
    captured_read(&captured, path);
    CHECK_EQ(captured_count(&captured, EVENT_MALLOC, 70001), 2000 + THREADS);
    for (size_t i = 0; i < captured.n; i++) {
        const struct captured_event *event = &captured.events[i];
        if (event->event.kind == EVENT_MALLOC && event->event.size == 70001)
            CHECK(captured_at(&captured, EVENT_FREE, (void *)(uintptr_t)event->event.address,
                              event) != NULL);
    }
    captured_release(&captured);
}

static pthread_barrier_t gate;

static void *wait_for_all(void *block)
{
    block = malloc(70002);
    pthread_barrier_wait(&gate);
    free(block);
    return NULL;
}

static void many_threads_at_once_have_slots_of_their_own(void)
{
    const char *path = test_path("many");
    enum { MANY = 300 };
    static pthread_t threads[MANY];
    struct captured captured;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 128 << 10);
    pthread_barrier_init(&gate, NULL, MANY);
    start_capture(path);
    for (int i = 0; i < MANY; i++)
        CHECK(pthread_create(&threads[i], &attributes, wait_for_all, NULL) == 0);
    for (int i = 0; i < MANY; i++)
        pthread_join(threads[i], NULL);
    proftrace_capture_stop();
    captured_read(&captured, path);
    CHECK_EQ(captured_count(&captured, EVENT_MALLOC, 70002), MANY);
    CHECK(!(captured.log.header.options & OPTION_NO_RING));
    captured_release(&captured);
}

static void *named(void *argument)
{
    CHECK(pthread_setname_np(pthread_self(), "worker-7") == 0);
    free(malloc(555 + (size_t)(uintptr_t)argument * 0));
    return NULL;
}

static void a_thread_has_the_name_it_was_given(void)
{
    const char *path = test_path("named");
    struct captured captured;
    const struct dictionary *dict;
    bool found = false, main_found = false;
    start_capture(path);
    run_threads(named, 1);
    proftrace_capture_stop();
    captured_read(&captured, path);
    dict = &captured.log.dict;
    for (size_t i = 0; i < dict->threads.n; i++) {
        const struct text *name = &dict->strings.items[dict->threads.items[i].name];
        found = found || (name->n_bytes == 8 && memcmp(name->bytes, "worker-7", 8) == 0);
        main_found =
            main_found || (name->n_bytes == 10 && memcmp(name->bytes, "MainThread", 10) == 0);
    }
    CHECK(found && main_found);
    captured_release(&captured);
}

int main(void)
{
    blocks_handed_between_threads_are_not_lost();
    a_finished_thread_leaves_nothing_behind();
    many_threads_at_once_have_slots_of_their_own();
    a_thread_has_the_name_it_was_given();
    return 0;
}
