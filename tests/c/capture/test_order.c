/* The live set is the truth: 64 threads that free each other's blocks, resize, and end by
 * destructors of both kinds that free what is left. */
#include "captured.h"
#include "check.h"

#include "base/table.h"
#include "capture/capture.h"

#include <malloc.h>
#include <pthread.h>
#include <string.h>

#define THREADS 64
#define ROUNDS 6000
#define PLACES 512
#define KEPT 8

/* Sizes of this test, so that the C library's own blocks are told apart. */
#define SIZE_STEP 16
#define SIZE_REST 13

/* What glibc's C++ runtime registers destructors of thread_local objects with. */
extern int __cxa_thread_atexit_impl(void (*destructor)(void *), void *object, void *library);
extern void *__dso_handle;

static void *_Atomic places[PLACES];
static pthread_key_t key;

/* Of one thread; its destructors free some of it and leave the rest to the main thread. */
struct thread_blocks {
    void *by_key[KEPT];
    void *by_object[KEPT];
    void *left;
};

static struct thread_blocks all_blocks[THREADS];

static size_t size_of(uint64_t random)
{
    return SIZE_REST + SIZE_STEP * (1 + random % 60);
}

static void free_by_key(void *argument)
{
    struct thread_blocks *blocks = argument;
    for (int i = 0; i < KEPT; i++) {
        free(blocks->by_key[i]);
        blocks->by_key[i] = NULL;
    }
    /* Allocated after the thread's own stream has ended, or just before. */
    free(blocks->left);
    blocks->left = malloc(size_of((uintptr_t)blocks));
}

static void free_by_object(void *argument)
{
    struct thread_blocks *blocks = argument;
    for (int i = 0; i < KEPT; i++) {
        free(blocks->by_object[i]);
        blocks->by_object[i] = NULL;
    }
}

static void *exchange(uint64_t place, void *fresh)
{
    return __atomic_exchange_n((void **)&places[place % PLACES], fresh, __ATOMIC_ACQ_REL);
}

static void *change_resized(void *taken, uint64_t random)
{
    void *resized = realloc(taken, size_of(random >> 8));
    CHECK(resized != NULL);
    /* One that cannot be had leaves the block as it is. */
    CHECK(realloc(resized, (size_t)PTRDIFF_MAX - 100) == NULL);
    return resized;
}

static void *work(void *argument)
{
    struct thread_blocks *blocks = argument;
    uint64_t seed = hash_u64((uintptr_t)argument);
    CHECK(pthread_setspecific(key, blocks) == 0);
    CHECK(__cxa_thread_atexit_impl(free_by_object, blocks, &__dso_handle) == 0);
    for (int i = 0; i < KEPT; i++) {
        blocks->by_key[i] = malloc(size_of(seed + (uint64_t)i));
        blocks->by_object[i] = calloc(1, size_of(seed + 100 + (uint64_t)i));
    }
    blocks->left = malloc(size_of(seed));
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t random = seed = hash_u64(seed + 1);
        void *taken;
        if (random % 4 != 0) {
            free(exchange(random >> 20, malloc(size_of(random >> 40))));
            continue;
        }
        taken = exchange(random >> 20, NULL);
        if (taken != NULL)
            free(exchange(random >> 30, change_resized(taken, random)));
    }
    return NULL;
}

static bool is_ours(uint64_t size)
{
    return size % SIZE_STEP == SIZE_REST && size < SIZE_STEP * 64;
}

/* Replays the log; the size of each of our live blocks + 1 by address. */
static size_t replay(const struct captured *captured, struct table *live)
{
    static struct table undone;
    size_t n_undone = 0;
    for (size_t i = 0; i < captured->n; i++) {
        const struct event *event = &captured->events[i].event;
        if (event_is_allocation(event->kind)) {
            CHECK_EQ(table_get(live, event->address), 0);
            CHECK(table_put(live, event->address, (uint32_t)event->size + 1) == 0);
        } else if (event->kind == EVENT_FREE) {
            uint32_t size = table_get(live, event->address);
            if (size != 0)
                CHECK(table_put(&undone, event->address, size) == 0);
            table_remove(live, event->address);
        } else if (event->kind == EVENT_UNFREE) {
            CHECK_EQ(table_get(live, event->address), 0);
            CHECK(table_put(live, event->address, table_get(&undone, event->address)) == 0);
            n_undone++;
        }
    }
    table_release(&undone);
    return n_undone;
}

static size_t take_out(struct table *live, void *block)
{
    uint32_t size;
    if (block == NULL)
        return 0;
    size = table_get(live, (uintptr_t)block);
    CHECK(size != 0 && is_ours(size - 1));
    CHECK(size - 1 <= malloc_usable_size(block));
    table_remove(live, (uintptr_t)block);
    return 1;
}

static void the_live_set_of_many_threads_is_the_truth(void)
{
    const char *path = test_path("order");
    static pthread_t threads[THREADS];
    struct captured captured;
    struct table live = {0};
    size_t n_live = 0;
    CHECK(pthread_key_create(&key, free_by_key) == 0);
    mallopt(M_ARENA_MAX, 2); /* few arenas: a freed address is at once another thread's */
    start_capture(path);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, work, &all_blocks[i]) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    proftrace_capture_stop();
    captured_read(&captured, path);
    CHECK_EQ(captured.log.end.n_lost, 0);
    CHECK(replay(&captured, &live) > THREADS);
    for (int i = 0; i < PLACES; i++)
        n_live += take_out(&live, places[i]);
    for (int i = 0; i < THREADS; i++) {
        n_live += take_out(&live, all_blocks[i].left);
        for (int k = 0; k < KEPT; k++)
            CHECK(all_blocks[i].by_key[k] == NULL && all_blocks[i].by_object[k] == NULL);
    }
    CHECK(n_live > THREADS);
    for (uint32_t i = 0; i < live.n_slots; i++)
        CHECK(live.entries[i].value == 0 || !is_ours(live.entries[i].value - 1));
    table_release(&live);
    captured_release(&captured);
}

/* No stamps before there is a second thread, and after that only where the thread changes. */
static void *allocate_once(void *argument)
{
    free(malloc(4001));
    return argument;
}

static void stamps_begin_with_the_second_thread(void)
{
    const char *path = test_path("stamps");
    struct captured captured;
    pthread_t thread;
    uint64_t size = 4000, last = 0;
    start_capture(path);
    for (int i = 0; i < 20000; i++)
        free(malloc(4000));
    CHECK(pthread_create(&thread, NULL, allocate_once, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    for (int i = 0; i < 20000; i++)
        free(malloc(4002));
    proftrace_capture_stop();
    captured_read(&captured, path);
    for (size_t i = 0; i < captured.n; i++) {
        const struct event *event = &captured.events[i].event;
        if (event->kind == EVENT_MALLOC && event->size >= 4000 && event->size <= 4002) {
            CHECK(event->size >= size);
            CHECK(event->size == size || event->size == 4001 || event->seq != 0);
            size = event->size;
        }
        CHECK(event->seq == 0 || event->seq > last);
        CHECK(event->size != 4000 || event->seq == 0);
        last = event->seq > last ? event->seq : last;
    }
    CHECK_EQ(size, 4002);
    CHECK(last >= 3 && last < 40);
    captured_release(&captured);
}

int main(void)
{
    the_live_set_of_many_threads_is_the_truth();
    stamps_begin_with_the_second_thread();
    return 0;
}
