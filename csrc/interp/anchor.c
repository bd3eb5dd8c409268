/* anchor.c - see anchor.h. */
#include "interp/anchor.h"

#define ANCHOR_SEARCH 4 /* frames from the top that are looked at */

bool anchor_holds(const struct frame_reader *reader, const struct frame_cache *cache,
                  uint32_t place)
{
    uintptr_t owner = cache->chain[place].frame + reader->layout.frame_owner;
    return place != 0 && cache->nodes[place] != cache->nodes[place - 1] &&
           read_u8(owner) == OWNER_THREAD;
}

void anchor_drop(const struct frame_reader *reader, struct frame_cache *cache, uintptr_t state)
{
    const struct interp_layout *layout = &reader->layout;
    uint32_t lowest = cache->depth > ANCHOR_SEARCH ? cache->depth - ANCHOR_SEARCH : 1;
    cache->anchored = false;
    for (uint32_t place = cache->depth; place-- > lowest;) {
        if (!anchor_holds(reader, cache, place))
            continue;
        write_word(state + layout->state_anchor, cache->chain[place].frame);
        cache->anchor = place;
        cache->anchor_state = state;
        cache->anchor_seq = read_word(state + layout->state_anchor_seq);
        cache->anchored = true;
        return;
    }
}

bool anchor_find(const struct frame_reader *reader, const struct frame_cache *cache,
                 uintptr_t state, uint32_t *place)
{
    const struct interp_layout *layout = &reader->layout;
    uint64_t popped;
    if (!cache->anchored || cache->anchor_state != state)
        return false;
    popped = read_word(state + layout->state_anchor_seq) - cache->anchor_seq;
    if (popped > cache->anchor)
        return false;
    *place = cache->anchor - (uint32_t)popped;
    /* A profiler in another process uses the same word. */
    return read_word(state + layout->state_anchor) == cache->chain[*place].frame;
}
