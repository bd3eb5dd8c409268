/* stored_symbols.c - see stored_symbols.h. */
#include "profile/stored_symbols.h"

#include "profile/hybrids.h" /* native_lookup_address */

#define BLOCK_LIMIT (1u << 20) /* a block gets no more records from here on */
#define RECORD_ROOM 64         /* of a record, beside texts and frames */
#define FRAME_ROOM 16

/* What is looked up, and the strings that have ids by now. */
struct search {
    struct stored_symbols *stored;
    const struct dictionary *dict;
    struct symbolizer *symbolizer; /* owned */
    struct table known;            /* addresses that were looked up */
    struct table string_ids;       /* hash -> row of strings, plus 1 */
    VEC(const char *) strings;     /* borrowed from the symbolizer */
    uint32_t first_string;         /* id of the first */
};

void stored_symbols_release(struct stored_symbols *stored)
{
    for (size_t i = 0; i < stored->blocks.n; i++)
        free(stored->blocks.items[i].bytes);
    vec_release(&stored->blocks);
    vec_release(&stored->verdicts);
}

/* Room for a record behind the others. `bad` without memory. */
static struct put open_record(struct stored_symbols *stored, size_t n_bytes)
{
    struct symbol_block *block =
        stored->blocks.n == 0 ? NULL : &stored->blocks.items[stored->blocks.n - 1];
    uint8_t *bytes;
    if (block == NULL || block->n_bytes + n_bytes > BLOCK_LIMIT) {
        block = vec_add(&stored->blocks);
        if (block == NULL || (block->bytes = malloc(BLOCK_LIMIT + n_bytes)) == NULL)
            return (struct put){.bad = true};
    }
    bytes = block->bytes + block->n_bytes;
    return put_over(bytes, n_bytes);
}

static int close_record(struct stored_symbols *stored, const struct put *to)
{
    struct symbol_block *block = &stored->blocks.items[stored->blocks.n - 1];
    if (to->bad)
        return -1;
    block->n_bytes = (size_t)(to->p - block->bytes);
    block->n_records++;
    return 0;
}

/* ---- strings ------------------------------------------------------------------------------- */

static uint64_t hash_text(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *text != '\0'; text++)
        hash = (hash ^ (uint8_t)*text) * 0x100000001b3u;
    return hash_u64(hash);
}

/* The id of a text, defined when it is new. -1 without memory. */
static int string_id(struct search *search, const char *text, uint32_t *id)
{
    uint64_t hash = text == NULL ? 0 : hash_text(text);
    struct rec_string record;
    const char **added;
    struct put to;
    uint32_t row;
    *id = 0;
    if (text == NULL || text[0] == '\0')
        return 0;
    for (; (row = table_get(&search->string_ids, hash)) != 0; hash++) {
        if (strcmp(search->strings.items[row - 1], text) == 0) {
            *id = search->first_string + row - 1;
            return 0;
        }
    }
    added = vec_add(&search->strings);
    if (added == NULL || table_put(&search->string_ids, hash, (uint32_t)search->strings.n) != 0)
        return -1;
    *added = text;
    *id = search->first_string + (uint32_t)search->strings.n - 1;
    record = (struct rec_string){*id, text, (uint32_t)strlen(text)};
    to = open_record(search->stored, RECORD_ROOM + record.n_bytes);
    if (to.bad)
        return -1;
    record_put_string(&to, &record);
    return close_record(search->stored, &to);
}

/* ---- symbols ------------------------------------------------------------------------------- */

static int store(struct search *search, const struct rec_symbol *symbol,
                 const struct symbol_text *texts)
{
    struct rec_symbol_frame frames[SYMBOL_MAX_FRAMES];
    struct put to;
    for (uint32_t i = 0; i < symbol->n_frames; i++) {
        frames[i].line = texts[i].line;
        if (string_id(search, texts[i].name, &frames[i].name) != 0 ||
            string_id(search, texts[i].file, &frames[i].file) != 0)
            return -1;
    }
    to = open_record(search->stored, RECORD_ROOM + FRAME_ROOM * symbol->n_frames);
    if (to.bad)
        return -1;
    record_put_symbol(&to, symbol, frames);
    return close_record(search->stored, &to);
}

static int look_up(struct search *search, const struct rec_module *module, uint64_t address)
{
    const struct dictionary *dict = search->dict;
    struct stored_symbols *stored = search->stored;
    struct symbol_text texts[SYMBOL_MAX_FRAMES];
    struct rec_symbol symbol = {.module = module->id, .address = address};
    if (stored->verdicts.items[module->id] == 0) {
        const struct text *text =
            module->path < dict->strings.n ? &dict->strings.items[module->path] : NULL;
        char *path = strndup(text == NULL || text->bytes == NULL ? "" : text->bytes,
                             text == NULL ? 0 : text->n_bytes);
        if (path == NULL)
            return -1;
        stored->verdicts.items[module->id] =
            (uint8_t)(symbolizer_module(search->symbolizer, module, path) + 1);
        free(path);
    }
    stored->n_addresses++;
    symbol.n_frames = symbolizer_find(search->symbolizer, module, address, texts);
    if (symbol.n_frames == 0)
        return 0;
    stored->n_found++;
    return store(search, &symbol, texts);
}

static int look_up_all(struct search *search)
{
    const struct dictionary *dict = search->dict;
    for (size_t id = 1; id < dict->native_nodes.n; id++) {
        const struct rec_native_node *node = &dict->native_nodes.items[id];
        const uint64_t address = native_lookup_address(node);
        const uint64_t key = hash_u64(address ^ hash_u64(node->module));
        if (node->id == 0 || (node->flags & NATIVE_SIGNAL) || node->module >= dict->modules.n ||
            dict->modules.items[node->module].id == 0 || table_get(&search->known, key) != 0 ||
            dictionary_symbol(dict, node->module, address) != NULL)
            continue;
        if (table_put(&search->known, key, 1) != 0 ||
            look_up(search, &dict->modules.items[node->module], address) != 0)
            return -1;
    }
    return 0;
}

int stored_symbols_find(struct stored_symbols *stored, const struct dictionary *dict)
{
    struct search search = {
        .stored = stored,
        .dict = dict,
        .symbolizer = symbolizer_open(),
        .first_string = (uint32_t)dict->strings.n,
    };
    int failed = -1;
    *stored = (struct stored_symbols){0};
    if (search.symbolizer != NULL && vec_reserve(&stored->verdicts, dict->modules.n) == 0) {
        stored->verdicts.n = dict->modules.n;
        failed = look_up_all(&search);
    }
    symbolizer_close(search.symbolizer);
    table_release(&search.known);
    table_release(&search.string_ids);
    vec_release(&search.strings);
    return failed;
}
