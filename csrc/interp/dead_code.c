/* dead_code.c - see dead_code.h. */
#include "interp/dead_code.h"

#include "interp/frame_nodes.h"

#include <string.h>

#define UNIT_BYTES 2
#define N_UNITS_AT (2 * sizeof(uintptr_t)) /* ob_size, behind count and type */

static struct dead_range range_of(const struct frame_reader *reader, uintptr_t code)
{
    struct dead_range range = {0, UINTPTR_MAX};
    if (code == 0)
        return range;
    range.start = code + reader->layout.code_units - UNIT_BYTES;
    range.end = range.start + UNIT_BYTES * (1 + read_word(code + N_UNITS_AT));
    return range;
}

void frames_code_died(struct frame_reader *reader, uintptr_t code)
{
    const struct dead_range range = range_of(reader, code);
    struct dead_range *kept = &reader->dead[reader->dead_codes % DEAD_RANGES];
    __atomic_store_n(&kept->start, range.start, __ATOMIC_RELAXED);
    __atomic_store_n(&kept->end, range.end, __ATOMIC_RELAXED);
    __atomic_fetch_add(&reader->dead_codes, 1, __ATOMIC_RELEASE);
}

#define MOST_RANGES 8u /* of more deaths at a time than this no list is looked through */

static void forget_range(struct frame_cache *cache, const struct dead_range *range)
{
    const uintptr_t size = range->end - range->start;
    for (uint32_t i = 0; i < FRAME_MEMORY; i++) {
        const uint64_t ip = cache->memory[i].key & ~(KEY_GENERATOR | KEY_ENTRY);
        if (ip - range->start < size)
            cache->memory[i] = (struct frame_memory){0};
    }
    /* What stood there has returned, and with it all above. */
    for (uint32_t i = 0; i < cache->depth; i++) {
        if (cache->chain[i].ip - range->start < size)
            cache->depth = i;
    }
}

bool dead_code_forget(const struct frame_reader *reader, struct frame_cache *cache, uint64_t epoch)
{
    struct dead_range dead[MOST_RANGES];
    const uint64_t n = epoch - cache->epoch;
    if (reader->layout.generation != 0 || reader->binding.free_threaded ||
        (epoch | cache->epoch) & EPOCH_UNWATCHED || n > MOST_RANGES)
        return false;
    for (uint64_t i = 0; i < n; i++) {
        const struct dead_range *range = &reader->dead[(cache->epoch + i) % DEAD_RANGES];
        dead[i].start = __atomic_load_n(&range->start, __ATOMIC_RELAXED);
        dead[i].end = __atomic_load_n(&range->end, __ATOMIC_RELAXED);
    }
    /* Others may die at any time: the oldest that was read must not be overwritten yet. */
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (__atomic_load_n(&reader->dead_codes, __ATOMIC_RELAXED) - cache->epoch >= DEAD_RANGES)
        return false;
    for (uint64_t i = 0; i < n; i++)
        forget_range(cache, &dead[i]);
    return true;
}
