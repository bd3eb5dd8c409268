/*
 * Stands in front of the C library: giving a large block back takes a tenth of a second before
 * anything of it is gone. Which call the program made is all the same.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <stddef.h>
#include <sys/mman.h>
#include <time.h>

#ifndef LARGE
#define LARGE ((size_t)16 << 20)
#endif

static void wait_if_large(size_t n_bytes)
{
    const struct timespec tenth = {.tv_nsec = 100000000};
    if (n_bytes >= LARGE)
        nanosleep(&tenth, NULL);
}

void free(void *block)
{
    static void (*real)(void *);
    if (real == NULL)
        real = (void (*)(void *))dlsym(RTLD_NEXT, "free");
    if (block != NULL)
        wait_if_large(malloc_usable_size(block));
    real(block);
}

void *realloc(void *block, size_t n_bytes)
{
    static void *(*real)(void *, size_t);
    if (real == NULL)
        real = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
    if (block != NULL)
        wait_if_large(malloc_usable_size(block));
    return real(block, n_bytes);
}

int munmap(void *at, size_t n_bytes)
{
    static int (*real)(void *, size_t);
    if (real == NULL)
        real = (int (*)(void *, size_t))dlsym(RTLD_NEXT, "munmap");
    wait_if_large(n_bytes);
    return real(at, n_bytes);
}
