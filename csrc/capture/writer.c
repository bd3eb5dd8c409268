/* writer.c - see writer.h. */
#include "capture/writer.h"

#include "base/arena.h" /* pages */
#include "base/ticks.h" /* mono_now_ns */
#include "capture/notice.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#define PACKED_BYTES (512u << 10)
#define END_BYTES 64
/*
 * So much of a log is made as small as can be, which is most of what short programs record. It
 * takes 3 ns a byte, which a program that records a lot would feel.
 */
#define SMALL_BYTES (2u << 20)
#define SMALL_LEAST_BYTES 512u /* of a block: the rest is hardly worth the start */

int writer_open(struct writer *writer, const char *path, const struct file_header *header)
{
    uint8_t bytes[FILE_HEADER_BYTES];
    if (writer->packed == NULL) {
        writer->packed = pages_alloc(PACKED_BYTES);
        writer->packed_bytes = PACKED_BYTES;
    }
    if (writer->workspace == NULL)
        writer->workspace = pages_alloc(block_workspace_bytes());
    if (writer->packed == NULL || writer->workspace == NULL) {
        errno = ENOMEM;
        return -1;
    }
    if (output_create(&writer->file, path) != 0)
        return -1;
    writer->header = *header;
    writer->n_events = 0;
    writer->small_left = SMALL_BYTES;
    writer->failed = false;
    file_header_put(bytes, header);
    if (output_append(&writer->file, bytes, sizeof bytes) != 0) {
        output_discard(&writer->file);
        return -1;
    }
    return 0;
}

/* The disk is full, most likely: the END block of this is small and may still fit. */
void writer_fail(struct writer *writer, int error)
{
    if (writer->failed)
        return;
    writer->failed = true;
    writer->error = error;
    notice_failure("cannot write", writer->file.path, error,
                   error == ENOMEM ? " (a limit on address space: see ulimit -v); recording has "
                                     "stopped, the program goes on"
                                   : "; recording has stopped, the program goes on");
}

static void release_small(struct writer *writer)
{
    pages_free(writer->small_workspace, block_small_workspace_bytes());
    writer->small_workspace = NULL;
    writer->small_left = 0;
}

static int grow_packed(struct writer *writer, size_t n_bytes)
{
    void *bigger;
    if (n_bytes <= writer->packed_bytes)
        return 0;
    n_bytes = (n_bytes + 4095) & ~(size_t)4095;
    bigger = pages_grow(writer->packed, writer->packed_bytes, n_bytes);
    if (bigger == NULL)
        return -1;
    writer->packed = bigger;
    writer->packed_bytes = n_bytes;
    return 0;
}

bool writer_is_full(int error)
{
    return error == ENOSPC || error == EDQUOT || error == EFBIG;
}

int writer_block(struct writer *writer, struct block_header *block, const void *payload,
                 size_t n_bytes)
{
    if (writer_try_block(writer, block, payload, n_bytes) == 0)
        return 0;
    writer_fail(writer, errno);
    return -1;
}

/* Packs with all care, while that is to be had. 0: not any more, or not for this one. */
static size_t pack_small(struct writer *writer, struct block_header *block, const void *payload,
                         size_t n_bytes)
{
    if (n_bytes < SMALL_LEAST_BYTES || writer->small_left == 0)
        return 0;
    if (writer->small_workspace == NULL)
        writer->small_workspace = pages_alloc(block_small_workspace_bytes());
    if (n_bytes > writer->small_left || n_bytes > BLOCK_SMALL_RAW_BYTES ||
        writer->small_workspace == NULL || grow_packed(writer, block_small_bound(n_bytes)) != 0) {
        release_small(writer);
        return 0;
    }
    writer->small_left -= (uint32_t)n_bytes;
    return block_pack_small(block, payload, n_bytes, writer->packed, writer->packed_bytes,
                            writer->small_workspace);
}

/* Returns the bytes of the block in `packed`, 0 when there is no memory. */
static size_t pack(struct writer *writer, struct block_header *block, const void *payload,
                   size_t n_bytes)
{
    size_t n = pack_small(writer, block, payload, n_bytes);
    if (n == 0 && grow_packed(writer, block_bound(n_bytes)) == 0)
        n = block_pack(block, payload, n_bytes, writer->packed, writer->packed_bytes,
                       writer->workspace);
    return n;
}

/* A limit on sizes is known before it is met: the END block, which says so, is to fit as well. */
static bool is_within_limit(const struct writer *writer, size_t n_bytes)
{
    const uint64_t wanted = writer->file.n_bytes + n_bytes + BLOCK_HEADER_BYTES + END_BYTES;
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
           wanted <= limit.rlim_cur;
}

int writer_try_block(struct writer *writer, struct block_header *block, const void *payload,
                     size_t n_bytes)
{
    size_t n_packed;
    if (writer->failed) {
        errno = writer->error;
        return -1;
    }
    block->mono_ns = mono_now_ns();
    n_packed = pack(writer, block, payload, n_bytes);
    if (n_packed == 0) {
        errno = ENOMEM;
        return -1;
    }
    if (!is_within_limit(writer, n_packed)) {
        errno = EFBIG;
        return -1;
    }
    return output_append(&writer->file, writer->packed, n_packed);
}

void writer_add_option(struct writer *writer, enum file_option option)
{
    uint8_t bytes[FILE_HEADER_BYTES];
    if (writer->failed || (writer->header.options & option))
        return;
    writer->header.options |= option;
    file_header_put(bytes, &writer->header);
    if (output_overwrite(&writer->file, 0, bytes, sizeof bytes) != 0)
        writer_fail(writer, errno);
}

uint64_t writer_end(struct writer *writer, enum end_reason reason, uint64_t n_lost)
{
    const uint64_t before = writer->file.n_bytes;
    struct block_header block = {.kind = BLOCK_END, .n_records = 1, .mono_ns = mono_now_ns()};
    struct rec_end end = {
        .reason = (uint8_t)(writer->failed ? END_WRITE_FAILED : reason),
        .error = writer->failed ? writer->error : 0,
        .n_events = writer->n_events,
        .n_lost = n_lost,
        .mono_ns = block.mono_ns,
    };
    uint8_t payload[END_BYTES];
    struct put to = put_over(payload, sizeof payload);
    size_t n;
    record_put_end(&to, &end);
    n = block_pack(&block, payload, (size_t)(to.p - payload), writer->packed, writer->packed_bytes,
                   writer->workspace);
    if (output_append(&writer->file, writer->packed, n) != 0 && !writer->failed)
        writer_fail(writer, errno);
    return before;
}

bool writer_has_room_for_end(struct writer *writer)
{
    static const uint8_t room[BLOCK_HEADER_BYTES + END_BYTES];
    const uint64_t before = writer->file.n_bytes;
    return output_append(&writer->file, room, sizeof room) == 0 &&
           output_truncate(&writer->file, before) == 0;
}

void writer_close(struct writer *writer)
{
    output_close(&writer->file);
    release_small(writer);
}

void writer_discard(struct writer *writer)
{
    output_discard(&writer->file);
    release_small(writer);
}
