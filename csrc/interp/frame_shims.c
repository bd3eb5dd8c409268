/*
 * frame_shims.c - where C has called into the interpreter: the frames it puts there; see frames.h.
 * Looks at the chain as the last walk left it.
 */
#include "interp/frames.h"

bool frames_have_shim_in(const struct frame_reader *reader, const struct frame_cache *cache,
                         uintptr_t low, uintptr_t high)
{
    for (uint32_t i = cache->depth; i-- > 0;) {
        uintptr_t frame = cache->chain[i].frame;
        if (frame >= low && frame < high && frames_is_shim(reader, frame))
            return true;
    }
    return false;
}

uint32_t frames_bare_runs(const struct frame_reader *reader, const struct frame_cache *cache,
                          uint32_t *runs, uint32_t room)
{
    uint32_t run = 0, n = 0;
    bool has_node = false;
    for (uint32_t i = cache->depth; i-- > 0 && n < room;) {
        if (frames_is_shim(reader, cache->chain[i].frame)) {
            if (!has_node)
                runs[n++] = run;
            has_node = false;
            run++;
        } else {
            has_node = has_node || cache->nodes[i] != (i == 0 ? 0 : cache->nodes[i - 1]);
        }
    }
    return n;
}
