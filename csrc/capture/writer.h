/*
 * writer.h - blocks into the log. Called with the capture lock held.
 *
 * The first failure is final: it is said once on stderr, the log keeps a valid prefix, and the
 * program goes on unrecorded.
 */
#ifndef PROFTRACE_CAPTURE_WRITER_H
#define PROFTRACE_CAPTURE_WRITER_H

#include "capture/output_file.h"
#include "format/block.h"
#include "format/record.h"

struct writer {
    struct output_file file;
    struct file_header header;
    uint8_t *packed; /* owned pages: a block as it is written */
    size_t packed_bytes;
    void *workspace;       /* owned pages, for block_pack */
    void *small_workspace; /* owned pages, for block_pack_small; NULL = not needed (any more) */
    uint32_t small_left;   /* bytes that are still to be packed by it */
    uint64_t n_events;     /* in all EVENTS blocks */
    bool failed;
    int error; /* errno, when failed */
};

/* Creates the file beside `path` and writes its header. -1 with errno set; nothing is left. */
NODISCARD int writer_open(struct writer *writer, const char *path,
                          const struct file_header *header);

/* Packs and appends a block. -1 with errno set: nothing of it is in the log, and more may be tried.
 */
NODISCARD int writer_try_block(struct writer *writer, struct block_header *block,
                               const void *payload, size_t n_bytes);
/* Whether less might fit where this error came from. */
bool writer_is_full(int error);
/* Says it, and ends writing for good. */
void writer_fail(struct writer *writer, int error);

/* The same, for good. -1 when it failed, now or earlier. */
NODISCARD int writer_block(struct writer *writer, struct block_header *block, const void *payload,
                           size_t n_bytes);

/* Adds an option to the header in the file, for what turns out later. */
void writer_add_option(struct writer *writer, enum file_option option);

/* Appends the END block; the file stays open. Returns the length before it. */
uint64_t writer_end(struct writer *writer, enum end_reason reason, uint64_t n_lost);

bool writer_has_room_for_end(struct writer *writer);

/* Closes the file. The buffers stay: a thread may still wait for the lock. */
void writer_close(struct writer *writer);
/* Undoes writer_open. */
void writer_discard(struct writer *writer);

#endif
