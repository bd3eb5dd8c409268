/* definitions.c - see definitions.h. */
#include "capture/definitions.h"

#include "base/arena.h" /* pages */
#include "capture/ring_file.h"
#include "format/nodes.h"
#include "interp/text.h"

#include <errno.h>
#include <string.h>

#define TEXT_LIMIT (1u << 20) /* bytes of a name or path that are kept */
#define RECORD_ROOM 96        /* of a record, beside its text or bytes */

void definitions_start(struct definitions *dict, struct writer *writer,
                       const struct interp_layout *layout, struct ring_slot *slot,
                       size_t slot_bytes)
{
    table_release(&dict->strings);
    table_release(&dict->codes);
    table_release(&dict->code_at);
    table_release(&dict->places);
    table_release(&dict->nodes);
    *dict = (struct definitions){
        .writer = writer,
        .layout = layout,
        .slot = slot,
        .slot_bytes = slot_bytes,
        .on_node = dict->on_node,
        .text = dict->text,
        .text_bytes = dict->text_bytes,
        .gathered = dict->gathered,
        .gathered_bytes = dict->gathered_bytes,
    };
    slot->used = 1;
}

void definitions_release(struct definitions *dict)
{
    table_release(&dict->strings);
    table_release(&dict->codes);
    table_release(&dict->code_at);
    table_release(&dict->places);
    table_release(&dict->nodes);
    pages_free(dict->text, dict->text_bytes);
    pages_free(dict->gathered, dict->gathered_bytes);
    *dict = (struct definitions){.on_node = dict->on_node};
}

void definitions_move(struct definitions *dict, struct ring_slot *slot, size_t slot_bytes)
{
    dict->slot = slot;
    dict->slot_bytes = slot_bytes;
    ring_slot_reset(slot, dict->n_written);
    slot->used = 1;
}

/* ---- records ------------------------------------------------------------------------------ */

static uint8_t *slot_records(const struct definitions *dict)
{
    return (uint8_t *)dict->slot + RING_SLOT_HEAD_BYTES;
}

/* The same records with their nodes in columns; as they are where that does not come about. */
static const void *gather(struct definitions *dict, const void *records, size_t *n_bytes)
{
    const size_t room = (*n_bytes + NODES_ROOM + 4095) & ~(size_t)4095;
    size_t n;
    if (room > dict->gathered_bytes) {
        uint8_t *bigger = pages_grow(dict->gathered, dict->gathered_bytes, room);
        if (bigger == NULL)
            return records;
        dict->gathered = bigger;
        dict->gathered_bytes = room;
    }
    n = nodes_gather(records, *n_bytes, dict->gathered, dict->gathered_bytes);
    if (n == 0)
        return records;
    *n_bytes = n;
    return dict->gathered;
}

static int try_block(struct definitions *dict, const void *records, size_t n_bytes, uint32_t n)
{
    struct block_header block = {
        .kind = BLOCK_DICT,
        .n_records = n,
        .first_ordinal = dict->n_written,
    };
    records = gather(dict, records, &n_bytes);
    if (writer_try_block(dict->writer, &block, records, n_bytes) != 0)
        return -1;
    dict->n_written += n;
    return 0;
}

static int write_block(struct definitions *dict, const void *records, size_t n_bytes, uint32_t n)
{
    if (try_block(dict, records, n_bytes, n) == 0)
        return 0;
    writer_fail(dict->writer, errno);
    return -1;
}

/* How many of the records lead to this node, and where they end. */
static uint32_t count_up_to(struct get records, uint32_t last_node, size_t *n_bytes)
{
    const uint8_t *start = records.p;
    struct get payload;
    struct rec_node node = {0};
    uint32_t n = 0;
    uint8_t tag;
    while (node.id < last_node && (tag = table_next(&records, &payload)) != 0) {
        n++;
        if (tag == TABLE_LINE_NODE)
            record_get_line_node(&payload, &node);
    }
    *n_bytes = (size_t)(records.p - start);
    return n;
}

int definitions_try(struct definitions *dict, uint32_t last_node)
{
    const uint8_t *records = slot_records(dict) + dict->sent_bytes;
    size_t n_bytes = dict->slot->committed_bytes - dict->sent_bytes;
    uint32_t n = dict->n_pending - dict->n_sent;
    if (last_node != UINT32_MAX)
        n = count_up_to(get_over(records, n_bytes), last_node, &n_bytes);
    if (n != 0 && try_block(dict, records, n_bytes, n) != 0)
        return -1;
    dict->n_sent += n;
    dict->sent_bytes += n_bytes;
    if (dict->n_sent == dict->n_pending && dict->n_pending != 0) {
        dict->n_pending = dict->n_sent = 0;
        dict->sent_bytes = 0;
        ring_slot_reset(dict->slot, dict->n_written);
    }
    return 0;
}

int definitions_flush(struct definitions *dict)
{
    if (definitions_try(dict, UINT32_MAX) == 0)
        return 0;
    writer_fail(dict->writer, errno);
    return -1;
}

