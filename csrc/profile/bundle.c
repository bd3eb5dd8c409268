/* bundle.c - see bundle.h. */
#include "profile/bundle.h"

#include "format/block.h"
#include "format/pack.h"

#include <errno.h>
#include <unistd.h>

/* What packing needs; all owned. */
struct bundle {
    const struct log_reader *log;
    int fd;
    void *workspace;
    struct packer *packer;
    uint8_t *packed; /* a block as it is written */
    size_t packed_bytes;
};

static int write_all(int fd, const uint8_t *bytes, size_t n_bytes)
{
    while (n_bytes > 0) {
        ssize_t n = write(fd, bytes, n_bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        bytes += n;
        n_bytes -= (size_t)n;
    }
    return 0;
}

static int write_block(struct bundle *bundle, struct block_header *header, const uint8_t *payload,
                       size_t n_bytes)
{
    size_t room = block_bound(n_bytes), n;
    if (room > bundle->packed_bytes) {
        free(bundle->packed);
        bundle->packed = malloc(room);
        bundle->packed_bytes = bundle->packed == NULL ? 0 : room;
    }
    header->mono_ns = bundle->log->last_mono_ns;
    if (bundle->packed == NULL)
        return -1;
    n = block_pack(header, payload, n_bytes, bundle->packed, bundle->packed_bytes,
                   bundle->workspace);
    return n == 0 ? -1 : write_all(bundle->fd, bundle->packed, n);
}

static int write_ring_tables(struct bundle *bundle)
{
    const struct log_reader *log = bundle->log;
    struct block_header header = {.kind = BLOCK_DICT};
    struct get from = get_over(log->ring_tables, log->ring_tables_bytes);
    struct get record;
    if (log->ring_tables == NULL)
        return 0;
    while (table_next(&from, &record) != 0)
        header.n_records++;
    return write_block(bundle, &header, log->ring_tables, log->ring_tables_bytes);
}

/* The words of the first `n` events. */
static size_t words_of_events(const uint64_t *words, size_t n_words, uint64_t n)
{
    struct event ignored;
    size_t at = 0;
    unsigned taken;
    for (; n > 0 && (taken = raw_event_get(words + at, n_words - at, &ignored)) != 0; n--)
        at += taken;
    return at;
}

static int write_tail(struct bundle *bundle, const struct stream *stream)
{
    const uint64_t *words = (const uint64_t *)(const void *)stream->tail;
    uint64_t ordinal = stream->n_covered;
    size_t at = words_of_events(words, stream->tail_words, stream->tail_skip);
    for (size_t n; at < stream->tail_words; at += n) {
        struct packed packed;
        struct block_header header = {.kind = BLOCK_PACKED, .stream = stream->index};
        n = stream->tail_words - at;
        pack_events(bundle->packer, words + at, &n, true, &packed);
        if (n == 0)
            return 0; /* not a whole event: what was not committed */
        header.n_records = packed.n_events;
        header.first_ordinal = ordinal;
        header.first_seq = packed.first_seq;
        header.last_seq = packed.last_seq;
        if (write_block(bundle, &header, packed.payload, packed.n_bytes) != 0)
            return -1;
        ordinal += packed.n_events;
    }
    return 0;
}

static int write_ring(struct bundle *bundle)
{
    if (bundle->log->ring == NULL)
        return 0;
    bundle->packer = calloc(1, packer_bytes());
    if (bundle->packer == NULL || write_ring_tables(bundle) != 0)
        return -1;
    for (size_t i = 0; i < bundle->log->streams.n; i++) {
        const struct stream *stream = &bundle->log->streams.items[i];
        if (stream->tail != NULL && write_tail(bundle, stream) != 0)
            return -1;
    }
    return 0;
}

static int write_symbols(struct bundle *bundle, const struct stored_symbols *symbols)
{
    for (size_t i = 0; i < symbols->blocks.n; i++) {
        const struct symbol_block *block = &symbols->blocks.items[i];
        struct block_header header = {.kind = BLOCK_DICT, .n_records = block->n_records};
        if (write_block(bundle, &header, block->bytes, block->n_bytes) != 0)
            return -1;
    }
    return 0;
}

/* Everything up to the END block, what is added, and then that. */
static int write_log(struct bundle *bundle, const struct stored_symbols *symbols)
{
    const struct log_reader *log = bundle->log;
    const size_t end_at = log->ending == LOG_ENDED ? log->damaged_at : log->good_bytes;
    errno = ENOMEM;
    bundle->workspace = malloc(block_workspace_bytes());
    if (bundle->workspace == NULL || write_all(bundle->fd, log->bytes, end_at) != 0 ||
        write_ring(bundle) != 0 || (symbols != NULL && write_symbols(bundle, symbols) != 0))
        return -1;
    return write_all(bundle->fd, log->bytes + end_at, log->good_bytes - end_at);
}

int bundle_write(const struct log_reader *log, const struct stored_symbols *symbols, int fd,
                 struct read_error *error)
{
    struct bundle bundle = {.log = log, .fd = fd};
    int failed = write_log(&bundle, symbols);
    if (failed)
        read_fail(error, READ_CANNOT_OPEN, "cannot be written again: %s", strerror(errno));
    free(bundle.workspace);
    free(bundle.packer);
    free(bundle.packed);
    return failed;
}
