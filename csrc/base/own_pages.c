/* own_pages.c - see own_pages.h. */
#include "base/own_pages.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define MOST_RANGES 2048u
#define LOCK_ATTEMPTS 1000
#define IN_MEMORY ((uint64_t)1 << 63) /* of an entry of /proc/self/pagemap */
#define ENTRIES 512u

struct own_range {
    uintptr_t at;
    size_t n_bytes;
    bool shared;
};

static struct own_range ranges[MOST_RANGES];
static uint32_t n_ranges, range_lock;
static uint64_t n_range_bytes;

static bool lock(void)
{
    for (int i = 0; i < LOCK_ATTEMPTS; i++) {
        if (__atomic_exchange_n(&range_lock, 1, __ATOMIC_ACQUIRE) == 0)
            return true;
    }
    return false;
}

static void unlock(void)
{
    __atomic_store_n(&range_lock, 0, __ATOMIC_RELEASE);
}

void own_pages_note(const void *at, size_t n_bytes, bool shared)
{
    if (!lock())
        return;
    if (n_ranges < MOST_RANGES) {
        ranges[n_ranges++] = (struct own_range){(uintptr_t)at, n_bytes, shared};
        n_range_bytes += n_bytes;
    }
    unlock();
}

void own_pages_forget(const void *at)
{
    if (!lock())
        return;
    for (uint32_t i = n_ranges; i-- > 0;) {
        if (ranges[i].at != (uintptr_t)at)
            continue;
        n_range_bytes -= ranges[i].n_bytes;
        ranges[i] = ranges[--n_ranges];
        break;
    }
    unlock();
}

uint64_t own_pages_bytes(void)
{
    return __atomic_load_n(&n_range_bytes, __ATOMIC_RELAXED);
}

static uint64_t resident_in(int fd, const struct own_range *range, uint64_t page_bytes)
{
    static uint64_t entries[ENTRIES];
    uint64_t page = range->at / page_bytes, n = 0;
    const uint64_t end = (range->at + range->n_bytes + page_bytes - 1) / page_bytes;
    while (page < end) {
        size_t want = end - page < ENTRIES ? (size_t)(end - page) : ENTRIES;
        ssize_t got =
            pread(fd, entries, want * sizeof entries[0], (off_t)(page * sizeof entries[0]));
        if (got <= 0)
            break;
        for (size_t i = 0; i < (size_t)got / sizeof entries[0]; i++)
            n += (entries[i] & IN_MEMORY) != 0;
        page += (size_t)got / sizeof entries[0];
    }
    return n * page_bytes;
}

void own_pages_resident(uint64_t *anonymous, uint64_t *shared)
{
    static struct own_range copy[MOST_RANGES];
    const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    const int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    uint32_t n = 0;
    *anonymous = *shared = 0;
    if (fd < 0)
        return;
    if (lock()) {
        n = n_ranges;
        memcpy(copy, ranges, n * sizeof copy[0]);
        unlock();
    }
    for (uint32_t i = 0; i < n; i++)
        *(copy[i].shared ? shared : anonymous) += resident_in(fd, &copy[i], page_bytes);
    close(fd);
}
