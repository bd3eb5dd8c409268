/* record.c - the schema of the log, encode and decode side by side; see record.h. */
#include "format/record.h"

#include "format/block.h" /* crc32c */
#include "format/table_parts.h"

/* ---- file header ------------------------------------------------------------------------- */

#define BYTE_ORDER_MARK 0x01020304u
#define BYTE_ORDER_SWAPPED 0x04030201u
#define HEADER_CRC_AT (FILE_HEADER_BYTES - 4)

void file_header_put(uint8_t out[FILE_HEADER_BYTES], const struct file_header *header)
{
    struct put to = put_over(out, FILE_HEADER_BYTES);
    memset(out, 0, FILE_HEADER_BYTES);
    put_bytes(&to, FILE_MAGIC, FILE_MAGIC_BYTES);
    put_u16(&to, FORMAT_VERSION);
    put_u16(&to, header->content & FILE_HAS_MEMORY ? FORMAT_MIN_READER_MEMORY : FORMAT_MIN_READER);
    put_u32(&to, BYTE_ORDER_MARK);
    put_u32(&to, FILE_HEADER_BYTES);
    put_u32(&to, header->content);
    put_u32(&to, header->options);
    put_u32(&to, header->python_hexversion);
    put_u64(&to, header->start_wall_ns);
    put_u64(&to, header->start_mono_ns);
    put_u32(&to, header->pid);
    put_u32(&to, header->ppid);
    put_bytes(&to, header->session_id, SESSION_ID_BYTES);
    put_u64(&to, header->sample_bytes);
    to.p = out + HEADER_CRC_AT;
    put_u32(&to, crc32c(0, out, HEADER_CRC_AT));
}

enum header_verdict file_header_get(const uint8_t *bytes, size_t n_bytes,
                                    struct file_header *header)
{
    struct get from = get_over(bytes, n_bytes);
    size_t n_magic = n_bytes < FILE_MAGIC_BYTES ? n_bytes : FILE_MAGIC_BYTES;
    uint32_t order, header_bytes;
    if (n_bytes == 0)
        return HEADER_EMPTY;
    if (memcmp(bytes, FILE_MAGIC, n_magic) != 0)
        return HEADER_NOT_OURS;
    if (n_bytes < FILE_HEADER_BYTES)
        return HEADER_CUT;
    from.p += FILE_MAGIC_BYTES;
    header->version = get_u16(&from);
    header->min_reader = get_u16(&from);
    order = get_u32(&from);
    if (order == BYTE_ORDER_SWAPPED)
        return HEADER_BYTEORDER;
    /* Before the checksum: a later version may well have another header behind this point. */
    if (order == BYTE_ORDER_MARK && header->min_reader > FORMAT_VERSION)
        return HEADER_TOO_NEW;
    header_bytes = get_u32(&from);
    if (order != BYTE_ORDER_MARK || header_bytes != FILE_HEADER_BYTES)
        return HEADER_CORRUPT;
    header->content = get_u32(&from);
    header->options = get_u32(&from);
    header->python_hexversion = get_u32(&from);
    header->start_wall_ns = get_u64(&from);
    header->start_mono_ns = get_u64(&from);
    header->pid = get_u32(&from);
    header->ppid = get_u32(&from);
    memcpy(header->session_id, from.p, SESSION_ID_BYTES);
    from.p += SESSION_ID_BYTES;
    header->sample_bytes = header->version < 3 ? 0 : get_u64(&from);
    from.p = bytes + HEADER_CRC_AT;
    return get_u32(&from) == crc32c(0, bytes, HEADER_CRC_AT) ? HEADER_OK : HEADER_CORRUPT;
}

/* ---- table records ------------------------------------------------------------------------ */

uint8_t table_next(struct get *from, struct get *payload)
{
    uint8_t tag;
    uint32_t n_bytes;
    const uint8_t *at;
    if (get_left(from) == 0)
        return 0;
    tag = get_u8(from);
    n_bytes = get_u32(from);
    at = get_bytes(from, n_bytes);
    if (at == NULL || tag == 0) {
        from->bad = true;
        return 0;
    }
    *payload = get_over(at, n_bytes);
    return tag;
}

