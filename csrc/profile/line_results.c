/* line_results.c - see line_results.h. */
#include "profile/line_results.h"

#include "profile/reduce.h" /* sum_of */

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
    return 0;
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

int line_results_build(struct line_results *results, struct stacks *stacks,
                       const struct dictionary *dict)
{
    *results = (struct line_results){0};
    if (build_calls(results, stacks, dict) != 0 || build_lines(results, stacks, dict) != 0)
        return -1;
    return 0;
}

void line_results_release(struct line_results *results)
{
    vec_release(&results->calls);
    vec_release(&results->lines);
}
