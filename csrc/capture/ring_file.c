/* ring_file.c - see ring_file.h. */
#include "capture/ring_file.h"

#include "base/arena.h" /* pages, raw_mmap */
#include "base/own_pages.h"
#include "capture/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h> /* snprintf */
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST_SLOTS 8u
#define MOST_NEW_SLOTS 64u

/* Bytes that are really there: a write to a hole on a full disk would be SIGBUS. */
static int allocate(int fd, uint64_t at, uint64_t n_bytes)
{
    struct held_signal held;
    int error;
    size_signal_hold(&held);
    error = posix_fallocate(fd, (off_t)at, (off_t)n_bytes);
    size_signal_release(&held, error);
    return error == 0 ? 0 : -1;
}

/* Makes the file longer and maps the new part. NULL: it stays as it is. */
static void *extend(struct ring_file *ring, int fd, uint64_t n_bytes)
{
    void *at;
    if (allocate(fd, ring->n_bytes, n_bytes) != 0)
        return NULL;
    at = raw_mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (long)ring->n_bytes);
    if (at == MAP_FAILED)
        return NULL;
    /* Where a child gets that far, it may not write to its parent's records. */
    if (ring->hidden_in_children)
        (void)madvise(at, n_bytes, MADV_DONTFORK);
    ring->n_bytes += n_bytes;
    return at;
}

static void add_free_slots(struct ring_file *ring, void *memory, uint32_t n)
{
    for (uint32_t i = n; i-- > 0;) {
        struct free_slot *slot = (struct free_slot *)((uint8_t *)memory + i * RING_SLOT_BYTES);
        own_pages_note(slot, RING_SLOT_BYTES, true);
        slot->next = ring->free_slots;
        ring->free_slots = slot;
    }
}

static int create_file(struct ring_file *ring, const uint8_t session_id[SESSION_ID_BYTES])
{
    const uint64_t n_bytes =
        RING_HEADER_BYTES + RING_DICTIONARY_BYTES + FIRST_SLOTS * RING_SLOT_BYTES;
    struct stat there;
    uint8_t *memory = NULL;
    int fd;
    unlink(ring->path); /* not truncated: another process may have it mapped */
    fd = open(ring->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return -1;
    if (fstat(fd, &there) == 0)
        memory = extend(ring, fd, n_bytes);
    close(fd);
    if (memory == NULL) {
        unlink(ring->path);
        return -1;
    }
    ring->device = there.st_dev;
    ring->inode = there.st_ino;
    own_pages_note(memory, RING_HEADER_BYTES + RING_DICTIONARY_BYTES, true);
    ring->header = (struct ring_header *)memory;
    ring->dictionary = (struct ring_slot *)(memory + RING_HEADER_BYTES);
    add_free_slots(ring, memory + RING_HEADER_BYTES + RING_DICTIONARY_BYTES, FIRST_SLOTS);
    memcpy(ring->header->session_id, session_id, SESSION_ID_BYTES);
    ring->header->dict_bytes = RING_DICTIONARY_BYTES;
    ring->header->slot_bytes = RING_SLOT_BYTES;
    ring->header->n_slots = FIRST_SLOTS;
    COMPILER_BARRIER(); /* the magic last: it says that the rest is there */
    memcpy(ring->header->magic, RING_MAGIC, sizeof ring->header->magic);
    return 0;
}

int ring_file_create(struct ring_file *ring, const char *log_path,
                     const uint8_t session_id[SESSION_ID_BYTES], bool hidden_in_children)
{
    int n;
    *ring = (struct ring_file){.hidden_in_children = hidden_in_children};
    n = snprintf(ring->path, sizeof ring->path, "%s.ring", log_path);
    if (n > 0 && (size_t)n < sizeof ring->path && create_file(ring, session_id) == 0)
        return 0;
    ring->header = NULL;
    ring->n_bytes = 0;
    ring->dictionary = pages_alloc(RING_DICTIONARY_BYTES);
    return ring->dictionary == NULL ? -1 : 0;
}

/* Adds slots to the file: as many as there are, so that the count of mappings stays small. */
static int grow_file(struct ring_file *ring)
{
    uint32_t n = ring->header->n_slots < MOST_NEW_SLOTS ? ring->header->n_slots : MOST_NEW_SLOTS;
    struct stat there;
    void *memory = NULL;
    int fd = open(ring->path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return -1;
    if (fstat(fd, &there) == 0 && there.st_dev == ring->device && there.st_ino == ring->inode)
        memory = extend(ring, fd, (uint64_t)n * RING_SLOT_BYTES);
    close(fd);
    if (memory == NULL)
        return -1;
    add_free_slots(ring, memory, n);
    __atomic_store_n(&ring->header->n_slots, ring->header->n_slots + n, __ATOMIC_RELEASE);
    return 0;
}

static bool slot_is_in_file(const struct ring_file *ring, const struct ring_slot *slot)
{
    return ring->header != NULL && slot->unused == 0;
}

struct ring_slot *ring_file_take(struct ring_file *ring, uint32_t stream, bool *shared)
{
    struct free_slot *taken = ring->free_slots;
    if (taken == NULL && ring->header != NULL && grow_file(ring) == 0)
        taken = ring->free_slots;
    if (taken != NULL) {
        ring->free_slots = taken->next;
    } else {
        taken = pages_alloc(RING_SLOT_BYTES);
        if (taken == NULL)
            return NULL;
        taken->head.unused = 1; /* private: its `unused` word says so */
    }
    taken->head.version++;
    COMPILER_BARRIER();
    taken->head.stream = stream;
    taken->head.base_ordinal = 0;
    taken->head.committed_bytes = 0;
    taken->head.used = 1;
    COMPILER_BARRIER();
    taken->head.version++;
    *shared = slot_is_in_file(ring, &taken->head);
    return &taken->head;
}

void ring_file_give(struct ring_file *ring, struct ring_slot *slot)
{
    struct free_slot *given = (struct free_slot *)slot;
    slot->used = 0;
    COMPILER_BARRIER();
    given->next = ring->free_slots;
    ring->free_slots = given;
}

void ring_slot_reset(struct ring_slot *slot, uint64_t base_ordinal)
{
    slot->version++;
    COMPILER_BARRIER();
    slot->base_ordinal = base_ordinal;
    __atomic_store_n(&slot->committed_bytes, 0, __ATOMIC_RELAXED);
    COMPILER_BARRIER();
    slot->version++;
}

void ring_file_remove(struct ring_file *ring)
{
    struct stat there;
    if (ring->header != NULL && lstat(ring->path, &there) == 0 && there.st_dev == ring->device &&
        there.st_ino == ring->inode)
        unlink(ring->path);
}

void ring_slot_free(struct ring_slot *slot)
{
    own_pages_forget(slot);
    raw_munmap(slot, RING_SLOT_BYTES);
}

void ring_file_release(struct ring_file *ring)
{
    while (ring->free_slots != NULL) {
        struct free_slot *slot = ring->free_slots;
        ring->free_slots = slot->next;
        ring_slot_free(&slot->head);
    }
    if (ring->header != NULL) {
        own_pages_forget(ring->header);
        raw_munmap(ring->header, RING_HEADER_BYTES + RING_DICTIONARY_BYTES);
    } else {
        pages_free(ring->dictionary, RING_DICTIONARY_BYTES);
    }
    ring->header = NULL;
    ring->dictionary = NULL;
}
