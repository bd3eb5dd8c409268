/* frames.c - the cached walk; see frames.h. */
#include "interp/frames.h"

#include "interp/anchor.h"
#include "interp/dead_code.h"
#include "interp/frame_marks.h"
#include "interp/frame_nodes.h"
#include "interp/thread_state.h"

#include "base/arena.h" /* pages */

#define NEW_FRAMES 8      /* calls since the last event that the short way follows */
#define RETURNED_FRAMES 6 /* returns since the last event that it looks through */
#define DEEP_STACK 64     /* frames from which on it pays to look further than that */
#define FIRST_ROOM 256
#define CHAIN_ENTRY_BYTES (sizeof(struct chain_link) + sizeof(uint32_t))

static uintptr_t state_top(const struct frame_reader *reader, const void *state)
{
    uintptr_t frame = read_word((uintptr_t)state + reader->layout.state_frame);
    if (reader->layout.frame_is_indirect && frame != 0)
        frame = read_word(frame);
    return frame;
}

uintptr_t frames_top(const struct frame_reader *reader)
{
    const void *state = thread_state(reader);
    return state == NULL ? 0 : state_top(reader, state);
}

uintptr_t frames_code(const struct frame_reader *reader, uintptr_t frame)
{
    if (frames_is_shim(reader, frame))
        return 0;
    /* 3.14 keeps flags in the two low bits of the reference. */
    return read_word(frame + reader->layout.frame_code) & ~(uintptr_t)3;
}

/*
 * What changes when code dies, or copies of bytecode, whose addresses are then used again. It also
 * differs between interpreters: each knows of its own code only. Before 3.14 code is watched, but
 * no more than the main interpreter's.
 */
static uint64_t epoch_now(struct frame_reader *reader, const void *state)
{
    const struct interp_layout *layout = &reader->layout;
    uintptr_t interp = read_word((uintptr_t)state + layout->state_interp);
    uint64_t id = read_word(interp + layout->interp_id);
    uint64_t epoch;
    if (layout->generation == 0) {
        if (unlikely(id != 0))
            return EPOCH_UNWATCHED | __atomic_add_fetch(&reader->n_unwatched, 1, __ATOMIC_RELAXED);
        return __atomic_load_n(&reader->dead_codes, __ATOMIC_ACQUIRE);
    }
    epoch = read_word(interp + layout->generation);
    if (layout->tlbc_generation != 0)
        epoch += read_u32(interp + layout->tlbc_generation);
    return (id << 40) + epoch + 1;
}

/* ---- the chain ---------------------------------------------------------------------------- */

static int cache_grow(struct frame_cache *cache, uint32_t depth)
{
    uint32_t room = cache->room == 0 ? FIRST_ROOM : cache->room;
    struct frame_cache bigger;
    struct chain_link *old = cache->chain;
    const uint32_t old_room = cache->room;
    while (room < depth)
        room *= 2;
    bigger.chain = pages_alloc(room * CHAIN_ENTRY_BYTES);
    if (bigger.chain == NULL)
        return -1;
    bigger.nodes = (uint32_t *)(bigger.chain + room);
    if (cache->room != 0) {
        memcpy(bigger.chain, cache->chain, cache->depth * sizeof cache->chain[0]);
        memcpy(bigger.nodes, cache->nodes, cache->depth * sizeof cache->nodes[0]);
    }
    /* The old pages last: a signal handler may jump out at any point, see frames_abandon. */
    cache->chain = bigger.chain;
    cache->nodes = bigger.nodes;
    cache->room = room;
    COMPILER_BARRIER();
    if (old_room != 0)
        pages_free(old, old_room * CHAIN_ENTRY_BYTES);
    return 0;
}

/*
 * Checks the frames 0 .. k against the chain, k being on it. *changed becomes the root-most frame
 * that stands at another instruction, if it is below what it was. False: the chain is another one
 * below the frame *broken.
 */
static bool verify_down(const struct frame_reader *reader, const struct frame_cache *cache,
                        uint32_t k, uint32_t *changed, uint32_t *broken)
{
    const size_t ip_at = reader->layout.frame_ip;
    const size_t previous_at = reader->layout.frame_previous;
    const struct chain_link *const root = cache->chain;
    const struct chain_link *moved = root + *changed;
    const struct chain_link *link = root + k;
    uintptr_t frame = link->frame;
    for (; link != root; link--) {
        uintptr_t below = link[-1].frame;
        if (unlikely(read_word(frame + ip_at) != link->ip))
            moved = link < moved ? link : moved;
        if (unlikely(read_word(frame + previous_at) != below)) {
            *broken = (uint32_t)(link - root);
            return false;
        }
        /*
         * The next address is the remembered one, which was just proven equal to the loaded one:
         * so the loads of different frames do not wait for each other. The compiler must not see
         * that the two are the same.
         */
        __asm__("" : "+r"(below));
        frame = below;
    }
    if (read_word(frame + ip_at) != root->ip)
        moved = root;
    *changed = (uint32_t)(moved - root);
    *broken = 0;
    return read_word(frame + previous_at) == 0;
}

