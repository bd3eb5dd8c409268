/*
 * blocks.h - how often every instruction ran, from one counter a basic block, or less.
 *
 * The instructions of a block run one after the other unless an exception ends it, so one counter
 * tells them all. A block needs none if its count follows from those of its neighbours: what leaves
 * the predecessors of a place arrives there. The plan says which instructions have a counter (a
 * probe) and in which order the other blocks follow.
 *
 * Counts are exact if, besides the counters, it is known where execution of the code object was
 * broken off or taken up inside a block ("losses"): exceptions, frames that stand somewhere at the
 * end, frames that stood somewhere when counting began. Plain C, no Python; nothing here locks.
 */
#ifndef PROFTRACE_LINES_BLOCKS_H
#define PROFTRACE_LINES_BLOCKS_H

#include "base/arena.h"
#include "lines/statements.h"

#define NO_INSTR UINT32_MAX

/* A basic block: instructions [first, end). */
struct block {
    uint32_t first;
    uint32_t end;
    uint32_t probe; /* the instruction that is counted; NO_INSTR: the count follows from others */
    uint32_t in;    /* junctions: all that arrives at one leaves by it */
    uint32_t out;
    bool is_unknown; /* nobody asks about it, or its count does not follow; then in == out */
};

/* One step of the derivation: all other blocks at the junction are known by then. */
struct block_step {
    uint32_t block;
    uint32_t junction;
};

/* All arrays are in the arena that blocks_plan was given. */
struct block_plan {
    uint32_t n_instrs;
    uint32_t n_units;
    uint32_t n_blocks;
    uint32_t n_junctions;
    uint32_t n_steps;
    uint32_t n_probes;
    uint32_t entry; /* the RESUME that a call goes through; NO_INSTR if there is none */
    struct block *blocks;
    struct block_step *steps;
    uint32_t *instr_of_unit; /* caches and prefixes belong to their instruction */
    uint32_t *own_unit;      /* by instruction */
};

/*
 * Divides the code into blocks and chooses the probes, so that the counts of all instructions that
 * are marked in `needed` (by index; NULL: all that can be counted) and of the entry are going to be
 * known, if that is possible. `weights` says how often each instruction may be expected to run (by
 * index; UINT64_MAX: it has no line; NULL: guess from the loops); heavy blocks are the ones that
 * are spared a probe. Returns -1 when memory is out.
 */
NODISCARD int blocks_plan(struct block_plan *plan, const struct instr_list *code,
                          const uint8_t *needed, const uint64_t *weights, struct arena *arena);

/* Whether blocks_derive is going to know how often this instruction ran. */
bool blocks_knows(const struct block_plan *plan, uint32_t instr);

/*
 * Puts into `counts` (n_instrs) how often each instruction began. `probes` has the counter of each
 * probe, by code unit; `losses` (n_instrs) says how often execution did not go on behind an
 * instruction that it had begun, less how often it went on behind one whose beginning was not
 * counted. `scratch` has blocks_scratch_words(plan) words. What is not known becomes 0.
 */
void blocks_derive(const struct block_plan *plan, const int64_t *probes, const int64_t *losses,
                   int64_t *counts, int64_t *scratch);

static inline size_t blocks_scratch_words(const struct block_plan *plan)
{
    return (size_t)plan->n_blocks + plan->n_junctions;
}

/* What holds for every plan: for tests and debug builds. */
bool blocks_plan_is_valid(const struct block_plan *plan);

#endif
