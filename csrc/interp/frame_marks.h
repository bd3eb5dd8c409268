/*
 * frame_marks.h - marks in frames that end with their activation.
 *
 * A frame that was popped and pushed again looks as it did before, so the chain has to be
 * compared down to its root, however deep. Where the interpreter is known to allow it, frames of
 * functions get a mark that ends with their activation: None in the field of their locals, which
 * holds NULL for functions, is set to NULL when a frame is pushed, and is only ever read to be
 * passed on as None. (None is immortal: to drop a reference does nothing.) A marked frame that is
 * on the remembered chain is the same activation, so all below it wait at their calls as they did:
 * the walk ends there, at any depth.
 */
#ifndef PROFTRACE_INTERP_FRAME_MARKS_H
#define PROFTRACE_INTERP_FRAME_MARKS_H

#include "interp/frames.h"

#define CODE_OPTIMIZED 1u /* co_flags: locals are not in a dict */

/* Whether this interpreter allows marks. */
static inline bool frame_marks_are_known(const struct frame_reader *reader)
{
    return reader->layout.frame_locals != 0 && reader->binding.none != NULL;
}

/* Whether a frame of the calling thread's chain has a mark; only where marks are known. */
static inline bool frame_mark_is_on(const struct frame_reader *reader, uintptr_t frame)
{
    /* A generator's frame may have been copied from a marked one, and runs on many stacks. */
    return read_word(frame + reader->layout.frame_locals) == (uintptr_t)reader->binding.none &&
           read_u8(frame + reader->layout.frame_owner) == OWNER_THREAD;
}

/*
 * Marks a frame, if it may be: only those of functions, since module and class bodies have a dict
 * there, and others may get one.
 */
static inline void frame_mark_put(const struct frame_reader *reader, uintptr_t frame)
{
    uintptr_t code;
    if (read_u8(frame + reader->layout.frame_owner) != OWNER_THREAD ||
        read_word(frame + reader->layout.frame_locals) != 0)
        return;
    code = frames_code(reader, frame);
    if (code != 0 && (read_u32(code + reader->layout.code_flags) & CODE_OPTIMIZED))
        write_word(frame + reader->layout.frame_locals, (uintptr_t)reader->binding.none);
}

/*
 * Checks the frames from 0 to k against the chain, k being on it, down to the first marked one:
 * what is below it is as it was. Those that could be marked and are not are new activations at an
 * old address: they are compared, and marked if all is as it was. *changed becomes the root-most
 * frame that stands at another instruction, if it is below what it was. False: the chain is another
 * one below the frame *broken, and no mark was put: it would say that nothing has changed there.
 */
static inline bool frame_marks_verify(const struct frame_reader *reader,
                                      const struct frame_cache *cache, uint32_t k,
                                      uint32_t *changed, uint32_t *broken)
{
    const struct chain_link *const root = cache->chain;
    const struct chain_link *const top = root + k;
    const struct chain_link *link = top;
    for (;; link--) {
        uintptr_t below;
        if (unlikely(frames_ip(reader, link->frame) != link->ip) &&
            (uint32_t)(link - root) < *changed)
            *changed = (uint32_t)(link - root);
        if (likely(frame_mark_is_on(reader, link->frame)))
            break;
        below = frames_below(reader, link->frame);
        if (link == root && below == 0)
            break;
        if (unlikely(link == root || below != link[-1].frame)) {
            *broken = (uint32_t)(link - root);
            return false;
        }
    }
    for (; link <= top; link++)
        frame_mark_put(reader, link->frame);
    return true;
}

#endif
