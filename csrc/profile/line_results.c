/* line_results.c - see line_results.h. */
#include "profile/line_results.h"

#include "history/reduce.h" /* sum_of */

static int add_call(struct line_results *results, struct table *rows, uint32_t function,
                    const struct rec_function *rec)
{
    uint32_t known = table_get(rows, function);
    struct call_row *row;
    if (known == 0) {
        row = vec_add(&results->calls);
        if (row == NULL || table_put(rows, function, (uint32_t)results->calls.n) != 0)
            return -1;
        *row = (struct call_row){.function = function, .source = rec->source};
        known = (uint32_t)results->calls.n;
    }
    row = &results->calls.items[known - 1];
    if (rec->regime > row->regime)
        row->regime = rec->regime;
    row->calls = sum_of(row->calls, (int64_t)rec->calls);
    row->inclusive_ns = sum_of(row->inclusive_ns, rec->inclusive_ns);
    row->exclusive_ns = sum_of(row->exclusive_ns, rec->exclusive_ns);
    if (rec->reason != COLD_UNASKED)
        row->reason = rec->reason;
    row->yields = sum_of(row->yields, (int64_t)rec->yields);
    row->samples = sum_of(row->samples, (int64_t)rec->samples);
    row->discarded = sum_of(row->discarded, (int64_t)rec->discarded);
    /* What is wrong with one is wrong with the other in the same direction: no square root. */
    row->exclusive_error_ns = sum_of(row->exclusive_error_ns, (int64_t)rec->exclusive_error_ns);
    row->inclusive_error_ns = sum_of(row->inclusive_error_ns, (int64_t)rec->inclusive_error_ns);
    return 0;
}

/* Adds a histogram to the one of a row, which moves when it has too few buckets. */
static int add_buckets(struct line_results *results, struct line_row *row,
                       const struct rec_line *rec)
{
    uint64_t counts[LINE_BUCKETS_MAX];
    unsigned n = record_get_buckets(rec, counts);
    if (n > row->n_buckets) {
        size_t at = results->buckets.n;
        if (at + n > UINT32_MAX || vec_reserve(&results->buckets, at + n) != 0)
            return -1;
        results->buckets.n += n;
        for (unsigned i = 0; i < row->n_buckets; i++)
            results->buckets.items[at + i] = results->buckets.items[row->buckets_at + i];
        row->buckets_at = (uint32_t)at;
        row->n_buckets = n;
    }
    for (unsigned i = 0; i < n; i++) {
        int64_t *count = &results->buckets.items[row->buckets_at + i];
        *count = sum_of(*count, (int64_t)counts[i]);
    }
    return 0;
}

static void add_extremes(struct line_row *row, const struct rec_line *rec)
{
    if (rec->histogram_bytes == 0)
        return; /* none of its hits was timed */
    if (row->n_buckets == 0 || (int64_t)rec->min_ns < row->min_ns)
        row->min_ns = (int64_t)rec->min_ns;
    if (row->n_buckets == 0 || (int64_t)rec->max_ns > row->max_ns)
        row->max_ns = (int64_t)rec->max_ns;
}

static int add_line(struct line_results *results, struct table *rows, uint32_t function,
                    const struct rec_line *rec)
{
    uint64_t key = (uint64_t)function << 32 | rec->line;
    uint32_t known = table_get(rows, key);
    struct line_row *row;
    if (known == 0) {
        row = vec_add(&results->lines);
        if (row == NULL || table_put(rows, key, (uint32_t)results->lines.n) != 0)
            return -1;
        *row = (struct line_row){.function = function, .line = rec->line};
        known = (uint32_t)results->lines.n;
    }
    row = &results->lines.items[known - 1];
    row->hits = sum_of(row->hits, (int64_t)rec->hits);
    row->raw_hits = sum_of(row->raw_hits, (int64_t)rec->raw_hits);
    row->inclusive_ns = sum_of(row->inclusive_ns, rec->inclusive_ns);
    row->exclusive_ns = sum_of(row->exclusive_ns, rec->exclusive_ns);
    row->await_ns = sum_of(row->await_ns, rec->await_ns);
    row->samples = sum_of(row->samples, (int64_t)rec->samples);
    row->exclusive_error_ns = sum_of(row->exclusive_error_ns, (int64_t)rec->exclusive_error_ns);
    row->inclusive_error_ns = sum_of(row->inclusive_error_ns, (int64_t)rec->inclusive_error_ns);
    add_extremes(row, rec);
    return add_buckets(results, row, rec);
}

