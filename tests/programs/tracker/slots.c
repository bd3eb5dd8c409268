/*
 * slots.c - a library that reaches malloc and mmap in every way there is. Each function allocates
 * the number of bytes it is told, so that the tests know them by their sizes.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef void *(*allocate_fn)(size_t n_bytes);

static allocate_fn pointer_in_data = malloc;
static const allocate_fn pointer_in_constants = malloc;

#ifdef AT_LOAD
static void *at_load;
__attribute__((constructor)) static void load(void)
{
    at_load = malloc(AT_LOAD);
}
#endif

void *by_call(size_t n_bytes)
{
    return malloc(n_bytes);
}

void *by_pointer(size_t n_bytes)
{
    return (*(volatile allocate_fn *)&pointer_in_data)(n_bytes);
}

void *by_constant(size_t n_bytes)
{
    return (*(volatile const allocate_fn *)&pointer_in_constants)(n_bytes);
}

void *by_name(size_t n_bytes)
{
    return ((allocate_fn)dlsym(RTLD_DEFAULT, "malloc"))(n_bytes);
}

void *by_next(size_t n_bytes)
{
    return ((allocate_fn)dlsym(RTLD_NEXT, "malloc"))(n_bytes);
}

void *by_version(size_t n_bytes)
{
    void *library = dlopen("libc.so.6", RTLD_LAZY);
    void *found = dlvsym(library, "malloc", VERSION);
    void *block = ((allocate_fn)found)(n_bytes);
    dlclose(library);
    return block;
}

/* A pointer that the program has got and kept. */
static allocate_fn kept;
void keep(void)
{
    kept = (allocate_fn)dlsym(RTLD_DEFAULT, "malloc");
}

void *by_kept(size_t n_bytes)
{
    return kept(n_bytes);
}

void *by_mapping(size_t n_bytes)
{
    return mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* The C library's own call. */
void *by_library(size_t n_bytes)
{
    char *text = malloc(n_bytes), *copy;
    memset(text, 'x', n_bytes - 1);
    text[n_bytes - 1] = 0;
    copy = strdup(text);
    free(text);
    return copy;
}

/* With `new_space` as 1: in a list of objects of its own. */
void *by_other(const char *path, int new_space, size_t n_bytes)
{
    void *library = new_space ? dlmopen(LM_ID_NEWLM, path, RTLD_NOW) : dlopen(path, RTLD_NOW);
    allocate_fn call = (allocate_fn)dlsym(library, "by_call");
    return call(n_bytes);
}

void give_back(void *block)
{
    free(block);
}
