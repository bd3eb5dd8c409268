/* stacks.c - see stacks.h. */
#include "profile/stacks.h"

#define NATIVE_SOURCE UINT32_MAX /* keeps native functions apart; no source has this id */

static uint64_t pair_key(uint32_t high, uint32_t low)
{
    return (uint64_t)high << 32 | low;
}

/* ---- strings ------------------------------------------------------------------------------- */

static uint64_t hash_text(const struct text *text)
{
    uint64_t hash = 0xcbf29ce484222325u ^ text->n_bytes;
    for (uint32_t i = 0; i < text->n_bytes; i++)
        hash = (hash ^ (uint8_t)text->bytes[i]) * 0x100000001b3u;
    return hash_u64(hash);
}

static bool texts_are_equal(const struct text *a, const struct text *b)
{
    return a->n_bytes == b->n_bytes &&
           (a->n_bytes == 0 || memcmp(a->bytes, b->bytes, a->n_bytes) == 0);
}

/* The writer interns by address, so one text may have several ids. */
int stacks_add_string(struct stacks *stacks, const struct text *text, uint32_t *row)
{
    uint64_t hash = hash_text(text);
    uint32_t known;
    struct text *added;
    for (; (known = table_get(&stacks->string_ids, hash)) != 0; hash++) {
        if (texts_are_equal(&stacks->strings.items[known - 1], text)) {
            *row = known - 1;
            return 0;
        }
    }
    added = vec_add(&stacks->strings);
    if (added == NULL || table_put(&stacks->string_ids, hash, (uint32_t)stacks->strings.n) != 0)
        return -1;
    *added = *text;
    *row = (uint32_t)stacks->strings.n - 1;
    return 0;
}

static int build_strings(struct stacks *stacks, const struct dictionary *dict)
{
    for (size_t id = 0; id < dict->strings.n; id++) {
        uint32_t *row = vec_add(&stacks->string_rows);
        if (row == NULL || stacks_add_string(stacks, &dict->strings.items[id], row) != 0)
            return -1;
    }
    return 0;
}

/* ---- functions ----------------------------------------------------------------------------- */

/* A number for a pair of numbers, the same for the same pair; 0 = no memory left. */
static uint32_t pair_number(struct stacks *stacks, uint32_t high, uint32_t low)
{
    uint32_t number = table_get(&stacks->pair_ids, pair_key(high, low));
    if (number != 0)
        return number;
    number = ++stacks->n_pairs;
    return table_put(&stacks->pair_ids, pair_key(high, low), number) == 0 ? number : 0;
}

/* The same name at the same place is the same function, unless its file was edited in between. */
static uint32_t add_function(struct stacks *stacks, const struct function *function,
                             uint32_t source)
{
    /* Numbers of pairs and string rows are kept apart by the order of the three steps: each step's
     * left side is a number that only the step before gives out. */
    uint32_t names = pair_number(stacks, function->name, function->qualname);
    uint32_t place = names == 0 ? 0 : pair_number(stacks, ~names, function->file);
    uint32_t version = place == 0 ? 0 : pair_number(stacks, ~place, source);
    uint64_t key = pair_key(version, function->first_line);
    uint32_t known = version == 0 ? 0 : table_get(&stacks->function_ids, key);
    struct function *added;
    if (version == 0 || known != 0)
        return known;
    added = vec_add(&stacks->functions);
    if (added == NULL || table_put(&stacks->function_ids, key, (uint32_t)stacks->functions.n) != 0)
        return 0;
    *added = *function;
    return (uint32_t)stacks->functions.n;
}

uint32_t stacks_function(struct stacks *stacks, const struct dictionary *dict, uint32_t code)
{
    const struct rec_code *rec = code < dict->codes.n ? &dict->codes.items[code] : NULL;
    struct function function = {0}; /* a code that was never defined has no name and no file */
    uint32_t source = code < stacks->code_sources.n ? stacks->code_sources.items[code] : 0;
    uint32_t row;
    if (rec != NULL && stacks->function_rows.items[code] != 0)
        return stacks->function_rows.items[code];
    if (rec != NULL && rec->id != 0)
        function = (struct function){stacks_string_row(stacks, rec->name),
                                     stacks_string_row(stacks, rec->qualname),
                                     stacks_string_row(stacks, rec->file), rec->first_line, 0};
    row = add_function(stacks, &function, source);
    if (rec != NULL)
        stacks->function_rows.items[code] = row;
    return row;
}

/* ---- stacks -------------------------------------------------------------------------------- */

/* What a LINE_NODE says; 0 = none. */
static uint32_t line_from_first(uint32_t first_line, uint32_t said)
{
    const int64_t line = said == 0 ? 0 : (int64_t)first_line + unzigzag(said - 1);
    return line < 0 || line > UINT32_MAX ? 0 : (uint32_t)line;
}

