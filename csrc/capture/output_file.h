/*
 * output_file.h - the log as a file: created beside its place, put there in one step, and written
 * only through a descriptor that is proven to be ours.
 *
 * Programs close descriptors that they did not open (daemons, closerange); then the number may
 * belong to a file of theirs. So each write checks device and inode first and opens again if need
 * be. Not thread-safe. Functions return -1 with errno set.
 */
#ifndef PROFTRACE_CAPTURE_OUTPUT_FILE_H
#define PROFTRACE_CAPTURE_OUTPUT_FILE_H

#include "base/compiler.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <signal.h>
#include <sys/types.h>

struct output_file {
    int fd; /* owned, -1 = closed */
    dev_t device;
    ino_t inode;
    uint64_t n_bytes;    /* written: where the next append goes */
    char path[PATH_MAX]; /* where it can be opened again */
};

/* Creates an empty file in the folder of `target`, under a name of its own. */
NODISCARD int output_create(struct output_file *file, const char *target);

/*
 * Gives the file its name. Without `replace` a file that is there stays and this fails with
 * EEXIST; with it, it is replaced in one step. What is not a regular file is never replaced.
 */
NODISCARD int output_publish(struct output_file *file, const char *target, bool replace);

/* Appends all of it or, as far as the file system allows, nothing. */
NODISCARD int output_append(struct output_file *file, const void *bytes, size_t n_bytes);

/* Writes over bytes that are in the file already. */
NODISCARD int output_overwrite(struct output_file *file, uint64_t at, const void *bytes,
                               size_t n_bytes);

/* Cuts what was appended last. */
NODISCARD int output_truncate(struct output_file *file, uint64_t n_bytes);

void output_close(struct output_file *file);
/* Closes, and removes the file under whatever name it has. */
void output_discard(struct output_file *file);

/* Moves a descriptor out of the way of the program's own; always close-on-exec. */
int output_move_high(int fd);

/*
 * A write over the file size limit raises SIGXFSZ, which would end the program: held back between
 * these two, and dropped if it was ours (`error` is the errno of the call in between).
 */
struct held_signal {
    sigset_t before;
    bool was_pending;
};
void size_signal_hold(struct held_signal *held);
void size_signal_release(const struct held_signal *held, int error);

#endif
