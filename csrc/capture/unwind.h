/*
 * unwind.h - the native stack of the calling thread as a node.
 *
 * Like interp/frames.h: the stack of the last event is kept, and what has not changed since is
 * proven unchanged rather than walked again. A frame is determined by its instruction, stack
 * pointer and frame pointer; if these are as they were and the words that led to its caller still
 * hold what they held, then the caller is as it was too, and so on to the root: two loads and two
 * compares a frame, which do not wait for each other.
 */
#ifndef PROFTRACE_CAPTURE_UNWIND_H
#define PROFTRACE_CAPTURE_UNWIND_H

#include "capture/unwind_arch.h"
#include "capture/unwind_rules.h"

struct unwind_link {
    uintptr_t ip, sp, fp;
    uintptr_t ra_at; /* where its return address is stored; 0 = has to be stepped over again */
    uintptr_t fp_at; /* where its caller's frame pointer is; 0 = in the register */
    uint32_t node;
    bool exact;
    bool is_signal;
};

struct unwind_frame {
    uintptr_t ip;
    bool exact, is_signal;
    uintptr_t sp, end; /* the frame's memory; end = 0: not known */
};

struct unwind_reader {
    /* The rule of an address; RULE_UNKNOWN for what is in no module. */
    struct unwind_rule (*learn)(uintptr_t ip, bool exact);
    /* The node of a frame on top of `parent`; may be the parent itself. */
    uint32_t (*intern)(uint32_t parent, const struct unwind_frame *frame, void *data);
};

#define UNWIND_RULES 2048 /* rules a thread remembers; a power of two */
#define UNWIND_NODES 1024 /* nodes likewise */

struct unwind_known_rule {
    uint64_t key; /* address << 1 | exact; 0 = free */
    struct unwind_rule rule;
};

struct unwind_known_node {
    uint64_t key;
    uint32_t parent;
    uint32_t node;
};

/* The stack of one thread as it was at its last event, root first. All zero = empty. */
struct unwind_cache {
    struct unwind_link *chain; /* owned pages, for twice the room: see unwind.c */
    uint32_t depth;
    uint32_t room;
    uintptr_t readable, readable_end; /* memory that is proven to be there */
    struct unwind_known_rule rules[UNWIND_RULES];
    struct unwind_known_node nodes[UNWIND_NODES];
};

/*
 * The node of the stack that ends in `from`; 0 when nothing is known. `data` goes to intern.
 * Allocates nothing but pages for the cache itself. errno is not kept.
 */
uint32_t unwind_current(const struct unwind_reader *reader, struct unwind_cache *cache,
                        const struct unwind_state *from, void *data);

/* Forgets everything: nodes have new meanings, code has gone, or a walk was not finished. */
void unwind_forget(struct unwind_cache *cache);

/*
 * Self-check: walks the whole stack without any memory of earlier walks. True when that gives the
 * same node as unwind_current just did.
 */
bool unwind_agrees(const struct unwind_reader *reader, struct unwind_cache *cache,
                   const struct unwind_state *from, void *data);

#endif
