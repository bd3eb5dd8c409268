/*
 * analysis.h - what the parts of the analysis of one code object share (statements.c begins and
 * ends it).
 */
#ifndef PROFTRACE_LINES_ANALYSIS_H
#define PROFTRACE_LINES_ANALYSIS_H

#include "lines/flow_graph.h"

#define UNREACHED (INT32_MIN / 2) /* adding an effect to it must not overflow */

struct analysis {
    const struct instr_list *code;
    struct hit_rules *rules; /* what is found */
    struct flow_graph graph;
    int32_t *depth;    /* before each instruction; UNREACHED where no path leads */
    uint64_t *keys;    /* line << 32 | instruction index, sorted */
    uint32_t *by_line; /* the instruction indices in that order */
    uint32_t *queue;
    uint32_t *seen; /* stamp of the search that visited it last */
    uint32_t stamp;
    uint32_t *fetcher;     /* by what takes an item: 1 + what fetches it; 0 = takes none */
    uint8_t *is_header;    /* the way back of a loop leads here */
    uint8_t *never_begins; /* only goes on with something, whatever the line has */
    uint8_t *settled;      /* fetches for a comprehension whose hits have been found */
    uint8_t *skips;
    int64_t steps_left;
};

static inline int32_t line_of(const struct analysis *a, uint32_t at)
{
    return a->code->instrs[at].line;
}

static inline bool is_location(const struct analysis *a, uint32_t at)
{
    return a->graph.is_location[at] && a->depth[at] != UNREACHED;
}

/* An event at this instruction is a hit of that line. -1 when memory is out. */
NODISCARD int analysis_credit(struct analysis *a, uint32_t at, int32_t line);

/*
 * Gives comprehensions and generator expressions the same hits on all versions where parts of a
 * loop share a line: 3.12 gives the fetching of items and the way back the line of the bracket,
 * later versions that of what is iterated over and that of the part which ran last. Comes after
 * the rules for lines. -1 when memory is out.
 */
NODISCARD int comprehensions_settle(struct analysis *a);

/*
 * Finds loops whose targets stand on another line than the instruction that fetches the items
 * (which is on the line of `for` or on that of what is iterated over, depending on the compiler):
 * their entries and iterations are hits of the line of the targets. Comes after all else. -1 when
 * memory is out.
 */
NODISCARD int loop_headers_credit(struct analysis *a);

#endif
