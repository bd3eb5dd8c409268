/* dictionary.c - see dictionary.h. */
#include "profile/dictionary.h"

#include "format/nodes.h"

/*
 * Ids count up from 1. A few may be missing (a record that could not be written), but a table is
 * never made larger than the number of records in it warrants: an id is not believed on its own.
 */
#define ID_SLACK 1024

static bool id_is_credible(uint32_t id, uint64_t n_records)
{
    return id != 0 && id <= 2 * n_records + ID_SLACK;
}

int dictionary_init(struct dictionary *dict)
{
    *dict = (struct dictionary){0};
    if (vec_add(&dict->strings) == NULL || vec_add(&dict->codes) == NULL ||
        vec_add(&dict->nodes) == NULL || vec_add(&dict->modules) == NULL ||
        vec_add(&dict->native_nodes) == NULL || vec_add(&dict->hybrids) == NULL)
        return -1;
    dict->strings.items[0].bytes = "";
    return 0;
}

void dictionary_release(struct dictionary *dict)
{
    for (size_t i = 0; i < dict->payloads.n; i++)
        free(dict->payloads.items[i]);
    vec_release(&dict->payloads);
    vec_release(&dict->strings);
    vec_release(&dict->codes);
    vec_release(&dict->nodes);
    vec_release(&dict->threads);
    vec_release(&dict->metas);
    vec_release(&dict->sources);
    vec_release(&dict->functions);
    vec_release(&dict->lines);
    vec_release(&dict->calls);
    vec_release(&dict->modules);
    vec_release(&dict->native_nodes);
    vec_release(&dict->hybrids);
    vec_release(&dict->symbols);
    vec_release(&dict->symbol_frames);
    table_release(&dict->symbol_rows);
    table_release(&dict->thread_rows);
}

/* The slot of an id in a table by id, or NULL: then *verdict says why. */
#define slot_of_id(dict, vec, id, verdict)                                          \
    (!id_is_credible((id), (dict)->n_records) ? (*(verdict) = TAKE_MALFORMED, NULL) \
     : vec_reserve((vec), (id) + 1ul) != 0                                          \
         ? (*(verdict) = TAKE_NO_MEMORY, NULL)                                      \
         : ((vec)->n = (vec)->n > (id) ? (vec)->n : (id) + 1ul, &(vec)->items[id]))

static enum take_verdict take_string(struct dictionary *dict, struct get *payload)
{
    enum take_verdict verdict = TAKE_OK;
    struct rec_string rec;
    struct text *slot;
    record_get_string(payload, &rec);
    if (payload->bad)
        return TAKE_MALFORMED;
    slot = slot_of_id(dict, &dict->strings, rec.id, &verdict);
    if (slot != NULL && slot->bytes == NULL)
        *slot = (struct text){rec.text, rec.n_bytes};
    return verdict;
}

static enum take_verdict take_code(struct dictionary *dict, struct get *payload)
{
    enum take_verdict verdict = TAKE_OK;
    struct rec_code rec, *slot;
    record_get_code(payload, &rec);
    if (payload->bad)
        return TAKE_MALFORMED;
    slot = slot_of_id(dict, &dict->codes, rec.id, &verdict);
    if (slot != NULL && slot->id == 0)
        *slot = rec;
    return verdict;
}

static enum take_verdict add_node(struct dictionary *dict, const struct rec_node *rec)
{
    enum take_verdict verdict = TAKE_OK;
    struct node *slot;
    if (rec->parent >= rec->id || rec->code == 0)
        return TAKE_MALFORMED; /* a parent is written before its children: so there is no cycle */
    slot = slot_of_id(dict, &dict->nodes, rec->id, &verdict);
    if (slot != NULL && slot->code == 0)
        *slot = (struct node){rec->parent, rec->code, rec->by_line ? rec->line : rec->unit,
                              rec->entry, rec->by_line};
    return verdict;
}

static enum take_verdict take_node(struct dictionary *dict, struct get *payload, bool by_line)
{
    struct rec_node rec;
    if (by_line)
        record_get_line_node(payload, &rec);
    else
        record_get_node(payload, &rec);
    return payload->bad ? TAKE_MALFORMED : add_node(dict, &rec);
}

static enum take_verdict take_nodes(struct dictionary *dict, struct get *payload, bool by_line)
{
    enum take_verdict verdict = TAKE_OK;
    struct nodes_reader reader;
    struct rec_node rec;
    if (nodes_open(&reader, *payload, by_line) != 0)
        return TAKE_MALFORMED;
    while (reader.n_left > 0 && verdict == TAKE_OK) {
        dict->n_records++; /* each is a record as others are */
        verdict = nodes_next(&reader, &rec) != 0 ? TAKE_MALFORMED : add_node(dict, &rec);
    }
    return verdict;
}

static enum take_verdict take_module(struct dictionary *dict, struct get *payload)
{
    enum take_verdict verdict = TAKE_OK;
    struct rec_module rec, *slot;
    record_get_module(payload, &rec);
    if (payload->bad)
        return TAKE_MALFORMED;
    slot = slot_of_id(dict, &dict->modules, rec.id, &verdict);
    if (slot != NULL && slot->id == 0)
        *slot = rec;
    return verdict;
}

static enum take_verdict take_native_node(struct dictionary *dict, struct get *payload)
{
    enum take_verdict verdict = TAKE_OK;
    struct rec_native_node rec, *slot;
    record_get_native_node(payload, &rec);
    if (payload->bad || rec.parent >= rec.id)
        return TAKE_MALFORMED; /* as in take_node */
    slot = slot_of_id(dict, &dict->native_nodes, rec.id, &verdict);
    if (slot != NULL && slot->id == 0)
        *slot = rec;
    return verdict;
}

