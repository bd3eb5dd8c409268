/*
 * log_fixture.h - small logs made through the format layer: for the tests of the reading side, the
 * fuzzer's seeds and the files in tests/logs.
 */
#ifndef PROFTRACE_TESTS_LOG_FIXTURE_H
#define PROFTRACE_TESTS_LOG_FIXTURE_H

#include "format/block.h"
#include "format/record_native.h"

#include <stddef.h>
#include <stdint.h>

/* A file being written, in memory. Start from all zero; release `bytes` with free. */
struct log_fixture {
    uint8_t *bytes; /* owned */
    size_t n_bytes;
    size_t room;
    uint8_t payload[64 << 10]; /* of the block that is open */
    struct put put;
    uint32_t n_records;
    uint64_t ordinals[8]; /* events written, by stream */
    bool stores_plainly;  /* events as version 1 stored them */
    bool packs_small;     /* blocks as small as can be */
    uint32_t options;     /* of the header */
    uint64_t sample_bytes;
};

void fixture_header(struct log_fixture *log, uint32_t content);
/* Table records are put into log->put; this writes them as a block of a kind. */
void fixture_tables(struct log_fixture *log, enum block_kind kind);
void fixture_events(struct log_fixture *log, uint32_t stream, const struct event *events, size_t n);
void fixture_end(struct log_fixture *log);
/* Packs a payload under a header and appends it. */
void fixture_block(struct log_fixture *log, struct block_header *header, const void *payload,
                   size_t n_bytes);
/* Raw events as the payload of a PACKED block; fills in the header's count and seqs. */
void fixture_pack(struct put *to, const uint64_t *words, size_t n_words,
                  struct block_header *header);
void fixture_append(struct log_fixture *log, const void *bytes, size_t n_bytes);

/*
 * The two files of tests/logs. Memory: three threads, every kind of event, a mapping cut in the
 * middle, a failed realloc, a mark; with its END block or without. Lines: two functions of one
 * file.
 */
void fixture_memory(struct log_fixture *log, bool ended);
void fixture_lines(struct log_fixture *log);
/* The same memory log with a checkpoint in the place of its first events; and as if sampled. */
void fixture_bounded(struct log_fixture *log);
void fixture_sampled(struct log_fixture *log);
/* Thousands of events of one thread, in two blocks of CODEC_HUFFMAN. */
void fixture_small(struct log_fixture *log);
/* Five blocks of 100 to 500 bytes with native stacks: calls, a signal, a run without its frame. */
void fixture_native(struct log_fixture *log);
/* What a killed process leaves beside fixture_memory(log, false): returns the bytes of the ring. */
#define FIXTURE_RING_BYTES (4096 + 3 * 1024)
void fixture_ring(uint8_t out[FIXTURE_RING_BYTES]);

void write_file(const char *path, const void *bytes, size_t n_bytes);

#endif
