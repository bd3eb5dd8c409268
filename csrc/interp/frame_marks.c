/* frame_marks.c - see frame_marks.h. */
#include "interp/frame_marks.h"

/*
 * Frames that could be marked and are not are new activations at an old address; they are compared,
 * and marked.
 */
bool frame_marks_verify(const struct frame_reader *reader, const struct frame_cache *cache,
                        uint32_t k, uint32_t *changed)
{
    const struct chain_link *const root = cache->chain;
    for (const struct chain_link *link = root + k;; link--) {
        uintptr_t below;
        if (unlikely(frames_ip(reader, link->frame) != link->ip) &&
            (uint32_t)(link - root) < *changed)
            *changed = (uint32_t)(link - root);
        if (likely(frame_mark_is_on(reader, link->frame)))
            return true;
        below = frames_below(reader, link->frame);
        if (link == root)
            return below == 0;
        if (unlikely(below != link[-1].frame))
            return false;
        frame_mark_put(reader, link->frame);
    }
}
