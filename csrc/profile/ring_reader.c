/* ring_reader.c - what a killed process had recorded but not written: see format/ring.h. */
#include "profile/log_reader.h"

#include "format/ring.h"

#define COPY_ATTEMPTS 1000

/*
 * Copies a slot's head and, into memory of its own, its committed records. The process may still
 * run and empty the slot meanwhile; then its version changes, and what was copied is thrown away.
 * *records is NULL when there is nothing to be had: no record, or a slot that is being handed over.
 */
static int copy_slot(const uint8_t *at, uint64_t slot_bytes, struct ring_slot *slot,
                     uint8_t **records)
{
    const struct ring_slot *there = (const struct ring_slot *)(const void *)at;
    *records = NULL;
    for (int attempt = 0; attempt < COPY_ATTEMPTS; attempt++) {
        uint32_t version = __atomic_load_n(&there->version, __ATOMIC_ACQUIRE);
        slot->committed_bytes = __atomic_load_n(&there->committed_bytes, __ATOMIC_ACQUIRE);
        slot->used = there->used;
        slot->stream = there->stream;
        slot->base_ordinal = there->base_ordinal;
        if (version % 2 != 0 || slot->used != 1 || slot->committed_bytes == 0 ||
            slot->committed_bytes > slot_bytes - RING_SLOT_HEAD_BYTES)
            return 0;
        *records = malloc(slot->committed_bytes);
        if (*records == NULL)
            return -1;
        memcpy(*records, at + RING_SLOT_HEAD_BYTES, slot->committed_bytes);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (__atomic_load_n(&there->version, __ATOMIC_RELAXED) == version)
            return 0;
        free(*records);
        *records = NULL;
    }
    return 0;
}

/* The layout is believed only if it fits into the file. */
static bool layout_is_credible(const struct ring_header *header, size_t n_bytes)
{
    uint64_t left = n_bytes - RING_HEADER_BYTES;
    if (header->dict_bytes < RING_SLOT_HEAD_BYTES || header->dict_bytes > left ||
        header->slot_bytes < RING_SLOT_HEAD_BYTES || header->dict_bytes % 8 != 0 ||
        header->slot_bytes % 8 != 0)
        return false;
    return header->n_slots <= (left - header->dict_bytes) / header->slot_bytes;
}

static int add_dictionary_slot(struct log_reader *log, const struct ring_header *header)
{
    struct ring_slot slot;
    uint8_t *records;
    if (copy_slot(log->ring + RING_HEADER_BYTES, header->dict_bytes, &slot, &records) != 0)
        return -1;
    if (records == NULL)
        return 0;
    /* A malformed record costs what follows it; nodes without a definition show as unknown. */
    if (dictionary_take(&log->dict, records, slot.committed_bytes) == TAKE_NO_MEMORY)
        return -1;
    log->ring_tables = records; /* the dictionary owns them */
    log->ring_tables_bytes = log->dict.taken_bytes;
    return 0;
}

static void add_missing(struct log_reader *log, uint64_t n_events)
{
    log->n_missing += n_events;
    log->n_missing_before_ring += n_events;
}

/* A stream has one slot at a time; a gap before it means that the log has lost blocks of it. */
static int add_event_slot(struct log_reader *log, size_t at, uint64_t slot_bytes)
{
    struct ring_slot slot;
    struct stream *stream;
    uint8_t *records;
    if (copy_slot(log->ring + at, slot_bytes, &slot, &records) != 0)
        return -1;
    if (records == NULL)
        return 0;
    stream = log_reader_stream(log, slot.stream);
    if (stream == NULL || stream->tail != NULL || slot.base_ordinal > stream->n_covered) {
        free(records);
        if (stream != NULL && stream->tail == NULL)
            add_missing(log, slot.base_ordinal - stream->n_covered);
        return stream == NULL ? -1 : 0;
    }
    stream->tail = records;
    stream->tail_words = slot.committed_bytes / 8;
    stream->tail_skip = stream->n_covered - slot.base_ordinal;
    return 0;
}

static int add_slots(struct log_reader *log, const struct ring_header *header,
                     struct read_error *error)
{
    if (add_dictionary_slot(log, header) != 0)
        return read_fail_memory(error);
    for (uint32_t i = 0; i < header->n_slots; i++) {
        size_t at = RING_HEADER_BYTES + header->dict_bytes + i * header->slot_bytes;
        if (add_event_slot(log, at, header->slot_bytes) != 0)
            return read_fail_memory(error);
    }
    return 0;
}

int log_reader_add_ring(struct log_reader *log, const char *path, struct read_error *error)
{
    struct read_error ignored;
    struct ring_header header;
    const uint8_t *bytes;
    size_t n_bytes;
    char *ring_path = malloc(strlen(path) + sizeof ".ring");
    if (ring_path == NULL)
        return read_fail_memory(error);
    strcpy(ring_path, path);
    strcat(ring_path, ".ring");
    if (map_file(ring_path, &bytes, &n_bytes, &ignored) != 0)
        bytes = NULL;
    free(ring_path);
    if (bytes == NULL)
        return 0;
    if (n_bytes < RING_HEADER_BYTES || (memcpy(&header, bytes, sizeof header), false) ||
        memcmp(header.magic, RING_MAGIC, sizeof header.magic) != 0 ||
        memcmp(header.session_id, log->header.session_id, SESSION_ID_BYTES) != 0 ||
        !layout_is_credible(&header, n_bytes)) {
        unmap_file(bytes, n_bytes);
        return 0;
    }
    log->ring = bytes;
    log->ring_bytes = n_bytes;
    return add_slots(log, &header, error);
}