/* Puts frames (innermost first) on top of the first `base` of the chain. */
static bool stack_up(struct frame_reader *reader, struct frame_cache *cache, uint32_t base,
                     const uintptr_t *fresh, uint32_t n_fresh)
{
    const bool marks = frame_marks_are_known(reader);
    if (base + n_fresh > cache->room && cache_grow(cache, base + n_fresh) != 0)
        return false;
    for (uint32_t i = 0; i < n_fresh; i++) {
        uintptr_t frame = fresh[n_fresh - 1 - i];
        cache->chain[base + i].frame = frame;
        if (marks)
            frame_mark_put(reader, frame);
    }
    cache->depth = base + n_fresh;
    return true;
}

/*
 * How much of the chain ends with this frame, 0 = it is not on it. One that is not marked is looked
 * for near the top only: it may be new.
 */
static uint32_t find_on_chain(const struct frame_reader *reader, const struct frame_cache *cache,
                              uintptr_t frame)
{
    uint32_t n = cache->depth;
    uint32_t lowest = n > RETURNED_FRAMES ? n - RETURNED_FRAMES : 0;
    while (n > lowest && cache->chain[n - 1].frame != frame)
        n--;
    if (n > lowest)
        return n;
    if (lowest == 0 || !frame_marks_are_known(reader) || !frame_mark_is_on(reader, frame))
        return 0;
    while (n > 0 && cache->chain[n - 1].frame != frame)
        n--;
    return n;
}

/* Either way of checking what is remembered below, and with, the frame k; see verify_down. */
static inline bool verify(const struct frame_reader *reader, const struct frame_cache *cache,
                          uint32_t k, uint32_t *changed, uint32_t *broken)
{
    return frame_marks_are_known(reader) ? frame_marks_verify(reader, cache, k, changed, broken)
                                         : verify_down(reader, cache, k, changed, broken);
}

/*
 * The short way: a few calls and returns since the last event. False: take the long one. A frame
 * that is remembered with another one below it is as good as new: generators run on many stacks,
 * and are made where others were.
 */
static bool follow_short(struct frame_reader *reader, struct frame_cache *cache, uintptr_t top,
                         uint32_t *changed)
{
    uintptr_t fresh[NEW_FRAMES];
    uint32_t n_fresh = 0, broken;
    for (uintptr_t frame = top; frame != 0; frame = frames_below(reader, frame)) {
        uint32_t n = find_on_chain(reader, cache, frame);
        if (n != 0) {
            *changed = n;
            if (likely(verify(reader, cache, n - 1, changed, &broken)))
                return stack_up(reader, cache, n, fresh, n_fresh);
        }
        if (n_fresh == NEW_FRAMES)
            return false;
        fresh[n_fresh++] = frame;
        if (n == 0)
            continue;
        while (--n != broken) { /* those above it are where they were on the chain */
            if (n_fresh == NEW_FRAMES)
                return false;
            fresh[n_fresh++] = frame = cache->chain[n - 1].frame;
        }
    }
    return false;
}

/*
 * Many calls or returns since the last event on a deep stack: walking down to the root each time
 * would make a recursion that allocates cost the square of its depth. It looks through a quarter of
 * the chain at most, so what it does in vain is little beside the long way.
 */
static NOINLINE bool follow_many(struct frame_reader *reader, struct frame_cache *cache,
                                 uintptr_t top, uint32_t *changed)
{
    const bool marks = frame_marks_are_known(reader);
    const uint32_t most = cache->depth / 4;
    const uint32_t lowest = cache->depth - most;
    uint32_t n_fresh = 0;
    uint32_t n = cache->depth;
    uint32_t broken;
    uintptr_t frame = top;
    while (n > lowest && cache->chain[n - 1].frame != top)
        n--;
    for (n = n > lowest ? n : 0; n == 0; frame = frames_below(reader, frame), n_fresh++) {
        if (frame == 0 || n_fresh == most)
            return false;
        n = find_on_chain(reader, cache, frame);
        if (n != 0)
            break;
        if (marks && frame_mark_is_on(reader, frame))
            return false; /* marked, and of another chain */
    }
    *changed = n;
    if (!verify(reader, cache, n - 1, changed, &broken))
        return false;
    if (n + n_fresh > cache->room && cache_grow(cache, n + n_fresh) != 0)
        return false;
    frame = top;
    for (uint32_t i = n + n_fresh; i > n; frame = frames_below(reader, frame)) {
        cache->chain[--i].frame = frame;
        if (marks)
            frame_mark_put(reader, frame);
    }
    cache->depth = n + n_fresh;
    return true;
}

/* The long way: walks to the root, then keeps the nodes of the part that is as it was. */
static bool follow_long(struct frame_reader *reader, struct frame_cache *cache, uintptr_t top,
                        uint32_t *changed)
{
    uint32_t depth = 0;
    uint32_t i;
    if (cache->depth >= DEEP_STACK && follow_many(reader, cache, top, changed))
        return true;
    for (uintptr_t frame = top; frame != 0; frame = frames_below(reader, frame))
        depth++;
    if (depth > cache->room && cache_grow(cache, depth) != 0) {
        cache->depth = 0;
        return false;
    }
    i = depth;
    *changed = depth;
    for (uintptr_t frame = top; frame != 0; frame = frames_below(reader, frame)) {
        i--;
        if (i >= cache->depth || cache->chain[i].frame != frame ||
            cache->chain[i].ip != frames_ip(reader, frame)) {
            cache->chain[i].frame = frame;
            *changed = i;
        }
        if (frame_marks_are_known(reader))
            frame_mark_put(reader, frame);
    }
    cache->depth = depth;
    return true;
}

