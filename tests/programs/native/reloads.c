/*
 * To be preloaded: a dlclose that loads a library, as another thread may do, when the old one has
 * gone and its caller does not know yet.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

static const char *next_library, *next_function;
static size_t next_size;

/* The next dlclose calls a function of a library with a size. */
void reload_at_close(const char *library, const char *function, size_t size)
{
    next_library = library;
    next_function = function;
    next_size = size;
}

int dlclose(void *handle)
{
    int (*close_it)(void *) = (int (*)(void *))dlsym(RTLD_NEXT, "dlclose");
    int failed = close_it(handle);
    if (next_library != NULL) {
        void *library = dlopen(next_library, RTLD_NOW);
        void *(*function)(size_t) = (void *(*)(size_t))dlsym(library, next_function);
        next_library = NULL;
        function(next_size);
    }
    return failed;
}