/* The rest of a payload as a text or byte string. */
static const void *get_rest(struct get *payload, uint32_t *n_bytes)
{
    *n_bytes = (uint32_t)get_left(payload);
    return get_bytes(payload, *n_bytes);
}

void record_put_string(struct put *to, const struct rec_string *rec)
{
    uint8_t *head = record_open(to, TABLE_STRING);
    put_varint(to, rec->id);
    put_bytes(to, rec->text, rec->n_bytes);
    record_close(to, head);
}

void record_get_string(struct get *payload, struct rec_string *rec)
{
    rec->id = get_varint32(payload);
    rec->text = get_rest(payload, &rec->n_bytes);
}

void record_put_code(struct put *to, const struct rec_code *rec)
{
    uint8_t *head = record_open(to, TABLE_CODE);
    put_varint(to, rec->id);
    put_varint(to, rec->name);
    put_varint(to, rec->qualname);
    put_varint(to, rec->file);
    put_varint(to, rec->first_line);
    put_varint(to, rec->flags);
    put_bytes(to, rec->linetable, rec->linetable_bytes);
    record_close(to, head);
}

void record_get_code(struct get *payload, struct rec_code *rec)
{
    rec->id = get_varint32(payload);
    rec->name = get_varint32(payload);
    rec->qualname = get_varint32(payload);
    rec->file = get_varint32(payload);
    rec->first_line = get_varint32(payload);
    rec->flags = get_varint32(payload);
    rec->linetable = get_rest(payload, &rec->linetable_bytes);
}

void record_put_node(struct put *to, const struct rec_node *rec)
{
    uint8_t *head = record_open(to, rec->by_line ? TABLE_LINE_NODE : TABLE_NODE);
    put_varint(to, rec->id);
    put_varint(to, rec->parent);
    put_varint(to, rec->code);
    put_varint(to, (uint64_t)(rec->by_line ? rec->line : rec->unit) << 1 | rec->entry);
    record_close(to, head);
}

/* Takes a node; *place becomes its unit or line. */
static void get_node(struct get *payload, struct rec_node *rec, uint32_t *place)
{
    uint64_t last;
    *rec = (struct rec_node){.id = get_varint32(payload)};
    rec->parent = get_varint32(payload);
    rec->code = get_varint32(payload);
    last = get_varint(payload);
    if (last >> 33)
        payload->bad = true;
    *place = (uint32_t)(last >> 1);
    rec->entry = last & 1;
}

void record_get_node(struct get *payload, struct rec_node *rec)
{
    uint32_t unit;
    get_node(payload, rec, &unit);
    rec->unit = unit;
}

void record_get_line_node(struct get *payload, struct rec_node *rec)
{
    uint32_t line;
    get_node(payload, rec, &line);
    rec->line = line;
    rec->by_line = true;
}

void record_put_thread(struct put *to, const struct rec_thread *rec)
{
    uint8_t *head = record_open(to, TABLE_THREAD);
    put_varint(to, rec->index);
    put_varint(to, rec->tid);
    put_varint(to, rec->name);
    put_varint(to, rec->start_mono_ns);
    record_close(to, head);
}

void record_get_thread(struct get *payload, struct rec_thread *rec)
{
    rec->index = get_varint32(payload);
    rec->tid = get_varint(payload);
    rec->name = get_varint32(payload);
    rec->start_mono_ns = get_varint(payload);
}

void record_put_meta(struct put *to, const struct rec_meta *rec)
{
    uint8_t *head = record_open(to, TABLE_META);
    put_varint(to, rec->key_bytes);
    put_bytes(to, rec->key, rec->key_bytes);
    put_bytes(to, rec->value, rec->value_bytes);
    record_close(to, head);
}

void record_get_meta(struct get *payload, struct rec_meta *rec)
{
    rec->key_bytes = get_varint32(payload);
    rec->key = (const char *)get_bytes(payload, rec->key_bytes);
    rec->value = get_rest(payload, &rec->value_bytes);
}

void record_put_source(struct put *to, const struct rec_source *rec)
{
    uint8_t *head = record_open(to, TABLE_SOURCE);
    put_varint(to, rec->id);
    put_varint(to, rec->file);
    put_bytes(to, rec->text, rec->n_bytes);
    record_close(to, head);
}

