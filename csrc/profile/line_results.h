/* line_results.h - what the line profiler wrote, one row a function and one a line of it. */
#ifndef PROFTRACE_PROFILE_LINE_RESULTS_H
#define PROFTRACE_PROFILE_LINE_RESULTS_H

#include "profile/dictionary.h"
#include "profile/stacks.h"
#include "profile/vec.h"

struct call_row {
    uint32_t function; /* row of stacks.functions */
    uint32_t source;   /* source id, 0 = no text */
    uint32_t regime;
    int64_t calls;
    int64_t inclusive_ns;
    int64_t exclusive_ns;
};

struct line_row {
    uint32_t function;
    uint32_t line;
    int64_t hits;
    int64_t raw_hits;
    int64_t inclusive_ns;
    int64_t exclusive_ns;
    int64_t await_ns;
};

struct line_results {
    VEC(struct call_row) calls;
    VEC(struct line_row) lines;
};

/* Records of the same function (made by exec twice, say) are added up. -1: no memory left. */
NODISCARD int line_results_build(struct line_results *results, struct stacks *stacks,
                                 const struct dictionary *dict);
void line_results_release(struct line_results *results);

#endif
