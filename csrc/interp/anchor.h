/*
 * anchor.h - the word that the thread state of 3.15 has for profilers: it holds a frame, which the
 * interpreter replaces by its caller when it pops it, counting that.
 *
 * While our frame is there, uncounted, it is the activation that it was, and the frames below it
 * need no look: its callers wait, where they were. Not every frame is replaced when it leaves:
 * generators yield, shims are dropped, and the code of a generator gives its frame away (that of a
 * generator expression after it has run a little). None of these is an anchor, and once the word
 * has moved, it may be to one of these, so that it says nothing any more.
 */
#ifndef PROFTRACE_INTERP_ANCHOR_H
#define PROFTRACE_INTERP_ANCHOR_H

#include "interp/frames.h"

/* Whether this interpreter has the word. */
static inline bool anchor_is_known(const struct frame_reader *reader)
{
    return reader->layout.state_anchor != 0;
}

/* Whether the anchor, at cache->anchor, is where it was dropped. */
NODISCARD bool anchor_is_there(const struct frame_reader *reader, const struct frame_cache *cache,
                               uintptr_t state);

/* Drops the anchor at the top of the cached chain, which is the real one, or near it. */
void anchor_drop(const struct frame_reader *reader, struct frame_cache *cache, uintptr_t state);

#endif