void record_get_source(struct get *payload, struct rec_source *rec)
{
    rec->id = get_varint32(payload);
    rec->file = get_varint32(payload);
    rec->text = get_rest(payload, &rec->n_bytes);
}

void record_put_function(struct put *to, const struct rec_function *rec)
{
    uint8_t *head = record_open(to, TABLE_FUNCTION);
    put_varint(to, rec->code);
    put_varint(to, rec->source);
    put_u8(to, rec->regime);
    put_varint(to, rec->calls);
    put_varint(to, zigzag(rec->inclusive_ns));
    put_varint(to, zigzag(rec->exclusive_ns));
    put_u8(to, rec->reason);
    put_varint(to, rec->samples);
    put_varint(to, rec->discarded);
    put_varint(to, rec->yields);
    put_varint(to, rec->exclusive_error_ns);
    put_varint(to, rec->inclusive_error_ns);
    record_close(to, head);
}

void record_get_function(struct get *payload, struct rec_function *rec)
{
    *rec = (struct rec_function){0};
    rec->code = get_varint32(payload);
    rec->source = get_varint32(payload);
    rec->regime = get_u8(payload);
    rec->calls = get_varint(payload);
    rec->inclusive_ns = unzigzag(get_varint(payload));
    rec->exclusive_ns = unzigzag(get_varint(payload));
    if (get_left(payload) == 0)
        return; /* written before there were the fields that follow */
    rec->reason = get_u8(payload);
    rec->samples = get_varint(payload);
    rec->discarded = get_varint(payload);
    rec->yields = get_varint(payload);
    rec->exclusive_error_ns = get_varint(payload);
    rec->inclusive_error_ns = get_varint(payload);
}

void record_put_line(struct put *to, const struct rec_line *rec)
{
    uint8_t *head = record_open(to, TABLE_LINE);
    put_varint(to, rec->code);
    put_varint(to, rec->line);
    put_varint(to, rec->hits);
    put_varint(to, rec->raw_hits);
    put_varint(to, zigzag(rec->inclusive_ns));
    put_varint(to, zigzag(rec->exclusive_ns));
    put_varint(to, zigzag(rec->await_ns));
    put_varint(to, rec->min_ns);
    put_varint(to, rec->max_ns);
    put_varint(to, rec->histogram_bytes);
    put_bytes(to, rec->histogram, rec->histogram_bytes);
    put_varint(to, rec->samples);
    put_varint(to, rec->exclusive_error_ns);
    put_varint(to, rec->inclusive_error_ns);
    record_close(to, head);
}

void record_get_line(struct get *payload, struct rec_line *rec)
{
    *rec = (struct rec_line){0};
    rec->code = get_varint32(payload);
    rec->line = get_varint32(payload);
    rec->hits = get_varint(payload);
    rec->raw_hits = get_varint(payload);
    rec->inclusive_ns = unzigzag(get_varint(payload));
    rec->exclusive_ns = unzigzag(get_varint(payload));
    rec->await_ns = unzigzag(get_varint(payload));
    if (get_left(payload) == 0)
        return; /* as above */
    rec->min_ns = get_varint(payload);
    rec->max_ns = get_varint(payload);
    rec->histogram_bytes = get_varint32(payload);
    rec->histogram = get_bytes(payload, rec->histogram_bytes);
    rec->samples = get_varint(payload);
    rec->exclusive_error_ns = get_varint(payload);
    rec->inclusive_error_ns = get_varint(payload);
}

unsigned record_get_buckets(const struct rec_line *rec, uint64_t buckets[LINE_BUCKETS_MAX])
{
    struct get from = get_over(rec->histogram, rec->histogram_bytes);
    unsigned n = 0;
    memset(buckets, 0, LINE_BUCKETS_MAX * sizeof buckets[0]);
    while (get_left(&from) != 0) {
        uint64_t count = get_varint(&from);
        buckets[n < LINE_BUCKETS_MAX ? n++ : LINE_BUCKETS_MAX - 1] += count;
    }
    return n;
}

void record_put_call(struct put *to, const struct rec_call *rec)
{
    uint8_t *head = record_open(to, TABLE_CALL);
    put_varint(to, rec->caller);
    put_varint(to, rec->line);
    put_varint(to, rec->callee);
    put_varint(to, rec->calls);
    put_varint(to, zigzag(rec->inclusive_ns));
    put_varint(to, zigzag(rec->exclusive_ns));
    record_close(to, head);
}

