/*
 * sampler.h - which allocations a sampled capture records: on average one in `sample_bytes` bytes.
 *
 * The distances between recorded bytes are exponentially distributed, so each byte has the same
 * chance, whatever the sizes before it: a block of `size` bytes is recorded with probability
 * 1 - exp(-size / sample_bytes), and the reader knows from that what it stands for. Frees are
 * recorded of recorded blocks only. What is not recorded costs a subtraction when it is allocated
 * and a look at one byte of a table when it is freed. Mappings are recorded always: they are few,
 * and cut in pieces.
 */
#ifndef PROFTRACE_CAPTURE_SAMPLER_H
#define PROFTRACE_CAPTURE_SAMPLER_H

#include "base/compiler.h"
#include "base/table.h"

#include <stdbool.h>
#include <stdint.h>

#define SAMPLER_FILTER_BITS 16

/* The mean distance may be at most this. */
#define SAMPLER_MOST_BYTES ((uint64_t)1 << 30)

struct sampler {
    uint64_t sample_bytes; /* mean distance; 0 = every allocation is recorded */
    int64_t most_left;     /* no distance is longer: what is, was drawn for another capture */
    uint8_t *filter;       /* owned pages: how many recorded blocks have each hash; 255 stays */
    struct table blocks;   /* the addresses of recorded blocks; guarded by the capture lock */
};

/* The calling thread's. */
struct sampler_thread {
    int64_t left;      /* bytes up to the next one that is recorded */
    uint64_t random;   /* state of the generator, 0 = not seeded yet */
    uintptr_t skipped; /* the block of the last free, if that was not recorded */
    uintptr_t range;   /* the range of the last munmap, if no recorded free came after it */
};

extern TLS_FAST struct sampler_thread sampler_self;

/* 0 turns it off. -1 without memory. With the capture lock held, while nothing is recorded. */
NODISCARD int sampler_start(struct sampler *sampler, uint64_t sample_bytes);

/* In a forked child that records: forgets what the parent has recorded, without a look at it. */
void sampler_forget(struct sampler *sampler);

/* The distance is used up: draws the next one. False: the block is not recorded after all. */
bool sampler_draw(const struct sampler *sampler, int64_t n_bytes);

/* Remembers a recorded block. False without memory: then it must not be recorded. */
bool sampler_keep(struct sampler *sampler, uintptr_t block);
/* Forgets a block whose byte of the filter is not 0; tells whether it was a recorded one. */
bool sampler_drop(struct sampler *sampler, uintptr_t block);

static inline uint8_t *sampler_filter_at(const struct sampler *sampler, uintptr_t block)
{
    const uint32_t hash = (uint32_t)(block >> 4) * 0x9e3779b1u;
    return &sampler->filter[hash >> (32 - SAMPLER_FILTER_BITS)];
}

/* Whether this allocation is to be recorded. Only while sample_bytes is not 0. */
static inline bool sampler_takes(struct sampler *sampler, uintptr_t block, uint64_t n_bytes)
{
    struct sampler_thread *self = &sampler_self;
    const int64_t left = self->left - (int64_t)(n_bytes == 0 ? 1 : n_bytes);
    if (likely(left > 0 && left <= sampler->most_left)) {
        self->left = left;
        return false;
    }
    return sampler_draw(sampler, (int64_t)(n_bytes == 0 ? 1 : n_bytes)) &&
           sampler_keep(sampler, block);
}

/* Whether the free of this block is to be recorded. Likewise. */
static inline bool sampler_frees(struct sampler *sampler, uintptr_t block)
{
    if (likely(__atomic_load_n(sampler_filter_at(sampler, block), __ATOMIC_RELAXED) == 0) ||
        !sampler_drop(sampler, block)) {
        sampler_self.skipped = block;
        return false;
    }
    sampler_self.skipped = sampler_self.range = 0;
    return true;
}

/* A munmap is about to happen. */
static inline void sampler_unmaps(uintptr_t range)
{
    sampler_self.skipped = 0;
    sampler_self.range = range;
}

/* The thread's last free or munmap did not happen. Tells whether that is to be recorded. */
static inline bool sampler_takes_back(struct sampler *sampler, uintptr_t address)
{
    if (address == sampler_self.skipped)
        return false;
    return address == sampler_self.range || sampler_keep(sampler, address);
}

#endif