/* What makes two edges the same needs two tables: a place in the caller, a callee there. */
struct edge_keys {
    struct table places;
    struct table rows;
    uint32_t n_places;
};

static struct edge_row *edge_row_of(struct line_results *results, struct edge_keys *keys,
                                    uint32_t caller, uint32_t line, uint32_t callee)
{
    uint64_t key = (uint64_t)caller << 32 | line;
    uint32_t place = table_get(&keys->places, key);
    uint32_t known;
    struct edge_row *row;
    if (place == 0) {
        place = ++keys->n_places;
        if (table_put(&keys->places, key, place) != 0)
            return NULL;
    }
    key = (uint64_t)place << 32 | callee;
    known = table_get(&keys->rows, key);
    if (known != 0)
        return &results->edges.items[known - 1];
    row = vec_add(&results->edges);
    if (row == NULL || table_put(&keys->rows, key, (uint32_t)results->edges.n) != 0)
        return NULL;
    *row = (struct edge_row){.caller = caller, .line = line, .callee = callee};
    return row;
}

static int add_edge(struct line_results *results, struct edge_keys *keys, struct stacks *stacks,
                    const struct dictionary *dict, const struct rec_call *rec)
{
    uint32_t callee = stacks_function(stacks, dict, rec->callee);
    uint32_t caller = rec->caller == 0 ? 0 : stacks_function(stacks, dict, rec->caller);
    struct edge_row *row;
    if (callee == 0 || (caller == 0 && rec->caller != 0))
        return -1;
    /* 0 - 1 is NO_FUNCTION */
    row = edge_row_of(results, keys, caller - 1, caller == 0 ? 0 : rec->line, callee - 1);
    if (row == NULL)
        return -1;
    row->calls = sum_of(row->calls, (int64_t)rec->calls);
    row->inclusive_ns = sum_of(row->inclusive_ns, rec->inclusive_ns);
    row->exclusive_ns = sum_of(row->exclusive_ns, rec->exclusive_ns);
    return 0;
}

static int build_calls(struct line_results *results, struct stacks *stacks,
                       const struct dictionary *dict)
{
    struct table rows = {0};
    int failed = 0;
    for (size_t i = 0; i < dict->functions.n && failed == 0; i++) {
        const struct rec_function *rec = &dict->functions.items[i];
        uint32_t function = stacks_function(stacks, dict, rec->code);
        failed = function == 0 ? -1 : add_call(results, &rows, function - 1, rec);
    }
    table_release(&rows);
    return failed;
}

static int build_lines(struct line_results *results, struct stacks *stacks,
                       const struct dictionary *dict)
{
    struct table rows = {0};
    int failed = 0;
    for (size_t i = 0; i < dict->lines.n && failed == 0; i++) {
        const struct rec_line *rec = &dict->lines.items[i];
        uint32_t function = stacks_function(stacks, dict, rec->code);
        failed = function == 0 ? -1 : add_line(results, &rows, function - 1, rec);
    }
    table_release(&rows);
    return failed;
}

static int build_edges(struct line_results *results, struct stacks *stacks,
                       const struct dictionary *dict)
{
    struct edge_keys keys = {0};
    int failed = 0;
    for (size_t i = 0; i < dict->calls.n && failed == 0; i++)
        failed = add_edge(results, &keys, stacks, dict, &dict->calls.items[i]);
    table_release(&keys.places);
    table_release(&keys.rows);
    return failed;
}

int line_results_build(struct line_results *results, struct stacks *stacks,
                       const struct dictionary *dict)
{
    *results = (struct line_results){0};
    if (build_calls(results, stacks, dict) != 0 || build_lines(results, stacks, dict) != 0 ||
        build_edges(results, stacks, dict) != 0)
        return -1;
    return 0;
}

void line_results_release(struct line_results *results)
{
    vec_release(&results->calls);
    vec_release(&results->lines);
    vec_release(&results->edges);
    vec_release(&results->buckets);
}
