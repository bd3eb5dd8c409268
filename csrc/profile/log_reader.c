/* log_reader.c - see log_reader.h. */
#include "profile/log_reader.h"

#include "profile/log_checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int map_file(const char *path, const uint8_t **bytes, size_t *n_bytes, struct read_error *error)
{
    struct stat status;
    void *at;
    /* Non-blocking: opening a pipe that nobody writes to would wait for ever. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    *bytes = NULL;
    *n_bytes = 0;
    if (fd < 0)
        return read_fail(error, READ_CANNOT_OPEN, "cannot be read: %s", strerror(errno));
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        close(fd);
        return read_fail(error, READ_NOT_A_FILE, "is %s, not a capture",
                         S_ISDIR(status.st_mode) ? "a directory" : "not a regular file");
    }
    if (status.st_size == 0) {
        close(fd);
        return 0;
    }
    at = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (at == MAP_FAILED)
        return read_fail(error, READ_CANNOT_OPEN, "cannot be read: %s", strerror(errno));
    *bytes = at;
    *n_bytes = (size_t)status.st_size;
    return 0;
}

void unmap_file(const uint8_t *bytes, size_t n_bytes)
{
    if (bytes != NULL)
        munmap((void *)(uintptr_t)bytes, n_bytes);
}

static int check_header(struct log_reader *log, struct read_error *error)
{
    switch (file_header_get(log->bytes, log->n_bytes, &log->header)) {
    case HEADER_OK:
        return 0;
    case HEADER_EMPTY:
        return read_fail(error, READ_EMPTY, "is empty, not a capture");
    case HEADER_NOT_OURS:
        return read_fail(error, READ_NOT_OURS, "is not a capture of lprof or memtrace");
    case HEADER_CUT:
        return read_fail(error, READ_CUT, "is cut off inside its header (%zu of %d bytes)",
                         log->n_bytes, FILE_HEADER_BYTES);
    case HEADER_TOO_NEW:
        return read_fail(error, READ_TOO_NEW,
                         "was written by a newer version (log format %u, for readers of %u and "
                         "later; this one reads up to %u): update proftrace",
                         log->header.version, log->header.min_reader, FORMAT_VERSION);
    case HEADER_BYTEORDER:
        return read_fail(error, READ_BYTE_ORDER,
                         "was written on a machine of the other byte order");
    case HEADER_CORRUPT:
        break;
    }
    return read_fail(error, READ_DAMAGED, "is damaged: the checksum of its header is wrong");
}

struct stream *log_reader_stream(struct log_reader *log, uint32_t index)
{
    uint32_t row = table_get(&log->stream_rows, index);
    uint32_t thread_row;
    struct stream *stream;
    if (row != 0)
        return &log->streams.items[row - 1];
    thread_row = dictionary_thread_row(&log->dict, index);
    stream = vec_add(&log->streams);
    if (stream == NULL || thread_row == UINT32_MAX ||
        table_put(&log->stream_rows, index, (uint32_t)log->streams.n) != 0)
        return NULL;
    *stream = (struct stream){.index = index, .thread_row = thread_row};
    return stream;
}

/* Puts a block of events behind its stream's others. A repeated block, or the repeated start of
 * one, is left out; the ordinals of a gap are counted as missing. */
static int add_events(struct log_reader *log, size_t at, const struct block_header *header)
{
    struct stream *stream = log_reader_stream(log, header->stream);
    struct event_block *block;
    uint64_t end = header->first_ordinal + header->n_records;
    uint64_t n_skip = 0;
    if (stream == NULL)
        return -1;
    if (end <= stream->n_covered)
        return 0;
    if (header->first_ordinal < stream->n_covered)
        n_skip = stream->n_covered - header->first_ordinal;
    else
        log->n_missing += header->first_ordinal - stream->n_covered;
    block = vec_add(&log->blocks);
    if (block == NULL)
        return -1;
    *block = (struct event_block){.at = at, .n_skip = (uint32_t)n_skip, .header = *header};
    if (stream->last_block != 0)
        log->blocks.items[stream->last_block - 1].next = (uint32_t)log->blocks.n;
    else
        stream->first_block = (uint32_t)log->blocks.n;
    stream->last_block = (uint32_t)log->blocks.n;
    stream->n_covered = end;
    return 0;
}

/* Unpacks a payload into memory of its own; NULL with the verdict otherwise. */
static uint8_t *unpack_owned(const uint8_t *at, const struct block_header *header,
                             enum take_verdict *verdict)
{
    uint8_t *payload = malloc(block_unpack_bytes(header));
    *verdict = payload == NULL ? TAKE_NO_MEMORY : TAKE_OK;
    if (payload != NULL && block_unpack(at, header, payload) != 0) {
        free(payload);
        *verdict = TAKE_MALFORMED;
        return NULL;
    }
    return payload;
}

static enum take_verdict take_tables(struct log_reader *log, const uint8_t *at,
                                     const struct block_header *header)
{
    enum take_verdict verdict;
    uint8_t *payload = unpack_owned(at, header, &verdict);
    return payload == NULL ? verdict : dictionary_take(&log->dict, payload, header->raw_bytes);
}

/* The first complete one counts: the events behind it lead to the same as later ones. */
static enum take_verdict take_checkpoint(struct log_reader *log, const uint8_t *at,
                                         const struct block_header *header)
{
    enum take_verdict verdict;
    uint8_t *payload;
    if (log->checkpoint.is_complete)
        return TAKE_OK;
    payload = unpack_owned(at, header, &verdict);
    return payload == NULL ? verdict : log_checkpoint_take(log, payload, header->raw_bytes);
}

static enum take_verdict take_end(struct log_reader *log, const uint8_t *at,
                                  const struct block_header *header)
{
    enum take_verdict verdict;
    uint8_t *payload = unpack_owned(at, header, &verdict);
    struct get from;
    if (payload == NULL)
        return verdict;
    from = get_over(payload, header->raw_bytes);
    record_get_end(&from, &log->end);
    free(payload);
    return from.bad ? TAKE_MALFORMED : TAKE_OK;
}

static enum take_verdict take_block(struct log_reader *log, size_t at,
                                    const struct block_header *header)
{
    const uint8_t *bytes = log->bytes + at;
    switch (header->kind) {
    case BLOCK_DICT:
    case BLOCK_LINES:
        return take_tables(log, bytes, header);
    case BLOCK_EVENTS:
    case BLOCK_PACKED:
        return add_events(log, at, header) == 0 ? TAKE_OK : TAKE_NO_MEMORY;
    case BLOCK_CHECKPOINT:
        return take_checkpoint(log, bytes, header);
    case BLOCK_END:
        return take_end(log, bytes, header);
    default:
        return TAKE_OK; /* of a later version */
    }
}

/* In a merged file the next process's log follows. */
static void note_next_log(struct log_reader *log, size_t at)
{
    if (log->n_bytes - at >= FILE_HEADER_BYTES &&
        memcmp(log->bytes + at, FILE_MAGIC, FILE_MAGIC_BYTES) == 0)
        log->next_log = (size_t)(log->bytes - log->map) + at;
}

/* Goes over the blocks from `at` on, to the END block or to the first that cannot be used. */
static int scan_blocks(struct log_reader *log, size_t at, struct read_error *error)
{
    for (;;) {
        struct block_header header;
        enum block_verdict block = block_peek(log->bytes + at, log->n_bytes - at, &header);
        enum take_verdict taken;
        log->damaged_at = at;
        log->good_bytes = at;
        if (block != BLOCK_OK) {
            note_next_log(log, at);
            if (log->next_log != 0) {
                log->ending = LOG_OPEN;
                return 0;
            }
            log->ending = block == BLOCK_NO_MORE ? LOG_OPEN
                          : block == BLOCK_CUT   ? LOG_CUT
                                                 : LOG_DAMAGED;
            return 0;
        }
        taken = take_block(log, at, &header);
        if (taken == TAKE_NO_MEMORY)
            return read_fail_memory(error);
        if (taken == TAKE_MALFORMED) {
            log->ending = LOG_DAMAGED;
            return 0;
        }
        log->last_mono_ns = header.mono_ns;
        at += BLOCK_HEADER_BYTES + header.stored_bytes;
        if (header.kind == BLOCK_END) {
            log->ending = LOG_ENDED;
            log->good_bytes = at;
            note_next_log(log, at);
            return 0;
        }
    }
}

int log_reader_open(struct log_reader *log, const char *path, struct read_error *error)
{
    return log_reader_open_at(log, path, 0, error);
}

int log_reader_open_at(struct log_reader *log, const char *path, size_t start,
                       struct read_error *error)
{
    struct stat status;
    *log = (struct log_reader){0};
    if (dictionary_init(&log->dict) != 0)
        return read_fail_memory(error);
    if (map_file(path, &log->map, &log->map_bytes, error) != 0)
        return -1;
    log->inode = stat(path, &status) == 0 ? status.st_ino : 0;
    start = start < log->map_bytes ? start : log->map_bytes;
    log->bytes = log->map == NULL ? NULL : log->map + start;
    log->n_bytes = log->map_bytes - start;
    if (check_header(log, error) != 0)
        return -1;
    log->last_mono_ns = log->header.start_mono_ns;
    return scan_blocks(log, FILE_HEADER_BYTES, error);
}

/* Forgets what the ring said; what the dictionary has of it stays, the log repeats it. */
static void drop_ring(struct log_reader *log)
{
    for (size_t i = 0; i < log->streams.n; i++) {
        struct stream *stream = &log->streams.items[i];
        free(stream->tail);
        stream->tail = NULL;
        stream->tail_words = 0;
        stream->tail_skip = 0;
    }
    unmap_file(log->ring, log->ring_bytes);
    log->ring = NULL;
    log->n_missing -= log->n_missing_before_ring;
    log->n_missing_before_ring = 0;
}

int log_reader_follow(struct log_reader *log, const char *path, struct read_error *error)
{
    const uint8_t *map;
    struct stat status;
    size_t n_bytes;
    if (map_file(path, &map, &n_bytes, error) != 0)
        return -1;
    if (stat(path, &status) != 0 || status.st_ino != log->inode || n_bytes < log->map_bytes) {
        unmap_file(map, n_bytes);
        return 1;
    }
    drop_ring(log);
    unmap_file(log->map, log->map_bytes);
    log->map = log->bytes = map;
    log->map_bytes = log->n_bytes = n_bytes;
    return scan_blocks(log, log->good_bytes, error);
}

bool log_reader_file_changed(const struct log_reader *log, const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 &&
           ((size_t)status.st_size != log->map_bytes || status.st_ino != log->inode);
}

void log_reader_release(struct log_reader *log)
{
    for (size_t i = 0; i < log->streams.n; i++)
        free(log->streams.items[i].tail);
    log_checkpoint_release(&log->checkpoint);
    dictionary_release(&log->dict);
    vec_release(&log->blocks);
    vec_release(&log->streams);
    table_release(&log->stream_rows);
    unmap_file(log->map, log->map_bytes);
    unmap_file(log->ring, log->ring_bytes);
    log->map = log->bytes = log->ring = NULL;
}
