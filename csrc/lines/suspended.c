/* suspended.c - see suspended.h. */
#include "lines/suspended.h"

#include "base/arena.h"

#include <pthread.h>

#define SLOTS_AT_FIRST 64u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool has_lock;
static struct suspension *slots; /* owned pages; a power of two of them, at most half in use */
static uint32_t n_slots, n_used;

/* The slot of a frame, or the free one where it would be. */
static struct suspension *find_slot(const void *frame)
{
    /* Addresses divide by 16; the upper half of the product has of all their bits. */
    uint32_t at = (uint32_t)(((uintptr_t)frame >> 4) * 0x9e3779b97f4a7c15u >> 32);
    for (;; at++) {
        struct suspension *slot = &slots[at & (n_slots - 1)];
        if (slot->frame == frame || slot->frame == NULL)
            return slot;
    }
}

/* Makes room for one more; what is not waiting is left behind. */
static NOINLINE int reserve(void)
{
    struct suspension *old = slots;
    uint32_t n_old = n_slots, n_waiting = 0, n = SLOTS_AT_FIRST;
    for (uint32_t i = 0; i < n_old; i++)
        n_waiting += old[i].is_waiting;
    while (n < 4 * n_waiting)
        n *= 2;
    slots = pages_alloc(n * sizeof *slots);
    if (slots == NULL) {
        slots = old;
        return -1;
    }
    n_slots = n;
    n_used = n_waiting;
    for (uint32_t i = 0; i < n_old; i++)
        if (old[i].is_waiting)
            *find_slot(old[i].frame) = old[i];
    if (old != NULL)
        pages_free(old, n_old * sizeof *old);
    return 0;
}

static void put_unlocked(const struct suspension *suspension)
{
    struct suspension *slot;
    if (unlikely(2 * n_used >= n_slots) && reserve() < 0)
        return;
    slot = find_slot(suspension->frame);
    n_used += slot->frame == NULL;
    *slot = *suspension;
    slot->is_waiting = true;
}

void suspended_put(const struct suspension *suspension)
{
    if (unlikely(has_lock))
        pthread_mutex_lock(&lock);
    put_unlocked(suspension);
    if (has_lock)
        pthread_mutex_unlock(&lock);
}

static bool take_unlocked(const void *frame, const void *key, struct suspension *taken)
{
    struct suspension *slot = n_slots == 0 ? NULL : find_slot(frame);
    if (slot == NULL || !slot->is_waiting || slot->key != key || slot->frame == NULL)
        return false;
    *taken = *slot;
    slot->is_waiting = false;
    return true;
}

bool suspended_take(const void *frame, const void *key, struct suspension *taken)
{
    bool known;
    if (unlikely(has_lock))
        pthread_mutex_lock(&lock);
    known = take_unlocked(frame, key, taken);
    if (has_lock)
        pthread_mutex_unlock(&lock);
    return known;
}

void suspended_use_lock(void)
{
    has_lock = true;
}

void suspended_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
}

void suspended_restart(const void *thread, uint64_t now, uint64_t now_raw)
{
    for (uint32_t i = 0; i < n_slots; i++) {
        slots[i].thread = thread;
        slots[i].since = now;
        slots[i].since_raw = now_raw;
        slots[i].spent = 0;
    }
}