static int line_of(struct stacks *stacks, const struct dictionary *dict, const struct node *node,
                   uint32_t *line)
{
    const struct rec_code *code;
    struct line_runs *runs;
    *line = 0;
    if (node->code >= dict->codes.n)
        return 0;
    code = &dict->codes.items[node->code];
    if (node->by_line) {
        *line = line_from_first(code->first_line, node->place);
        return 0;
    }
    runs = &stacks->lines.items[node->code];
    if (runs->n == 0 &&
        line_runs_decode(runs, code->linetable, code->linetable_bytes, code->first_line) != 0)
        return -1;
    *line = line_runs_find(runs, node->place);
    return 0;
}

static int add_frame(struct stacks *stacks, uint32_t function, uint32_t line, uint32_t *row)
{
    uint64_t key = pair_key(function, line);
    uint32_t known = table_get(&stacks->frame_ids, key);
    struct frame *added;
    if (known == 0) {
        added = vec_add(&stacks->frames);
        if (added == NULL || table_put(&stacks->frame_ids, key, (uint32_t)stacks->frames.n) != 0)
            return -1;
        *added = (struct frame){function, line};
        known = (uint32_t)stacks->frames.n;
    }
    *row = known - 1;
    return 0;
}

int stacks_add_row(struct stacks *stacks, uint32_t parent, uint32_t frame, uint32_t *row)
{
    uint64_t key = pair_key(parent, frame);
    uint32_t known = table_get(&stacks->row_ids, key);
    struct stack_row *added;
    if (known == 0) {
        added = vec_add(&stacks->rows);
        if (added == NULL || table_put(&stacks->row_ids, key, (uint32_t)stacks->rows.n) != 0)
            return -1;
        *added = (struct stack_row){parent, frame};
        known = (uint32_t)stacks->rows.n;
    }
    *row = known - 1;
    return 0;
}

int stacks_add_native(struct stacks *stacks, uint32_t name, uint32_t file, uint32_t line,
                      uint32_t *frame)
{
    struct function function = {name, name, file, 0, 1};
    uint32_t row = add_function(stacks, &function, NATIVE_SOURCE);
    return row == 0 ? -1 : add_frame(stacks, row - 1, line, frame);
}

static int build_frames(struct stacks *stacks, const struct dictionary *dict)
{
    if (vec_reserve(&stacks->node_frames, dict->nodes.n) != 0)
        return -1;
    for (size_t id = 0; id < dict->nodes.n; id++) {
        const struct node *node = &dict->nodes.items[id];
        uint32_t *known = vec_add(&stacks->node_frames);
        uint32_t function, line, frame;
        *known = 0;
        if (node->code == 0)
            continue;
        function = stacks_function(stacks, dict, node->code);
        if (function == 0 || line_of(stacks, dict, node, &line) != 0 ||
            add_frame(stacks, function - 1, line, &frame) != 0)
            return -1;
        *known = frame + 1;
    }
    return 0;
}

/* Parents have smaller ids, so one pass in id order finds every parent's row ready. */
static int build_rows(struct stacks *stacks, const struct dictionary *dict)
{
    if (vec_reserve(&stacks->node_rows, dict->nodes.n) != 0)
        return -1;
    for (size_t id = 0; id < dict->nodes.n; id++) {
        uint32_t frame = stacks->node_frames.items[id];
        uint32_t *row = vec_add(&stacks->node_rows);
        *row = 0;
        if (frame != 0 &&
            stacks_add_row(stacks, stacks->node_rows.items[dict->nodes.items[id].parent], frame - 1,
                           row) != 0)
            return -1;
    }
    return 0;
}

static int build_code_tables(struct stacks *stacks, const struct dictionary *dict)
{
    size_t n = dict->codes.n;
    if (vec_reserve(&stacks->function_rows, n) != 0 || vec_reserve(&stacks->lines, n) != 0 ||
        vec_reserve(&stacks->code_sources, n) != 0)
        return -1;
    stacks->function_rows.n = stacks->lines.n = stacks->code_sources.n = n;
    for (size_t i = 0; i < dict->functions.n; i++) {
        const struct rec_function *function = &dict->functions.items[i];
        if (function->code < n)
            stacks->code_sources.items[function->code] = function->source;
    }
    return 0;
}

int stacks_build(struct stacks *stacks, const struct dictionary *dict, bool has_native)
{
    *stacks = (struct stacks){0};
    if (build_strings(stacks, dict) != 0 || build_code_tables(stacks, dict) != 0 ||
        build_frames(stacks, dict) != 0 || vec_add(&stacks->rows) == NULL)
        return -1;
    return has_native ? 0 : build_rows(stacks, dict);
}

void stacks_release(struct stacks *stacks)
{
    for (size_t i = 0; i < stacks->lines.n; i++)
        line_runs_release(&stacks->lines.items[i]);
    vec_release(&stacks->lines);
    vec_release(&stacks->strings);
    vec_release(&stacks->string_rows);
    vec_release(&stacks->functions);
    vec_release(&stacks->function_rows);
    vec_release(&stacks->code_sources);
    vec_release(&stacks->frames);
    vec_release(&stacks->rows);
    vec_release(&stacks->node_rows);
    vec_release(&stacks->node_frames);
    table_release(&stacks->function_ids);
    table_release(&stacks->frame_ids);
    table_release(&stacks->row_ids);
    table_release(&stacks->string_ids);
    table_release(&stacks->pair_ids);
}
