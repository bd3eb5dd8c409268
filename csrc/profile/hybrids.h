/*
 * hybrids.h - the stacks of captures with native ones: Python frames put where the interpreter's
 * loop ran them, its own machinery left out, and native addresses turned into functions and lines.
 */
#ifndef PROFTRACE_PROFILE_HYBRIDS_H
#define PROFTRACE_PROFILE_HYBRIDS_H

#include "profile/stacks.h"
#include "profile/symbolize.h"

/* An address of a module as frames, outermost first. */
struct native_place {
    uint32_t first; /* in place_frames */
    uint32_t n;
    uint8_t kind;         /* how hybrids.c treats it */
    bool starts_programs; /* code of the C library or of Python's own program file */
    bool is_interpreters; /* of the interpreter itself */
};

struct hybrids {
    struct symbolizer *symbolizer; /* owned; NULL = not needed yet */
    VEC(struct native_place) places;
    VEC(uint32_t) place_frames; /* rows of stacks.frames */
    struct table place_ids;     /* of module, address and flags; plus 1 */
    VEC(char *) texts;          /* owned: names made up here */
    VEC(uint8_t) verdicts;      /* by module id: enum module_verdict, plus 1; 0 = not asked */
    VEC(uint32_t) scratch[3];   /* of one stack: native places, Python nodes, frames */
};

/*
 * Fills stacks->node_rows by HYBRID id. Without `show_native` only the Python frames are shown.
 * -1 when there is no memory left. Release it after the stacks' last use.
 */
NODISCARD int hybrids_build(struct hybrids *hybrids, struct stacks *stacks,
                            const struct dictionary *dict, bool show_native);
void hybrids_release(struct hybrids *hybrids);

/* The address to look up for a node: inside its instruction. */
static inline uint64_t native_lookup_address(const struct rec_native_node *node)
{
    return node->address - (node->flags & NATIVE_EXACT ? 0 : 1);
}

#endif
