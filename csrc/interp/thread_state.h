/*
 * thread_state.h - the calling thread's state for frames.c, with or without the GIL.
 *
 * The interpreter's function for it costs as much as the rest of a short walk, so a thread reads
 * the word that it answers with, once it has seen that the two agree.
 */
#ifndef PROFTRACE_INTERP_THREAD_STATE_H
#define PROFTRACE_INTERP_THREAD_STATE_H

#include "interp/frames.h"

/* Without the GIL, what the thread remembers may be freed under it once Python shuts down. */
static inline void *detached_state(const struct frame_reader *reader)
{
    return reader->binding.is_finalizing() ? NULL : reader->binding.known_state();
}

static inline void *thread_state(const struct frame_reader *reader)
{
    void *state;
    if (reader->binding.attached_state == NULL)
        return NULL;
    state = reader->binding.attached_state();
    return likely(state != NULL) ? state : detached_state(reader);
}

/* When a thread is first seen attached, its word has to agree. */
static NOINLINE void *ask_for_state(const struct frame_reader *reader, struct frame_cache *cache)
{
    void *state = thread_state(reader);
    const uintptr_t *word;
    if (reader->binding.state_offset == 0 || state == NULL ||
        state != reader->binding.attached_state())
        return state;
    word = (const uintptr_t *)(THREAD_POINTER() + (uintptr_t)reader->binding.state_offset);
    if (*word == (uintptr_t)state)
        cache->state_word = word;
    return state;
}

/* thread_state, without a call where that is possible. */
static ALWAYS_INLINE void *own_state(const struct frame_reader *reader, struct frame_cache *cache)
{
    void *state;
    if (unlikely(cache->state_word == NULL))
        return ask_for_state(reader, cache);
    state = (void *)*cache->state_word;
    return likely(state != NULL) ? state : detached_state(reader);
}

#endif
