/*
 * log_reader.h - a log file, mapped and checked: header, tables, an index of its event blocks, and
 * the tail that a killed process left in its ring.
 *
 * Sizes are believed only after limits and checksums hold. A damaged or cut block ends the log:
 * what stands before it is read.
 */
#ifndef PROFTRACE_PROFILE_LOG_READER_H
#define PROFTRACE_PROFILE_LOG_READER_H

#include "format/block.h"
#include "format/record.h"
#include "history/checkpoint.h"
#include "profile/dictionary.h"
#include "profile/read_error.h"
#include "profile/vec.h"

/* An EVENTS or PACKED block that is not decoded yet. */
struct event_block {
    size_t at;       /* offset in the file */
    uint32_t next;   /* the stream's next block, index + 1; 0 = none */
    uint32_t n_skip; /* records at its start that an earlier block has already */
    struct block_header header;
};

/* The events of one thread: its blocks in the file, then what its ring slot holds. */
struct stream {
    uint32_t index;       /* thread index */
    uint32_t thread_row;  /* in dictionary.threads */
    uint32_t first_block; /* index + 1 into blocks; 0 = none */
    uint32_t last_block;
    uint64_t n_covered; /* ordinal behind its last block */
    uint8_t *tail;      /* owned: raw events out of the ring, NULL = none */
    size_t tail_words;
    uint64_t tail_skip; /* records at its start that the blocks have already */
};

struct block_payload {
    uint8_t *records; /* owned */
    size_t n_bytes;
};

/* The first complete checkpoint of a log: its blocks, decoded. What comes before it is not read. */
struct log_checkpoint {
    VEC(struct block_payload) blocks;
    VEC(struct checkpoint_cut) cuts;
    bool is_complete;
};

enum log_ending {
    LOG_ENDED,   /* there is an END block */
    LOG_OPEN,    /* good blocks to the last byte, but no END block */
    LOG_CUT,     /* the last block is cut */
    LOG_DAMAGED, /* a block is not what it was; see damaged_at */
};

struct log_reader {
    const uint8_t *map; /* the file, owned */
    size_t map_bytes;
    uint64_t inode;
    const uint8_t *bytes; /* from this log's header to the end of the file */
    size_t n_bytes;
    size_t good_bytes; /* of them: this log, as far as it can be used */
    size_t next_log;   /* offset in the file of the log behind this one; 0 = none */
    struct file_header header;
    struct dictionary dict;
    VEC(struct event_block) blocks;
    VEC(struct stream) streams;
    struct log_checkpoint checkpoint;
    struct table stream_rows; /* thread index -> row of `streams`, plus 1 */
    enum log_ending ending;
    size_t damaged_at;     /* offset of the first block that could not be used, or of END */
    struct rec_end end;    /* LOG_ENDED */
    uint64_t last_mono_ns; /* when the last block was closed */
    uint64_t n_missing;    /* events that the ordinals say once were there */
    uint64_t n_missing_before_ring; /* of them, between the log's end and what the ring has */
    const uint8_t *ring;            /* mapped, owned; NULL = no ring of this session */
    size_t ring_bytes;
    const uint8_t *ring_tables; /* table records out of the ring; NULL = none. Kept in `dict` */
    size_t ring_tables_bytes;
};

/*
 * Opens, checks and indexes the log that begins at `start` (0 = the first) of a file; a merged file
 * has several. -1 with the reason in *error. Release it in both cases.
 */
NODISCARD int log_reader_open_at(struct log_reader *log, const char *path, size_t start,
                                 struct read_error *error);
NODISCARD int log_reader_open(struct log_reader *log, const char *path, struct read_error *error);
void log_reader_release(struct log_reader *log);

/* The stream of a thread index, added when it is new; NULL when there is no memory left. */
NODISCARD struct stream *log_reader_stream(struct log_reader *log, uint32_t index);

/*
 * Appends what `<path>.ring` holds and the log does not. No ring, or one of another session, is no
 * error: log->ring then stays NULL.
 */
NODISCARD int log_reader_add_ring(struct log_reader *log, const char *path,
                                  struct read_error *error);

/*
 * Reads on where a log that was open ended, which has grown since. What the ring said is forgotten:
 * it has to be added again. 1: it is another file now.
 */
NODISCARD int log_reader_follow(struct log_reader *log, const char *path, struct read_error *error);

/*
 * True if the file is not as it was when it was opened: its process runs, and what the ring
 * said may not fit what was read of the log.
 */
NODISCARD bool log_reader_file_changed(const struct log_reader *log, const char *path);

/* Maps a regular file read-only; *n_bytes = 0 and NULL for an empty one. -1 sets *error. */
NODISCARD int map_file(const char *path, const uint8_t **bytes, size_t *n_bytes,
                       struct read_error *error);
void unmap_file(const uint8_t *bytes, size_t n_bytes);

#endif
