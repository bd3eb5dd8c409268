/* pymem.c - see pymem.h. */
#include "python/pymem.h"

#include "capture/capture.h"
#include "python/compat.h"

#include <dlfcn.h>
#include <string.h>

/* The two sides have a struct each, so that the library needs no Python.h; they are the same. */
_Static_assert(sizeof(struct capture_allocator) == sizeof(PyMemAllocatorEx), "five words");
_Static_assert(offsetof(struct capture_allocator, free) == offsetof(PyMemAllocatorEx, free),
               "in the same order");
_Static_assert(sizeof(struct capture_arenas) == sizeof(PyObjectArenaAllocator), "three words");
_Static_assert(offsetof(struct capture_arenas, free) == offsetof(PyObjectArenaAllocator, free),
               "in the same order");

static const char *current_name(void)
{
    const char *(*get)(void) =
        (const char *(*)(void))(uintptr_t)dlsym(RTLD_DEFAULT, "_PyMem_GetCurrentAllocatorName");
    const char *name = get == NULL ? NULL : get();
    return name == NULL ? "" : name;
}

/* Asked once, before our own hooks make the answer "unknown". */
const char *pymem_allocator_name(void)
{
    static const char *name;
    if (name == NULL)
        name = current_name();
    return name;
}

bool pymem_is_apart(void)
{
    return COMPAT_IS_FREE_THREADED || strncmp(pymem_allocator_name(), "mimalloc", 8) == 0;
}

static void install_domain(PyMemAllocatorDomain domain, enum event_domain ours)
{
    PyMemAllocatorEx allocator;
    struct capture_allocator real, wrapper;
    PyMem_GetAllocator(domain, &allocator);
    memcpy(&real, &allocator, sizeof real);
    proftrace_capture_wrap_allocator(ours, &real, &wrapper);
    memcpy(&allocator, &wrapper, sizeof allocator);
    PyMem_SetAllocator(domain, &allocator);
}

static void install_arenas(void)
{
    PyObjectArenaAllocator allocator;
    struct capture_arenas real, wrapper;
    PyObject_GetArenaAllocator(&allocator);
    memcpy(&real, &allocator, sizeof real);
    proftrace_capture_wrap_arenas(&real, &wrapper);
    memcpy(&allocator, &wrapper, sizeof allocator);
    PyObject_SetArenaAllocator(&allocator);
}

void pymem_install(bool domains)
{
    static bool has_arenas, has_domains;
    (void)pymem_allocator_name();
    if (!has_arenas)
        install_arenas();
    has_arenas = true;
    if (!domains || has_domains)
        return;
    install_domain(PYMEM_DOMAIN_RAW, DOMAIN_RAW);
    install_domain(PYMEM_DOMAIN_MEM, DOMAIN_MEM);
    install_domain(PYMEM_DOMAIN_OBJ, DOMAIN_OBJ);
    has_domains = true;
}
