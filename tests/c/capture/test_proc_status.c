/* What is in memory, read the short way and the long one. */
#include "capture/proc_status.h"
#include "check.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAPPED_BYTES (16u << 20)
#define NEAR_BYTES (4u << 20) /* some kernels count in batches */

static bool is_near(uint64_t value, uint64_t expected)
{
    return value + NEAR_BYTES > expected && value < expected + NEAR_BYTES;
}

/* Maps memory, all of it touched. */
static void *take(int flags)
{
    void *memory = mmap(NULL, MAPPED_BYTES, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    memset(memory, 1, MAPPED_BYTES);
    return memory;
}

static void what_comes_is_seen_where_it_belongs(bool exactly)
{
    struct proc_status status = {.page_bytes = (uint64_t)sysconf(_SC_PAGESIZE)};
    struct resident before, private, shared, after;
    void *first, *second;
    CHECK(proc_status_read(&status, exactly, &before));
    first = take(MAP_PRIVATE);
    CHECK(proc_status_read(&status, exactly, &private));
    second = take(MAP_SHARED);
    CHECK(proc_status_read(&status, exactly, &shared));
    CHECK(munmap(first, MAPPED_BYTES) == 0 && munmap(second, MAPPED_BYTES) == 0);
    CHECK(proc_status_read(&status, exactly, &after));
    CHECK(is_near(private.anonymous, before.anonymous + MAPPED_BYTES));
    CHECK(is_near(private.shared, before.shared));
    CHECK(is_near(shared.anonymous, private.anonymous));
    CHECK(is_near(shared.shared, before.shared + MAPPED_BYTES));
    CHECK(is_near(after.anonymous, before.anonymous));
    CHECK(is_near(after.shared, before.shared));
    CHECK(is_near(after.file, before.file));
}

static void without_the_size_of_a_page_the_long_way_is_taken(void)
{
    struct proc_status status = {.page_bytes = 0};
    struct resident first, again;
    CHECK(proc_status_read(&status, false, &first));
    CHECK(proc_status_read(&status, false, &again));
    CHECK(first.anonymous != 0 && is_near(again.anonymous, first.anonymous));
    CHECK(is_near(again.file, first.file));
}

int main(void)
{
    what_comes_is_seen_where_it_belongs(false);
    what_comes_is_seen_where_it_belongs(true);
    without_the_size_of_a_page_the_long_way_is_taken();
    return 0;
}
