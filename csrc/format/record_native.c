/* record_native.c - encode and decode side by side; see record_native.h. */
#include "format/record_native.h"

#include "format/table_parts.h"

void record_put_module(struct put *to, const struct rec_module *rec)
{
    uint8_t *head = record_open(to, TABLE_MODULE);
    put_varint(to, rec->id);
    put_varint(to, rec->path);
    put_varint(to, rec->flags);
    put_varint(to, rec->load_bias);
    put_varint(to, rec->file_bytes);
    put_varint(to, rec->file_mtime_ns);
    put_varint(to, rec->build_id_bytes);
    put_bytes(to, rec->build_id, rec->build_id_bytes);
    put_varint(to, rec->n_segments);
    for (uint32_t i = 0; i < rec->n_segments; i++) {
        put_varint(to, rec->segments[i].address);
        put_varint(to, rec->segments[i].n_bytes);
        put_varint(to, rec->segments[i].flags);
    }
    record_close(to, head);
}

void record_get_module(struct get *payload, struct rec_module *rec)
{
    const uint8_t *build_id;
    *rec = (struct rec_module){0};
    rec->id = get_varint32(payload);
    rec->path = get_varint32(payload);
    rec->flags = get_varint32(payload);
    rec->load_bias = get_varint(payload);
    rec->file_bytes = get_varint(payload);
    rec->file_mtime_ns = get_varint(payload);
    rec->build_id_bytes = get_varint32(payload);
    build_id = get_bytes(payload, rec->build_id_bytes);
    if (build_id == NULL || rec->build_id_bytes > BUILD_ID_MAX_BYTES) {
        payload->bad = true;
        return;
    }
    memcpy(rec->build_id, build_id, rec->build_id_bytes);
    rec->n_segments = get_varint32(payload);
    if (rec->n_segments > MODULE_MAX_SEGMENTS) {
        payload->bad = true;
        return;
    }
    for (uint32_t i = 0; i < rec->n_segments; i++) {
        rec->segments[i].address = get_varint(payload);
        rec->segments[i].n_bytes = get_varint(payload);
        rec->segments[i].flags = get_varint32(payload);
    }
}

void record_put_native_node(struct put *to, const struct rec_native_node *rec)
{
    uint8_t *head = record_open(to, TABLE_NATIVE_NODE);
    put_varint(to, rec->id);
    put_varint(to, rec->parent);
    put_varint(to, rec->module);
    put_varint(to, rec->address);
    put_varint(to, rec->flags);
    record_close(to, head);
}

void record_get_native_node(struct get *payload, struct rec_native_node *rec)
{
    rec->id = get_varint32(payload);
    rec->parent = get_varint32(payload);
    rec->module = get_varint32(payload);
    rec->address = get_varint(payload);
    rec->flags = get_varint32(payload);
}

void record_put_hybrid(struct put *to, const struct rec_hybrid *rec)
{
    uint8_t *head = record_open(to, TABLE_HYBRID);
    put_varint(to, rec->id);
    put_varint(to, rec->python);
    put_varint(to, rec->native);
    put_varint(to, rec->n_bare);
    for (uint32_t i = 0; i < rec->n_bare; i++)
        put_varint(to, rec->bare[i]);
    record_close(to, head);
}

void record_get_hybrid(struct get *payload, struct rec_hybrid *rec)
{
    rec->id = get_varint32(payload);
    rec->python = get_varint32(payload);
    rec->native = get_varint32(payload);
    rec->n_bare = get_varint32(payload);
    if (rec->n_bare > HYBRID_MAX_BARE) {
        payload->bad = true;
        return;
    }
    for (uint32_t i = 0; i < rec->n_bare; i++)
        rec->bare[i] = get_varint32(payload);
}

void record_put_symbol(struct put *to, const struct rec_symbol *rec,
                       const struct rec_symbol_frame *frames)
{
    uint8_t *head = record_open(to, TABLE_SYMBOL);
    put_varint(to, rec->module);
    put_varint(to, rec->address);
    put_varint(to, rec->n_frames);
    for (uint32_t i = 0; i < rec->n_frames; i++) {
        put_varint(to, frames[i].name);
        put_varint(to, frames[i].file);
        put_varint(to, frames[i].line);
    }
    record_close(to, head);
}

void record_get_symbol(struct get *payload, struct rec_symbol *rec)
{
    rec->module = get_varint32(payload);
    rec->address = get_varint(payload);
    rec->n_frames = get_varint32(payload);
    if (rec->n_frames > get_left(payload) / 3) /* each has three numbers of a byte at least */
        payload->bad = true;
}

void record_get_symbol_frame(struct get *payload, struct rec_symbol_frame *frame)
{
    frame->name = get_varint32(payload);
    frame->file = get_varint32(payload);
    frame->line = get_varint32(payload);
}
