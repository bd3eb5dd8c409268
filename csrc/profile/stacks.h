/*
 * stacks.h - from the log's ids to the rows of a report: strings by their text, functions by name
 * and place, frames by line, stacks by their frames. What looks the same to a reader becomes one
 * row.
 */
#ifndef PROFTRACE_PROFILE_STACKS_H
#define PROFTRACE_PROFILE_STACKS_H

#include "base/table.h"
#include "profile/dictionary.h"
#include "profile/linetable.h"
#include "profile/vec.h"

struct function {
    uint32_t name; /* rows of stacks.strings */
    uint32_t qualname;
    uint32_t file;
    uint32_t first_line;
    uint32_t is_native; /* 0: a code object of Python */
};

struct frame {
    uint32_t function;
    uint32_t line;
};

struct stack_row {
    uint32_t parent; /* a smaller row */
    uint32_t frame;
};

struct stacks {
    VEC(struct text) strings;  /* row 0 is "" */
    VEC(uint32_t) string_rows; /* by string id */
    VEC(struct function) functions;
    VEC(uint32_t) function_rows; /* by code id, plus 1; 0 = not looked up yet */
    VEC(uint32_t) code_sources;  /* by code id: the source that its line results name */
    VEC(struct frame) frames;
    VEC(struct stack_row) rows;  /* row 0 is the empty stack */
    VEC(uint32_t) node_rows;     /* by what events name: NODE ids, or HYBRID ids */
    VEC(uint32_t) node_frames;   /* by NODE id: a row of frames, plus 1; 0 = not defined */
    VEC(struct line_runs) lines; /* by code id; n == 0 = not decoded yet */
    struct table function_ids, frame_ids, row_ids, string_ids, pair_ids;
    uint32_t n_pairs;
};

/*
 * Builds all tables from a complete dictionary but the stacks of a capture with native ones, whose
 * events name something else: see hybrids.h. -1 when there is no memory left.
 */
NODISCARD int stacks_build(struct stacks *stacks, const struct dictionary *dict, bool has_native);
void stacks_release(struct stacks *stacks);

/* The stack row of a node; one that was never defined is the empty stack. */
static inline uint32_t stacks_row_of_node(const struct stacks *stacks, uint32_t node)
{
    return node < stacks->node_rows.n ? stacks->node_rows.items[node] : 0;
}

/* The row of a string id; one that was never defined is "". */
static inline uint32_t stacks_string_row(const struct stacks *stacks, uint32_t id)
{
    return id < stacks->string_rows.n ? stacks->string_rows.items[id] : 0;
}

/* A string, a native function, a frame and a stack by their parts, added when they are new. */
NODISCARD int stacks_add_string(struct stacks *stacks, const struct text *text, uint32_t *row);
NODISCARD int stacks_add_native(struct stacks *stacks, uint32_t name, uint32_t file, uint32_t line,
                                uint32_t *frame);
NODISCARD int stacks_add_row(struct stacks *stacks, uint32_t parent, uint32_t frame, uint32_t *row);

/* The function of a code id, added when it is new, plus 1; 0 when there is no memory left. */
NODISCARD uint32_t stacks_function(struct stacks *stacks, const struct dictionary *dict,
                                   uint32_t code);

#endif