void record_get_call(struct get *payload, struct rec_call *rec)
{
    rec->caller = get_varint32(payload);
    rec->line = get_varint32(payload);
    rec->callee = get_varint32(payload);
    rec->calls = get_varint(payload);
    rec->inclusive_ns = unzigzag(get_varint(payload));
    rec->exclusive_ns = unzigzag(get_varint(payload));
}

/* ---- events ------------------------------------------------------------------------------- */

#define STORED_KIND_MASK 0x1f
#define STORED_SAME_NODE 0x20
#define STORED_SEQ 0x40

/* Blocks are nearly always 16-byte aligned: rotated, their differences are small numbers. */
static uint64_t rotate_right_4(uint64_t value)
{
    return value >> 4 | value << 60;
}

static uint64_t rotate_left_4(uint64_t value)
{
    return value << 4 | value >> 60;
}

/* put_varint where the room is known to be there: the flush of a full buffer is on a hot path. */
static uint8_t *varint_store(uint8_t *at, uint64_t value)
{
    while (value >= 0x80) {
        *at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    return at;
}

void event_put(struct put *to, struct event_coder *coder, const struct event *event)
{
    uint8_t apart[EVENT_MAX_STORED_BYTES]; /* near the end of the range */
    bool fits = !to->bad && (size_t)(to->end - to->p) >= sizeof apart;
    uint8_t *start = fits ? to->p : apart;
    uint8_t *at = start + 1;
    bool allocation = event_is_allocation(event->kind);
    bool same_node = allocation && event->node == coder->node;
    bool has_seq = event->seq != 0;
    uint64_t address = rotate_right_4(event->address);
    start[0] =
        (uint8_t)(event->kind | (same_node ? STORED_SAME_NODE : 0) | (has_seq ? STORED_SEQ : 0));
    if (has_seq) {
        at = varint_store(at, event->seq - coder->seq);
        coder->seq = event->seq;
    }
    at = varint_store(at, zigzag((int64_t)(address - coder->address)));
    coder->address = address;
    if (event_has_size(event->kind))
        at = varint_store(at, event->size);
    if (allocation && !same_node) {
        at = varint_store(at, zigzag((int64_t)event->node - (int64_t)coder->node));
        coder->node = event->node;
    }
    if (fits)
        to->p = at;
    else
        put_bytes(to, apart, (size_t)(at - apart));
}

bool event_get(struct get *from, struct event_coder *coder, struct event *event)
{
    uint8_t tag;
    if (get_left(from) == 0)
        return false;
    tag = get_u8(from);
    *event = (struct event){.kind = tag & STORED_KIND_MASK};
    if (!event_kind_is_known(event->kind) ||
        (tag & ~(STORED_KIND_MASK | STORED_SAME_NODE | STORED_SEQ))) {
        from->bad = true;
        return false;
    }
    if (tag & STORED_SEQ) {
        coder->seq += get_varint(from);
        event->seq = coder->seq;
    }
    coder->address += (uint64_t)unzigzag(get_varint(from));
    event->address = rotate_left_4(coder->address);
    if (event_has_size(event->kind))
        event->size = get_varint(from);
    if (event_is_allocation(event->kind)) {
        if (!(tag & STORED_SAME_NODE))
            coder->node = (uint32_t)((int64_t)coder->node + unzigzag(get_varint(from)));
        event->node = coder->node;
    }
    return !from->bad;
}

/* ---- END block ---------------------------------------------------------------------------- */

void record_put_end(struct put *to, const struct rec_end *rec)
{
    put_u8(to, rec->reason);
    put_u32(to, (uint32_t)rec->error);
    put_u64(to, rec->n_events);
    put_u64(to, rec->n_lost);
    put_u64(to, rec->mono_ns);
}

void record_get_end(struct get *from, struct rec_end *rec)
{
    rec->reason = get_u8(from);
    rec->error = (int32_t)get_u32(from);
    rec->n_events = get_u64(from);
    rec->n_lost = get_u64(from);
    rec->mono_ns = get_u64(from);
}
