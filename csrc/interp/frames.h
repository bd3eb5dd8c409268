/*
 * frames.h - the Python stack of the calling thread as a node, from its frame chain.
 *
 * A thread's chain is changed by that thread alone, so inside malloc it stands still and each
 * frame on it keeps its code alive. The walk compares the chain with that of the last event: two
 * loads a frame, and only what differs is interned again. Nothing runs when Python calls or
 * returns, and generators, greenlets and exceptions need no care: the chain is always the truth.
 *
 * On frames that stay the same activation see frame_marks.h and anchor.h.
 */
#ifndef PROFTRACE_INTERP_FRAMES_H
#define PROFTRACE_INTERP_FRAMES_H

#include "interp/layout.h"

/* A frame that needs a node. */
struct frame_place {
    uintptr_t code; /* the code object, alive during the call */
    uint32_t unit;  /* running instruction, in code units */
    bool entry;     /* C code called the interpreter to run this frame */
    uint64_t epoch; /* when it changed, code addresses seen before may mean other code, and those of
                       the epoch 0 do until frames_code_died is told of them */
};

/* Returns the node of a place on top of `parent`; may not fail (parent is a fair answer). */
typedef uint32_t (*frames_intern_fn)(uint32_t parent, const struct frame_place *place);

/* Is told of a place that gets no node, of the epoch 0, before a thread remembers that. */
typedef void (*frames_hide_fn)(const struct frame_place *place);

#define DEAD_RANGES 64u /* a power of two */

/* Where instructions of dead code stood, one in front of them included; see frames_code_died. */
struct dead_range {
    uintptr_t start; /* both atomic */
    uintptr_t end;
};

/* One a process; constant while events are recorded, but for what dies. */
struct frame_reader {
    struct interp_layout layout;
    struct interp_binding binding;
    frames_intern_fn intern;
    frames_hide_fn hide; /* NULL: nobody wants to know */
    uint64_t dead_codes; /* atomic: counts code objects that died; see frames_code_died */
    struct dead_range dead[DEAD_RANGES]; /* of the last ones, by their count */
    uint64_t n_unwatched;                /* atomic: walks in interpreters whose code dies unseen */
};

#define FRAME_MEMORY_BITS 10
#define FRAME_MEMORY (1u << FRAME_MEMORY_BITS) /* places a thread remembers */

struct frame_memory {
    uint64_t key; /* instruction address, and how the frame is owned in the top bits */
    uint32_t parent;
    uint32_t node;
};

struct chain_link {
    uintptr_t frame;
    uintptr_t ip; /* where it stood */
};

/* The chain of one thread as it was at its last event, root first. All zero = empty. */
struct frame_cache {
    struct chain_link *chain; /* owned: pages, with nodes behind it */
    uint32_t *nodes;
    uint32_t depth;
    uint32_t room;
    uint64_t epoch;
    /* From 3.15 on: the interpreter tells whether this frame of the chain has returned since. */
    uint32_t anchor; /* its place in the chain */
    bool anchored;
    uintptr_t anchor_state;      /* thread state that it was told to */
    uint64_t anchor_seq;         /* what that one counted */
    const uintptr_t *state_word; /* the thread's own attached state; NULL = ask for it */
    struct frame_memory memory[FRAME_MEMORY];
};

/*
 * The node of the calling thread's stack, 0 when it has no Python frame. Never allocates but pages
 * for the cache itself; errno is kept by all but the first calls.
 */
uint32_t frames_current(struct frame_reader *reader, struct frame_cache *cache);

/* Frees what the cache owns; it is empty afterwards. */
void frames_release(struct frame_cache *cache);

/* The same for the next thread: as much of the memory as most threads need stays. */
void frames_forget(struct frame_cache *cache);

/* After a jump out of frames_current: what is remembered may be half changed, and is forgotten. */
void frames_abandon(struct frame_cache *cache);

/*
 * To be called when a code object dies of which a place was interned or hidden, before its memory
 * is used again, with the GIL held if there is one. All threads then forget what they remember of
 * it, or all that they remember if `code` is 0.
 */
void frames_code_died(struct frame_reader *reader, uintptr_t code);

/*
 * The top of the calling thread's chain, 0 = none. `first` and `next` walk it, shims included, for
 * the rare questions that are not about nodes.
 */
uintptr_t frames_top(const struct frame_reader *reader);

static inline uintptr_t frames_below(const struct frame_reader *reader, uintptr_t frame)
{
    return read_word(frame + reader->layout.frame_previous);
}

static inline uintptr_t frames_ip(const struct frame_reader *reader, uintptr_t frame)
{
    return read_word(frame + reader->layout.frame_ip);
}

static inline uint8_t frames_owner(const struct frame_reader *reader, uintptr_t frame)
{
    return read_u8(frame + reader->layout.frame_owner);
}

/* Whether the interpreter put it there when C called it: such a frame runs no code. */
static inline bool frames_is_shim(const struct frame_reader *reader, uintptr_t frame)
{
    return frames_owner(reader, frame) >= reader->layout.owner_shim;
}

/* The frame's code object, 0 for a shim. */
uintptr_t frames_code(const struct frame_reader *reader, uintptr_t frame);

/* What the frame's memory says of it; not for a shim. */
void frames_view(const struct frame_reader *reader, uintptr_t frame, struct seen_frame *view);

/*
 * About the chain as frames_current has just seen it. A run of the interpreter's loop keeps its
 * shim on the C stack: in [low, high) it tells which C frame that run is.
 */
bool frames_have_shim_in(const struct frame_reader *reader, const struct frame_cache *cache,
                         uintptr_t low, uintptr_t high);
/* The runs, counted from the innermost (0), none of whose frames has a node; at most `room`. */
uint32_t frames_bare_runs(const struct frame_reader *reader, const struct frame_cache *cache,
                          uint32_t *runs, uint32_t room);

/*
 * Self-check: walks the whole chain without any memory of earlier walks. True when that gives the
 * same node as frames_current just did.
 */
bool frames_agree(struct frame_reader *reader, struct frame_cache *cache);

#endif
