/*
 * ring_file.h - the shared file that holds what is recorded but not written: slots for threads.
 *
 * Layout and rules are in format/ring.h. When the file cannot be had (no space, a strange file
 * system) slots come from private memory: then SIGKILL costs what is in them. All functions are
 * called with the capture lock held.
 */
#ifndef PROFTRACE_CAPTURE_RING_FILE_H
#define PROFTRACE_CAPTURE_RING_FILE_H

#include "base/compiler.h"
#include "format/ring.h"

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#define RING_SLOT_BYTES (128u << 10)
#define RING_DICTIONARY_BYTES (256u << 10)

/* A slot that no thread uses; kept in the slot's own memory. */
struct free_slot {
    struct ring_slot head;
    struct free_slot *next;
};

struct ring_file {
    struct ring_header *header;   /* NULL = there is no file: private memory only */
    struct ring_slot *dictionary; /* RING_DICTIONARY_BYTES with its head */
    struct free_slot *free_slots;
    uint64_t n_bytes; /* of the file */
    bool hidden_in_children;
    dev_t device; /* what the path must lead to when the file grows */
    ino_t inode;
    char path[PATH_MAX];
};

/*
 * Creates `<log path>.ring`, replacing one that is there. -1 only when there is no memory at all;
 * ring->header tells whether there is a file. `hidden_in_children`: forked children do not have it
 * mapped, so none must come to use it.
 */
NODISCARD int ring_file_create(struct ring_file *ring, const char *log_path,
                               const uint8_t session_id[SESSION_ID_BYTES], bool hidden_in_children);

/*
 * Takes a slot for a stream: RING_SLOT_BYTES with an empty head. NULL when there is no memory
 * left. *shared tells whether it lies in the file.
 */
NODISCARD struct ring_slot *ring_file_take(struct ring_file *ring, uint32_t stream, bool *shared);
/* Gives an empty slot back. */
void ring_file_give(struct ring_file *ring, struct ring_slot *slot);

/* Empties a slot whose records are in the log: `base_ordinal` of them and its earlier ones. */
void ring_slot_reset(struct ring_slot *slot, uint64_t base_ordinal);

/* Removes the file. Its memory stays. */
void ring_file_remove(struct ring_file *ring);

/*
 * After the end: gives back the memory, but for the slots that threads have. They may be in the
 * middle of a record, so each gives back its own, with ring_slot_free.
 */
void ring_file_release(struct ring_file *ring);
void ring_slot_free(struct ring_slot *slot);

#endif
