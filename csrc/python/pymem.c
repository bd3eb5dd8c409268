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

/* What we have wrapped last, and with what. */
static struct wrapped_domain {
    PyMemAllocatorEx real, ours;
} domains[3]; /* by PyMemAllocatorDomain */

static struct {
    PyObjectArenaAllocator real, ours;
    bool is_in; /* there, or behind one that has been put in front of it */
} arenas;

static void install_domain(PyMemAllocatorDomain domain, enum event_domain ours)
{
    struct wrapped_domain *wrapped = &domains[domain];
    PyMemAllocatorEx now;
    struct capture_allocator real, wrapper;
    PyMem_GetAllocator(domain, &now);
    memcpy(&real, &now, sizeof real);
    if (proftrace_capture_is_wrapped(&real))
        return;
    wrapped->real = now;
    proftrace_capture_wrap_allocator(ours, &real, &wrapper);
    memcpy(&wrapped->ours, &wrapper, sizeof wrapped->ours);
    PyMem_SetAllocator(domain, &wrapped->ours);
}

static void remove_domain(PyMemAllocatorDomain domain)
{
    struct wrapped_domain *wrapped = &domains[domain];
    PyMemAllocatorEx now;
    PyMem_GetAllocator(domain, &now);
    if (wrapped->ours.malloc != NULL && memcmp(&now, &wrapped->ours, sizeof now) == 0)
        PyMem_SetAllocator(domain, &wrapped->real);
}

static void install_arenas(void)
{
    PyObjectArenaAllocator now;
    struct capture_arenas real, wrapper;
    PyObject_GetArenaAllocator(&now);
    if (arenas.is_in && memcmp(&now, &arenas.real, sizeof now) != 0)
        return;
    arenas.real = now;
    memcpy(&real, &now, sizeof real);
    proftrace_capture_wrap_arenas(&real, &wrapper);
    memcpy(&arenas.ours, &wrapper, sizeof arenas.ours);
    PyObject_SetArenaAllocator(&arenas.ours);
    arenas.is_in = true;
}

static void remove_arenas(void)
{
    PyObjectArenaAllocator now;
    if (!arenas.is_in)
        return;
    PyObject_GetArenaAllocator(&now);
    if (memcmp(&now, &arenas.ours, sizeof now) != 0)
        return;
    PyObject_SetArenaAllocator(&arenas.real);
    arenas.is_in = false;
}

void pymem_install(bool with_domains)
{
    (void)pymem_allocator_name();
    install_arenas();
    if (!with_domains)
        return;
    install_domain(PYMEM_DOMAIN_RAW, DOMAIN_RAW);
    install_domain(PYMEM_DOMAIN_MEM, DOMAIN_MEM);
    install_domain(PYMEM_DOMAIN_OBJ, DOMAIN_OBJ);
}

void pymem_remove(void)
{
    remove_domain(PYMEM_DOMAIN_RAW);
    remove_domain(PYMEM_DOMAIN_MEM);
    remove_domain(PYMEM_DOMAIN_OBJ);
    remove_arenas();
}