static enum take_verdict take_hybrid(struct dictionary *dict, struct get *payload)
{
    enum take_verdict verdict = TAKE_OK;
    struct rec_hybrid rec, *slot;
    record_get_hybrid(payload, &rec);
    if (payload->bad)
        return TAKE_MALFORMED;
    slot = slot_of_id(dict, &dict->hybrids, rec.id, &verdict);
    if (slot != NULL && slot->id == 0)
        *slot = rec;
    return verdict;
}

static uint64_t symbol_key(uint32_t module, uint64_t address)
{
    return hash_u64(address ^ hash_u64(module));
}

const struct symbol *dictionary_symbol(const struct dictionary *dict, uint32_t module,
                                       uint64_t address)
{
    uint32_t row = table_get(&dict->symbol_rows, symbol_key(module, address));
    return row == 0 ? NULL : &dict->symbols.items[row - 1];
}

/* A later record takes the place of an earlier one. */
static enum take_verdict take_symbol(struct dictionary *dict, struct get *payload)
{
    struct rec_symbol rec;
    struct symbol *added;
    record_get_symbol(payload, &rec);
    if (payload->bad)
        return TAKE_MALFORMED;
    added = vec_add(&dict->symbols);
    if (added == NULL)
        return TAKE_NO_MEMORY;
    *added = (struct symbol){(uint32_t)dict->symbol_frames.n, rec.n_frames};
    for (uint32_t i = 0; i < rec.n_frames; i++) {
        struct rec_symbol_frame *frame = vec_add(&dict->symbol_frames);
        if (frame == NULL)
            return TAKE_NO_MEMORY;
        record_get_symbol_frame(payload, frame);
    }
    if (table_put(&dict->symbol_rows, symbol_key(rec.module, rec.address),
                  (uint32_t)dict->symbols.n) != 0)
        return TAKE_NO_MEMORY;
    return payload->bad ? TAKE_MALFORMED : TAKE_OK;
}

uint32_t dictionary_thread_row(struct dictionary *dict, uint32_t index)
{
    uint32_t row = table_get(&dict->thread_rows, index);
    struct rec_thread *added;
    if (row != 0)
        return row - 1;
    added = vec_add(&dict->threads);
    if (added == NULL || table_put(&dict->thread_rows, index, (uint32_t)dict->threads.n) != 0)
        return UINT32_MAX;
    *added = (struct rec_thread){.index = index};
    return (uint32_t)dict->threads.n - 1;
}

static enum take_verdict take_thread(struct dictionary *dict, struct get *payload)
{
    struct rec_thread rec, *known;
    uint32_t row;
    record_get_thread(payload, &rec);
    if (payload->bad)
        return TAKE_MALFORMED;
    row = dictionary_thread_row(dict, rec.index);
    if (row == UINT32_MAX)
        return TAKE_NO_MEMORY;
    known = &dict->threads.items[row];
    known->tid = rec.tid;
    known->start_mono_ns = rec.start_mono_ns;
    if (rec.name != 0)
        known->name = rec.name;
    return TAKE_OK;
}

/* Tables whose records simply follow each other. */
#define take_plain(vec, get_record, payload)            \
    do {                                                \
        __typeof__((vec)->items) added_ = vec_add(vec); \
        if (added_ == NULL)                             \
            return TAKE_NO_MEMORY;                      \
        get_record((payload), added_);                  \
        if ((payload)->bad) {                           \
            (vec)->n--;                                 \
            return TAKE_MALFORMED;                      \
        }                                               \
        return TAKE_OK;                                 \
    } while (0)

static enum take_verdict take_record(struct dictionary *dict, uint8_t tag, struct get *payload)
{
    switch (tag) {
    case TABLE_STRING:
        return take_string(dict, payload);
    case TABLE_CODE:
        return take_code(dict, payload);
    case TABLE_NODE:
        return take_node(dict, payload, false);
    case TABLE_LINE_NODE:
        return take_node(dict, payload, true);
    case TABLE_NODES:
        return take_nodes(dict, payload, false);
    case TABLE_LINE_NODES:
        return take_nodes(dict, payload, true);
    case TABLE_THREAD:
        return take_thread(dict, payload);
    case TABLE_META:
        take_plain(&dict->metas, record_get_meta, payload);
    case TABLE_SOURCE:
        take_plain(&dict->sources, record_get_source, payload);
    case TABLE_MODULE:
        return take_module(dict, payload);
    case TABLE_NATIVE_NODE:
        return take_native_node(dict, payload);
    case TABLE_HYBRID:
        return take_hybrid(dict, payload);
    case TABLE_SYMBOL:
        return take_symbol(dict, payload);
    case TABLE_FUNCTION:
        take_plain(&dict->functions, record_get_function, payload);
    case TABLE_LINE:
        take_plain(&dict->lines, record_get_line, payload);
    case TABLE_CALL:
        take_plain(&dict->calls, record_get_call, payload);
    default:
        return TAKE_OK; /* of a later version */
    }
}

enum take_verdict dictionary_take(struct dictionary *dict, uint8_t *payload, size_t n_bytes)
{
    struct get from = get_over(payload, n_bytes);
    struct get record;
    uint8_t tag;
    uint8_t **kept = vec_add(&dict->payloads);
    if (kept == NULL) {
        free(payload);
        return TAKE_NO_MEMORY;
    }
    *kept = payload;
    dict->taken_bytes = 0;
    while ((tag = table_next(&from, &record)) != 0) {
        enum take_verdict verdict;
        dict->n_records++;
        verdict = take_record(dict, tag, &record);
        if (verdict != TAKE_OK)
            return verdict;
        dict->taken_bytes = (size_t)(from.p - payload);
    }
    return from.bad ? TAKE_MALFORMED : TAKE_OK;
}
