/* arena.c - see arena.h. */
#include "base/arena.h"

#include "base/own_pages.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h> /* syscall */

#define CHUNK_BYTES ((size_t)64 << 10)
#define ALIGNMENT 16

struct arena_chunk {
    struct arena_chunk *older;
    size_t n_bytes;
};

void *raw_mmap(void *at, size_t n_bytes, int protection, int flags, int fd, long offset)
{
    return (void *)syscall(SYS_mmap, at, n_bytes, protection, flags, fd, offset);
}

int raw_munmap(void *at, size_t n_bytes)
{
    return (int)syscall(SYS_munmap, at, n_bytes);
}

void *pages_alloc(size_t n_bytes)
{
    void *at = raw_mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return NULL;
    own_pages_note(at, n_bytes, false);
    return at;
}

void pages_free(void *at, size_t n_bytes)
{
    if (at == NULL)
        return;
    own_pages_forget(at);
    raw_munmap(at, n_bytes);
}

void *pages_grow(void *at, size_t old_bytes, size_t new_bytes)
{
    void *moved;
    if (at == NULL)
        return pages_alloc(new_bytes);
    moved = (void *)syscall(SYS_mremap, at, old_bytes, new_bytes, MREMAP_MAYMOVE, NULL);
    if (moved == MAP_FAILED)
        return NULL;
    own_pages_forget(at);
    own_pages_note(moved, new_bytes, false);
    return moved;
}

void *arena_alloc(struct arena *arena, size_t n_bytes)
{
    void *at;
    n_bytes = (n_bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    if ((size_t)(arena->end - arena->next) < n_bytes) {
        size_t head = (sizeof(struct arena_chunk) + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
        size_t chunk_bytes = CHUNK_BYTES;
        struct arena_chunk *chunk;
        while (chunk_bytes < head + n_bytes)
            chunk_bytes *= 2;
        chunk = pages_alloc(chunk_bytes);
        if (chunk == NULL)
            return NULL;
        chunk->older = arena->newest;
        chunk->n_bytes = chunk_bytes;
        arena->newest = chunk;
        arena->next = (uint8_t *)chunk + head;
        arena->end = (uint8_t *)chunk + chunk_bytes;
        arena->total_bytes += chunk_bytes;
    }
    at = arena->next;
    arena->next += n_bytes;
    return at;
}

void arena_release(struct arena *arena)
{
    struct arena_chunk *chunk = arena->newest;
    while (chunk != NULL) {
        struct arena_chunk *older = chunk->older;
        pages_free(chunk, chunk->n_bytes);
        chunk = older;
    }
    *arena = (struct arena){0};
}
