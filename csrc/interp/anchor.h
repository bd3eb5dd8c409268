/*
 * anchor.h - the word that the thread state of 3.15 has for profilers: it holds a frame, which the
 * interpreter replaces by its caller when it pops it, counting that.
 *
 * So the frames below the anchor need no look: its callers wait, where they were, for as long as it
 * lives. That holds for frames on the thread's own stack that tracebacks show. Generators are
 * resumed by others, shims are left without a word, and what makes a generator gives its frame
 * away; none of these is an anchor.
 */
#ifndef PROFTRACE_INTERP_ANCHOR_H
#define PROFTRACE_INTERP_ANCHOR_H

#include "interp/frames.h"

/* Whether this interpreter has the word. */
static inline bool anchor_is_known(const struct frame_reader *reader)
{
    return reader->layout.state_anchor != 0;
}

/*
 * The place on the cached chain that the anchor is at now; false if that cannot be told. It still
 * has to be met on the real chain, and to hold.
 */
NODISCARD bool anchor_find(const struct frame_reader *reader, const struct frame_cache *cache,
                           uintptr_t state, uint32_t *place);

/* Whether what is below this place, which is on the chain, is known to be as it was. */
NODISCARD bool anchor_holds(const struct frame_reader *reader, const struct frame_cache *cache,
                            uint32_t place);

/* Drops the anchor at the top of the cached chain, which is the real one, or near it. */
void anchor_drop(const struct frame_reader *reader, struct frame_cache *cache, uintptr_t state);

#endif
