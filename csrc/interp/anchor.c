/* anchor.c - see anchor.h. */
#include "interp/anchor.h"

#define ANCHOR_SEARCH 4 /* frames from the top that are looked at */

/* CO_GENERATOR, CO_COROUTINE and CO_ASYNC_GENERATOR: code that gives its frame away. */
#define GIVES_FRAME_AWAY (0x20u | 0x80u | 0x200u)

/* Whether the frame at this place cannot leave without a word. */
static bool tells(const struct frame_reader *reader, const struct frame_cache *cache,
                  uint32_t place)
{
    uintptr_t frame = cache->chain[place].frame;
    if (read_u8(frame + reader->layout.frame_owner) != OWNER_THREAD ||
        cache->nodes[place] == cache->nodes[place - 1])
        return false;
    return !(read_u32(frames_code(reader, frame) + reader->layout.code_flags) & GIVES_FRAME_AWAY);
}

void anchor_drop(const struct frame_reader *reader, struct frame_cache *cache, uintptr_t state)
{
    const struct interp_layout *layout = &reader->layout;
    uint32_t lowest = cache->depth > ANCHOR_SEARCH ? cache->depth - ANCHOR_SEARCH : 1;
    cache->anchored = false;
    for (uint32_t place = cache->depth; place-- > lowest;) {
        if (!tells(reader, cache, place))
            continue;
        write_word(state + layout->state_anchor, cache->chain[place].frame);
        cache->anchor = place;
        cache->anchor_state = state;
        cache->anchor_seq = read_word(state + layout->state_anchor_seq);
        cache->anchored = true;
        return;
    }
}

/* Also a profiler in another process uses this word. */
bool anchor_is_there(const struct frame_reader *reader, const struct frame_cache *cache,
                     uintptr_t state)
{
    const struct interp_layout *layout = &reader->layout;
    return cache->anchored && cache->anchor_state == state &&
           read_word(state + layout->state_anchor_seq) == cache->anchor_seq &&
           read_word(state + layout->state_anchor) == cache->chain[cache->anchor].frame;
}
