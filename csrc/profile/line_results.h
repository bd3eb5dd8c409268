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
    uint32_t reason; /* enum cold_reason */
    int64_t calls;
    int64_t yields;
    int64_t inclusive_ns;
    int64_t exclusive_ns;
    int64_t samples;
    int64_t discarded;
    int64_t exclusive_error_ns;
    int64_t inclusive_error_ns;
};

struct line_row {
    uint32_t function;
    uint32_t line;
    int64_t hits;
    int64_t raw_hits;
    int64_t inclusive_ns;
    int64_t exclusive_ns;
    int64_t await_ns;
    int64_t min_ns;
    int64_t max_ns;
    int64_t samples;
    int64_t exclusive_error_ns;
    int64_t inclusive_error_ns;
    uint32_t buckets_at; /* its histogram: from here on in `buckets` */
    uint32_t n_buckets;
};

#define NO_FUNCTION UINT32_MAX

/* Calls of a function from one line of another; see struct rec_call. */
struct edge_row {
    uint32_t caller; /* NO_FUNCTION: code that is not profiled */
    uint32_t line;
    uint32_t callee;
    int64_t calls;
    int64_t inclusive_ns;
    int64_t exclusive_ns;
};

struct line_results {
    VEC(struct call_row) calls;
    VEC(struct line_row) lines;
    VEC(struct edge_row) edges;
    VEC(int64_t) buckets;
};

/* Records of the same function (made by exec twice, say) are added up. -1: no memory left. */
NODISCARD int line_results_build(struct line_results *results, struct stacks *stacks,
                                 const struct dictionary *dict);
void line_results_release(struct line_results *results);

#endif
