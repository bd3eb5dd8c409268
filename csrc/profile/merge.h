/*
 * merge.h - all events of a log in one order: by seq across streams, as written within a stream.
 *
 * Blocks are decoded when their turn comes; at most one a stream is in memory, and none of a stream
 * that has not begun.
 */
#ifndef PROFTRACE_PROFILE_MERGE_H
#define PROFTRACE_PROFILE_MERGE_H

#include "profile/log_reader.h"

/* Reads one stream. `key` is the seq of its next event. */
struct cursor {
    struct stream *stream;
    uint32_t row;        /* in log->streams */
    uint32_t next_block; /* index + 1; 0 = none left */
    size_t block_at;     /* offset of the block being read */
    uint8_t *payload;    /* owned: what is in it, NULL = none is open */
    bool is_raw;         /* payload holds raw events, else version 1's stored ones */
    struct get from;
    struct event_coder coder;
    uint32_t n_left; /* records left in the block */
    size_t tail_at;  /* words of the ring's tail that are read */
    uint64_t key;
    bool has_event;
    struct event event; /* the next one, when has_event */
};

struct merge {
    struct log_reader *log;     /* borrowed */
    VEC(struct cursor) cursors; /* one a stream; never moves after merge_init */
    void *scratch;              /* owned: for unpacking */
    size_t scratch_bytes;
    VEC(struct cursor *) heap; /* least key (then row) first; only streams with events left */
    bool damaged;              /* the events ended at a malformed block */
    bool no_memory;
};

NODISCARD int merge_init(struct merge *merge, struct log_reader *log);
void merge_release(struct merge *merge);

/* The next event and the row of its stream; false at the end, on damage and without memory. */
NODISCARD bool merge_next(struct merge *merge, struct event *event, uint32_t *stream_row);

#endif