/* Where a record of at most n_bytes goes: behind the pending ones, or into pages of its own. */
struct put definitions_open(struct definitions *dict, size_t n_bytes)
{
    const size_t room = dict->slot_bytes - RING_SLOT_HEAD_BYTES;
    if (dict->slot == NULL) /* the capture is over, and a thread late */
        return (struct put){.bad = true};
    /* A log that cannot be written any more has no use for definitions either. */
    if (n_bytes > room - dict->slot->committed_bytes && definitions_flush(dict) != 0)
        return (struct put){.bad = true};
    if (n_bytes <= room)
        return put_over(slot_records(dict) + dict->slot->committed_bytes,
                        room - dict->slot->committed_bytes);
    void *pages = pages_alloc(n_bytes);
    if (pages != NULL)
        return put_over(pages, n_bytes);
    dict->no_memory = true;
    return (struct put){.bad = true};
}

void definitions_close(struct definitions *dict, const struct put *to, size_t n_bytes)
{
    uint8_t *records = slot_records(dict);
    if (to->p == NULL)
        return;
    if (n_bytes <= dict->slot_bytes - RING_SLOT_HEAD_BYTES) {
        dict->n_pending++;
        __atomic_store_n(&dict->slot->committed_bytes, (uint64_t)(to->p - records),
                         __ATOMIC_RELEASE);
        return;
    }
    uint8_t *pages = to->end - n_bytes;
    if (definitions_flush(dict) == 0 && write_block(dict, pages, (size_t)(to->p - pages), 1) != 0)
        dict->n_pending = 0;
    pages_free(pages, n_bytes);
}

#define PUT_RECORD(dict_, put_, rec_, n_bytes_)               \
    do {                                                      \
        struct put to_ = definitions_open(dict_, (n_bytes_)); \
        if (!to_.bad) {                                       \
            put_(&to_, rec_);                                 \
            definitions_close(dict_, &to_, (n_bytes_));       \
        }                                                     \
    } while (0)

void definitions_thread(struct definitions *dict, const struct rec_thread *thread)
{
    PUT_RECORD(dict, record_put_thread, thread, RECORD_ROOM);
}

void definitions_meta(struct definitions *dict, const char *key, const char *value)
{
    const struct rec_meta meta = {key, (uint32_t)strlen(key), value, (uint32_t)strlen(value)};
    PUT_RECORD(dict, record_put_meta, &meta, RECORD_ROOM + meta.key_bytes + meta.value_bytes);
}

/* The same as table_put, and remembers that there was no room. */
static int put_id(struct definitions *dict, struct table *table, uint64_t key, uint32_t id)
{
    if (table_put(table, key, id) == 0)
        return 0;
    dict->no_memory = true;
    return -1;
}

/* ---- texts -------------------------------------------------------------------------------- */

/*
 * 64 bits of a content. Two contents with one hash would share an id; among a million of them the
 * chance is 1 to 37 million, and the harm is a wrong name.
 */
static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t n_bytes)
{
    const uint8_t *at = bytes;
    uint64_t word;
    hash = hash_u64(hash ^ n_bytes * 0x9e3779b97f4a7c15ull);
    for (; n_bytes >= sizeof word; at += sizeof word, n_bytes -= sizeof word) {
        memcpy(&word, at, sizeof word);
        hash = hash_u64(hash ^ word) + 0x632be59bd9b4e019ull;
    }
    word = 0;
    memcpy(&word, at, n_bytes);
    return hash_u64(hash ^ word);
}

uint32_t definitions_string(struct definitions *dict, const char *text, size_t n_bytes)
{
    uint64_t hash;
    struct rec_string record;
    if (n_bytes == 0)
        return 0;
    hash = hash_bytes(1, text, n_bytes);
    record = (struct rec_string){table_get(&dict->strings, hash), text, (uint32_t)n_bytes};
    if (record.id != 0)
        return record.id;
    record.id = dict->n_strings + 1;
    if (put_id(dict, &dict->strings, hash, record.id) != 0)
        return 0;
    dict->n_strings++;
    PUT_RECORD(dict, record_put_string, &record, RECORD_ROOM + n_bytes);
    return record.id;
}

/* Makes room in `text`. */
static bool reserve_text(struct definitions *dict, size_t n_bytes)
{
    size_t room = (n_bytes + 4095) & ~(size_t)4095;
    char *bigger;
    if (n_bytes <= dict->text_bytes)
        return true;
    bigger = pages_grow(dict->text, dict->text_bytes, room);
    if (bigger == NULL) {
        dict->no_memory = true;
        return false;
    }
    dict->text = bigger;
    dict->text_bytes = room;
    return true;
}

/* The id of a str object. */
static uint32_t string_of(struct definitions *dict, uintptr_t text)
{
    size_t n_bytes = text_utf8_bytes(dict->layout, text);
    if (n_bytes > TEXT_LIMIT)
        n_bytes = TEXT_LIMIT;
    if (!reserve_text(dict, n_bytes))
        return 0;
    n_bytes = text_copy_utf8(dict->layout, text, dict->text, n_bytes);
    return definitions_string(dict, dict->text, n_bytes);
}

/* ---- code and stacks ---------------------------------------------------------------------- */

