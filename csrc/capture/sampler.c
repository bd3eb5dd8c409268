/* sampler.c - see sampler.h. */
#include "capture/sampler.h"

#include "base/arena.h" /* pages */
#include "base/ticks.h" /* mono_now_ns */
#include "capture/state.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#define FILTER_BYTES ((size_t)1 << SAMPLER_FILTER_BITS)
#define FULL 255 /* of a byte of the filter: it does not count any more */
/* In mean distances: one in 10^27 is longer. */
#define LONGEST 64

TLS_FAST struct sampler_thread sampler_self;

int sampler_start(struct sampler *sampler, uint64_t sample_bytes)
{
    if (sample_bytes > SAMPLER_MOST_BYTES)
        sample_bytes = SAMPLER_MOST_BYTES;
    table_release(&sampler->blocks);
    if (sample_bytes != 0 && sampler->filter == NULL)
        sampler->filter = pages_alloc(FILTER_BYTES);
    else if (sample_bytes != 0)
        memset(sampler->filter, 0, FILTER_BYTES);
    if (sample_bytes != 0 && sampler->filter == NULL) {
        errno = ENOMEM;
        return -1;
    }
    sampler->most_left = (int64_t)sample_bytes * LONGEST;
    sampler->sample_bytes = sample_bytes;
    __atomic_store_n(&capture.attention, sample_bytes != 0 ? ATTEND_SAMPLED : 0, __ATOMIC_RELAXED);
    return 0;
}

void sampler_forget(struct sampler *sampler)
{
    sampler->blocks = (struct table){0};
    if (sampler->filter != NULL)
        memset(sampler->filter, 0, FILTER_BYTES);
}

/* ---- distances ---------------------------------------------------------------------------- */

/* Uniform in (0, 1]; the generator is splitmix64. */
static double draw_uniform(struct sampler_thread *self)
{
    uint64_t value;
    if (self->random == 0)
        self->random = mono_now_ns() ^ (uint64_t)(uintptr_t)self << 16 ^ (uint64_t)gettid() << 40;
    self->random += 0x9e3779b97f4a7c15ull;
    value = self->random;
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9ull;
    value = (value ^ value >> 27) * 0x94d049bb133111ebull;
    value ^= value >> 31;
    return (double)((value >> 11) + 1) * 0x1p-53;
}

/* At least 1. A block of n bytes is recorded if it uses up the distance: if that is n or less. */
static int64_t draw_distance(const struct sampler *sampler, struct sampler_thread *self)
{
    const double distance = -log(draw_uniform(self)) * (double)sampler->sample_bytes;
    if (distance >= (double)sampler->most_left)
        return sampler->most_left;
    return distance < 1 ? 1 : (int64_t)ceil(distance);
}

bool sampler_draw(const struct sampler *sampler, int64_t n_bytes)
{
    struct sampler_thread *self = &sampler_self;
    int saved = errno;
    /* The thread's first one, or what it had left is of a capture with a longer distance. */
    if (self->left <= 0 || self->left > sampler->most_left)
        self->left = draw_distance(sampler, self);
    if (self->left > n_bytes) {
        self->left -= n_bytes;
        errno = saved;
        return false;
    }
    self->left = draw_distance(sampler, self);
    errno = saved;
    return true;
}

/* ---- recorded blocks ---------------------------------------------------------------------- */

/* A child that no fork handler was told of goes on to the recorder, which ends recording there. */
bool sampler_keep(struct sampler *sampler, uintptr_t block)
{
    uint8_t *count = sampler_filter_at(sampler, block);
    struct brief_lock brief;
    bool kept = true;
    int saved = errno;
    if (!state_memory_is_ours())
        return true;
    state_lock_briefly(&brief);
    if (table_get(&sampler->blocks, block) == 0) {
        kept = table_put(&sampler->blocks, block, 1) == 0;
        if (kept && *count != FULL)
            __atomic_store_n(count, *count + 1, __ATOMIC_RELAXED);
    }
    state_unlock_briefly(&brief);
    errno = saved;
    return kept;
}

bool sampler_drop(struct sampler *sampler, uintptr_t block)
{
    uint8_t *count = sampler_filter_at(sampler, block);
    struct brief_lock brief;
    bool found;
    int saved = errno;
    if (!state_memory_is_ours())
        return true;
    state_lock_briefly(&brief);
    found = table_get(&sampler->blocks, block) != 0;
    if (found) {
        table_remove(&sampler->blocks, block);
        if (*count != FULL)
            __atomic_store_n(count, *count - 1, __ATOMIC_RELAXED);
    }
    state_unlock_briefly(&brief);
    errno = saved;
    return found;
}
