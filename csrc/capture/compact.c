/* compact.c - see compact.h. */
#include "capture/compact.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* The log for reading; it is only open for writing. -1 if its path leads elsewhere. */
static int open_log(const struct output_file *file)
{
    struct stat now;
    int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0 &&
        (fstat(fd, &now) != 0 || now.st_dev != file->device || now.st_ino != file->inode)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static int read_all(int fd, uint8_t *bytes, size_t n_bytes, uint64_t at)
{
    while (n_bytes > 0) {
        ssize_t n = pread(fd, bytes, n_bytes, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        bytes += n;
        n_bytes -= (size_t)n;
        at += (uint64_t)n;
    }
    return 0;
}

struct copying {
    int fd;
    struct output_file *to;
    uint8_t *buffer;
    size_t buffer_bytes;
};

static int copy(const struct copying *c, uint64_t at, uint64_t n_bytes)
{
    while (n_bytes > 0) {
        size_t n = n_bytes < c->buffer_bytes ? (size_t)n_bytes : c->buffer_bytes;
        if (read_all(c->fd, c->buffer, n, at) != 0 || output_append(c->to, c->buffer, n) != 0)
            return -1;
        at += n;
        n_bytes -= n;
    }
    return 0;
}

/* Copies the DICT blocks of start..end. */
static int copy_tables(const struct copying *c, uint64_t start, uint64_t end)
{
    uint8_t head[BLOCK_HEADER_BYTES];
    uint64_t at = start, n_bytes;
    for (; at < end; at += n_bytes) {
        struct get from = get_over(head, sizeof head);
        uint8_t kind;
        if (read_all(c->fd, head, sizeof head, at) != 0 || get_u32(&from) != BLOCK_MAGIC)
            return -1;
        kind = get_u8(&from);
        from.p = head + BLOCK_STORED_BYTES_AT;
        n_bytes = BLOCK_HEADER_BYTES + (uint64_t)get_u32(&from);
        if (kind == BLOCK_DICT && copy(c, at, n_bytes) != 0)
            return -1;
    }
    return 0;
}

/* The header, and the tables of before `from`. */
static int copy_start(const struct copying *c, const struct writer *writer, uint64_t from)
{
    uint8_t header[FILE_HEADER_BYTES];
    file_header_put(header, &writer->header);
    if (output_append(c->to, header, sizeof header) != 0)
        return -1;
    return copy_tables(c, FILE_HEADER_BYTES, from);
}

int compact_log(struct writer *writer, uint64_t from, uint64_t *moved_by)
{
    struct output_file fresh;
    const struct output_file *old = &writer->file;
    struct copying c = {open_log(old), &fresh, writer->packed, writer->packed_bytes};
    int failed = -1;
    if (c.fd < 0 || output_create(&fresh, old->path) != 0)
        goto done;
    failed = copy_start(&c, writer, from);
    *moved_by = from - fresh.n_bytes;
    if (failed == 0)
        failed = copy(&c, from, old->n_bytes - from);
    if (failed == 0)
        failed = output_publish(&fresh, old->path, true);
    if (failed) {
        output_discard(&fresh);
    } else {
        output_close(&writer->file);
        writer->file = fresh;
    }
done:
    if (c.fd >= 0)
        close(c.fd);
    return failed;
}
