/* output_file.c - see output_file.h. */
#include "capture/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h> /* renameat2, snprintf */
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- the descriptor ----------------------------------------------------------------------- */

int output_move_high(int fd)
{
    static const int wanted[] = {1000, 500, 200, 100, 50};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        int moved = fcntl(fd, F_DUPFD_CLOEXEC, wanted[i]);
        if (moved >= 0) {
            close(fd);
            return moved;
        }
    }
    return fd; /* a tight limit on descriptors: better low than not at all */
}

static bool descriptor_is_ours(const struct output_file *file)
{
    struct stat now;
    return file->fd >= 0 && fstat(file->fd, &now) == 0 && now.st_dev == file->device &&
           now.st_ino == file->inode;
}

/* Makes sure that file->fd is our file, if its path still leads there. */
static int own_descriptor(struct output_file *file)
{
    if (descriptor_is_ours(file))
        return 0;
    file->fd = open(file->path, O_WRONLY | O_CLOEXEC);
    if (file->fd < 0)
        return -1;
    if (!descriptor_is_ours(file)) {
        close(file->fd);
        file->fd = -1;
        errno = ESTALE;
        return -1;
    }
    file->fd = output_move_high(file->fd);
    return 0;
}

/* ---- creating and naming ------------------------------------------------------------------ */

static int name_beside(char *out, size_t out_bytes, const char *target)
{
    const char *slash = strrchr(target, '/');
    int folder = slash == NULL ? 0 : (int)(slash - target) + 1;
    int n = snprintf(out, out_bytes, "%.*s.memtrace-%ld.new", folder, target, (long)getpid());
    if (n < 0 || (size_t)n >= out_bytes) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return 0;
}

int output_create(struct output_file *file, const char *target)
{
    struct stat now;
    *file = (struct output_file){.fd = -1};
    if (strlen(target) >= sizeof file->path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    if (name_beside(file->path, sizeof file->path, target) != 0)
        return -1;
    unlink(file->path); /* left behind by a killed process that had our pid */
    file->fd = open(file->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file->fd < 0)
        return -1;
    file->fd = output_move_high(file->fd);
    if (fstat(file->fd, &now) != 0) {
        output_discard(file);
        return -1;
    }
    file->device = now.st_dev;
    file->inode = now.st_ino;
    return 0;
}

static int rename_if_free(const char *from, const char *to)
{
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
    /* Not every file system can do that; a hard link does not replace either. */
    if (link(from, to) != 0)
        return -1;
    return unlink(from);
}

int output_publish(struct output_file *file, const char *target, bool replace)
{
    struct stat there;
    int failed;
    if (replace && lstat(target, &there) == 0 && !S_ISREG(there.st_mode)) {
        errno = S_ISDIR(there.st_mode) ? EISDIR : EEXIST;
        return -1;
    }
    failed = replace ? rename(file->path, target) : rename_if_free(file->path, target);
    if (failed)
        return -1;
    strcpy(file->path, target);
    return 0;
}

void output_close(struct output_file *file)
{
    if (descriptor_is_ours(file))
        close(file->fd);
    file->fd = -1;
}

void output_discard(struct output_file *file)
{
    int saved = errno;
    output_close(file);
    unlink(file->path);
    errno = saved;
}

/* ---- writing ------------------------------------------------------------------------------ */

void size_signal_hold(struct held_signal *held)
{
    sigset_t pending, block;
    sigemptyset(&pending);
    held->was_pending = sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1;
    sigemptyset(&block);
    sigaddset(&block, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &block, &held->before);
}

void size_signal_release(const struct held_signal *held, int error)
{
    if (error == EFBIG && !held->was_pending) {
        const struct timespec no_wait = {0, 0};
        sigset_t wanted;
        sigemptyset(&wanted);
        sigaddset(&wanted, SIGXFSZ);
        while (sigtimedwait(&wanted, NULL, &no_wait) < 0 && errno == EINTR) {
        }
    }
    pthread_sigmask(SIG_SETMASK, &held->before, NULL);
    errno = error;
}

static int write_all(int fd, const uint8_t *bytes, size_t n_bytes, uint64_t at)
{
    while (n_bytes > 0) {
        ssize_t n = pwrite(fd, bytes, n_bytes, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            errno = n == 0 ? ENOSPC : errno;
            return -1;
        }
        bytes += n;
        n_bytes -= (size_t)n;
        at += (uint64_t)n;
    }
    return 0;
}

int output_overwrite(struct output_file *file, uint64_t at, const void *bytes, size_t n_bytes)
{
    struct held_signal held;
    int failed, error;
    if (own_descriptor(file) != 0)
        return -1;
    size_signal_hold(&held);
    failed = write_all(file->fd, bytes, n_bytes, at);
    error = errno;
    size_signal_release(&held, failed ? error : 0);
    return failed;
}

int output_append(struct output_file *file, const void *bytes, size_t n_bytes)
{
    if (output_overwrite(file, file->n_bytes, bytes, n_bytes) != 0) {
        int error = errno;
        /* If even this fails, a reader drops the torn block by its checksum. */
        if (output_truncate(file, file->n_bytes) != 0)
            errno = 0;
        errno = error;
        return -1;
    }
    file->n_bytes += n_bytes;
    return 0;
}

int output_truncate(struct output_file *file, uint64_t n_bytes)
{
    if (own_descriptor(file) != 0 || ftruncate(file->fd, (off_t)n_bytes) != 0)
        return -1;
    file->n_bytes = n_bytes;
    return 0;
}