/*
 * The line table counts though it is not in the record: what is compiled again under the same name
 * (a cell, a template, a module that was edited and reloaded) has its units on other lines.
 */
static uint64_t hash_code(const struct rec_code *code, const struct code_view *view)
{
    const uint32_t fields[] = {code->name, code->qualname, code->file, code->first_line,
                               code->flags};
    return hash_bytes(hash_bytes(2, fields, sizeof fields), view->linetable, view->linetable_bytes);
}

uint32_t definitions_code(struct definitions *dict, uintptr_t code)
{
    struct code_view view;
    struct rec_code record;
    uint64_t hash;
    code_read(dict->layout, code, &view);
    record = (struct rec_code){
        .name = string_of(dict, view.name),
        .qualname = string_of(dict, view.qualname),
        .file = string_of(dict, view.file),
        .first_line = view.first_line,
        .flags = view.flags,
    };
    hash = hash_code(&record, &view);
    record.id = table_get(&dict->codes, hash);
    if (record.id != 0)
        return record.id;
    record.id = dict->n_codes + 1;
    if (put_id(dict, &dict->codes, hash, record.id) != 0)
        return 0;
    dict->n_codes++;
    PUT_RECORD(dict, record_put_code, &record, RECORD_ROOM);
    return record.id;
}

/* What code_at has for code of which no place has a node. */
#define CODE_WITHOUT_ID UINT32_MAX

/* Where deaths are only counted, any address may be the dead one's. */
static void enter_epoch(struct definitions *dict, uint64_t epoch)
{
    if (dict->epoch == epoch)
        return;
    table_clear(&dict->code_at);
    dict->search.table = NULL;
    dict->code_at_lacks = true;
    dict->epoch = epoch;
}

static uint32_t code_id(struct definitions *dict, const struct frame_place *place)
{
    uint32_t id;
    enter_epoch(dict, place->epoch);
    id = table_get(&dict->code_at, place->code);
    if (id == 0 || id == CODE_WITHOUT_ID) {
        id = definitions_code(dict, place->code);
        /* Without it, the code is only looked at again. */
        if (id == 0 || table_put(&dict->code_at, place->code, id) != 0)
            dict->code_at_lacks = true;
    }
    return id;
}

void definitions_hide(struct definitions *dict, const struct frame_place *place)
{
    enter_epoch(dict, place->epoch);
    if (table_get(&dict->code_at, place->code) == 0 &&
        table_put(&dict->code_at, place->code, CODE_WITHOUT_ID) != 0)
        dict->code_at_lacks = true;
}

#define MOST_LINES (1 << 30) /* above the code's first one, or below it */

/* What the record of a node says of its line. */
static uint32_t line_of(struct definitions *dict, const struct frame_place *place)
{
    struct code_view view;
    int64_t line;
    code_read(dict->layout, place->code, &view);
    if (!locations_find(&dict->search, view.linetable, view.linetable_bytes, place->unit, &line) ||
        line > MOST_LINES || line < -MOST_LINES)
        return 0;
    return 1 + (uint32_t)zigzag(line);
}

/* Keys of `places` beside those that begin with a code, of which there are fewer. */
#define PLACE_TO_LINE ((uint64_t)1 << 63)

/*
 * The number of a place in code. Units of one line have places of their own: what each of them
 * allocates repeats, and all of them together do not. 0: no memory.
 */
static uint32_t place_id(struct definitions *dict, uint32_t code, const struct frame_place *place)
{
    const uint64_t key = (uint64_t)code << 32 | place->unit << 1 | place->entry;
    uint32_t id = table_get(&dict->places, key);
    if (id != 0)
        return id;
    id = dict->n_places + 1;
    if (put_id(dict, &dict->places, PLACE_TO_LINE | id, line_of(dict, place) + 1) != 0 ||
        put_id(dict, &dict->places, key, id) != 0)
        return 0;
    dict->n_places++;
    return id;
}

uint32_t definitions_node(struct definitions *dict, uint32_t parent,
                          const struct frame_place *place)
{
    const uint32_t code = code_id(dict, place);
    const uint32_t at = code == 0 ? 0 : place_id(dict, code, place);
    const uint64_t key = (uint64_t)parent << 32 | at;
    struct rec_node record = {
        .parent = parent,
        .code = code,
        .unit = place->unit,
        .entry = place->entry,
        .by_line = true,
    };
    if (at == 0)
        return parent;
    record.id = table_get(&dict->nodes, key);
    if (record.id != 0)
        return record.id;
    record.line = table_get(&dict->places, PLACE_TO_LINE | at) - 1;
    record.id = dict->n_nodes + 1;
    if (put_id(dict, &dict->nodes, key, record.id) != 0)
        return parent;
    dict->n_nodes++;
    if (dict->on_node != NULL)
        dict->on_node(&record);
    PUT_RECORD(dict, record_put_node, &record, RECORD_ROOM);
    return record.id;
}

bool definitions_code_died(struct definitions *dict, uintptr_t code)
{
    dict->search.table = NULL;
    if (table_get(&dict->code_at, code) == 0)
        return dict->code_at_lacks;
    table_remove(&dict->code_at, code);
    return true;
}