/* As follow_short, but down to the anchor only. */
static bool follow_anchor(struct frame_reader *reader, struct frame_cache *cache, uintptr_t state,
                          uintptr_t top, uint32_t *changed)
{
    uintptr_t fresh[NEW_FRAMES];
    const struct chain_link *anchor = cache->chain + cache->anchor;
    uint32_t n_fresh = 0;
    uintptr_t frame = top;
    if (!anchor_is_there(reader, cache, state))
        return false;
    for (; frame != anchor->frame; frame = frames_below(reader, frame)) {
        if (frame == 0 || n_fresh == NEW_FRAMES)
            return false;
        fresh[n_fresh++] = frame;
    }
    *changed = cache->anchor + (frames_ip(reader, frame) == anchor->ip);
    return stack_up(reader, cache, cache->anchor + 1, fresh, n_fresh);
}

static uint32_t current_with_anchor(struct frame_reader *reader, struct frame_cache *cache,
                                    uintptr_t state, uintptr_t top)
{
    uint32_t changed;
    uint32_t node;
    if (!follow_anchor(reader, cache, state, top, &changed) &&
        !follow_short(reader, cache, top, &changed) && !follow_long(reader, cache, top, &changed)) {
        cache->anchored = false;
        return 0;
    }
    node = changed == cache->depth ? cache->nodes[changed - 1]
                                   : frame_nodes_intern(reader, cache, changed);
    anchor_drop(reader, cache, state);
    return node;
}

/*
 * The commonest case: what ran at the last event runs still, and nothing but its own instruction
 * has changed. Only a mark can tell.
 */
static ALWAYS_INLINE bool is_still_on_top(const struct frame_reader *reader,
                                          const struct frame_cache *cache, uintptr_t top)
{
    return likely(cache->depth != 0) && cache->chain[cache->depth - 1].frame == top &&
           frame_marks_are_known(reader) && frame_mark_is_on(reader, top);
}

static NOINLINE void enter_epoch(const struct frame_reader *reader, struct frame_cache *cache,
                                 uint64_t epoch)
{
    if (!dead_code_forget(reader, cache, epoch)) {
        cache->depth = 0;
        memset(cache->memory, 0, sizeof cache->memory);
    }
    cache->anchored = false;
    cache->epoch = epoch;
}

uint32_t frames_current(struct frame_reader *reader, struct frame_cache *cache)
{
    const void *state = own_state(reader, cache);
    uintptr_t top;
    uint64_t epoch;
    uint32_t changed;
    if (state == NULL)
        return 0;
    top = state_top(reader, state);
    if (top == 0)
        return 0;
    epoch = epoch_now(reader, state);
    if (unlikely(epoch != cache->epoch))
        enter_epoch(reader, cache, epoch);
    if (likely(is_still_on_top(reader, cache, top))) {
        changed = cache->depth - 1;
        if (frames_ip(reader, top) == cache->chain[changed].ip)
            return cache->nodes[changed];
        return frame_nodes_intern(reader, cache, changed);
    }
    if (anchor_is_known(reader))
        return current_with_anchor(reader, cache, (uintptr_t)state, top);
    if (!follow_short(reader, cache, top, &changed) && !follow_long(reader, cache, top, &changed))
        return 0;
    if (likely(changed == cache->depth))
        return cache->nodes[cache->depth - 1];
    return frame_nodes_intern(reader, cache, changed);
}

void frames_release(struct frame_cache *cache)
{
    if (cache->room != 0)
        pages_free(cache->chain, cache->room * CHAIN_ENTRY_BYTES);
    memset(cache, 0, sizeof *cache);
}

void frames_forget(struct frame_cache *cache)
{
    struct chain_link *chain = cache->chain;
    uint32_t *nodes = cache->nodes;
    const uint32_t room = cache->room;
    if (room > FIRST_ROOM) {
        frames_release(cache);
        return;
    }
    memset(cache, 0, sizeof *cache);
    cache->chain = chain;
    cache->nodes = nodes;
    cache->room = room;
}

void frames_abandon(struct frame_cache *cache)
{
    cache->anchored = false;
    cache->depth = 0;
    memset(cache->memory, 0, sizeof cache->memory);
}

bool frames_agree(struct frame_reader *reader, struct frame_cache *cache)
{
    struct frame_cache *fresh = pages_alloc(sizeof *fresh);
    uint32_t cached = frames_current(reader, cache);
    bool agree = fresh != NULL && frames_current(reader, fresh) == cached;
    if (fresh != NULL) {
        frames_release(fresh);
        pages_free(fresh, sizeof *fresh);
    }
    return agree;
}
