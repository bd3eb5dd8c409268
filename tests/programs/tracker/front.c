/*
 * front.c - an allocator in front of the C library's, as jemalloc is when it is preloaded. It marks
 * its blocks, and ends the process when it is given one that is not its own.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MARK 0x5151515151515151u

struct head {
    uint64_t mark;
    uint64_t size;
};

static void *(*next_malloc)(size_t n_bytes);
static void (*next_free)(void *block);
static char early[1 << 16]; /* what dlsym allocates */
static size_t early_used;

static void find_next(void)
{
    if (next_malloc != NULL)
        return;
    next_free = dlsym(RTLD_NEXT, "free");
    next_malloc = dlsym(RTLD_NEXT, "malloc");
}

static void *marked(struct head *head, size_t n_bytes)
{
    if (head == NULL)
        return NULL;
    *head = (struct head){MARK, n_bytes};
    return head + 1;
}

static struct head *own(void *block)
{
    struct head *head = (struct head *)block - 1;
    if (head->mark != MARK)
        __builtin_trap();
    return head;
}

void *malloc(size_t n_bytes)
{
    find_next();
    return marked(next_malloc(n_bytes + sizeof(struct head)), n_bytes);
}

void free(void *block)
{
    struct head *head;
    if (block == NULL || ((char *)block >= early && (char *)block < early + sizeof early))
        return;
    head = own(block);
    head->mark = 0;
    next_free(head);
}

void *calloc(size_t n, size_t n_bytes)
{
    void *block;
    if (next_malloc == NULL) {
        struct head *head = (struct head *)(early + early_used);
        early_used += (n * n_bytes + sizeof *head + 15) & ~(size_t)15;
        return marked(head, n * n_bytes);
    }
    block = malloc(n * n_bytes);
    return block == NULL ? NULL : memset(block, 0, n * n_bytes);
}

void *realloc(void *old, size_t n_bytes)
{
    void *block = malloc(n_bytes);
    if (old != NULL && block != NULL) {
        const size_t kept = own(old)->size;
        memcpy(block, old, kept < n_bytes ? kept : n_bytes);
        free(old);
    }
    return block;
}

int posix_memalign(void **block, size_t alignment, size_t n_bytes)
{
    (void)alignment;
    *block = malloc(n_bytes);
    return 0;
}
