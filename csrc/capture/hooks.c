/*
 * hooks.c - the functions that stand in for the C library's allocators.
 *
 * What is recorded, and why, is in docs/internals/capture-rules.md. Each is the same three steps:
 * guard, real call, record; a free is recorded before the real call, since after it another thread
 * may be given the address. malloc and free come first: they are what must be fast.
 */
#include "capture/guard.h"
#include "capture/maps.h"
#include "capture/real.h"
#include "capture/recorder.h"

#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4 /* Linux 5.7 */
#endif

EXPORT void *malloc(size_t n_bytes)
{
    void *block;
    if (!guard_enter_for(CAPTURE_NEW))
        return real.malloc(n_bytes);
    block = real.malloc(n_bytes);
    if (likely(block != NULL))
        recorder_allocated(EVENT_MALLOC, block, n_bytes);
    guard_leave();
    return block;
}

EXPORT void free(void *block)
{
    if (block == NULL || unlikely(bootstrap_owns(block)))
        return;
    if (!guard_enter()) {
        real.free(block);
        return;
    }
    recorder_event(EVENT_FREE, block, 0);
    real.free(block);
    recorder_released(block);
    guard_leave();
}

EXPORT void *calloc(size_t n, size_t n_bytes)
{
    void *block;
    if (!guard_enter_for(CAPTURE_NEW))
        return real.calloc(n, n_bytes);
    block = real.calloc(n, n_bytes);
    if (likely(block != NULL))
        recorder_allocated(EVENT_CALLOC, block, n * n_bytes);
    guard_leave();
    return block;
}

/* The old block goes before the call and the new one comes after it. */
static void record_resized(void *old, void *block, size_t n_bytes)
{
    if (old != NULL)
        recorder_released(old);
    if (block != NULL) {
        if (capture_takes_new())
            recorder_allocated(EVENT_REALLOC, block, n_bytes);
    } else if (old != NULL && n_bytes != 0) {
        recorder_event(EVENT_UNFREE, old, 0); /* it failed, and the old block is still there */
    }
}

EXPORT void *realloc(void *old, size_t n_bytes)
{
    void *block;
    if (unlikely(bootstrap_owns(old)))
        return bootstrap_move(old, n_bytes);
    if (!guard_enter())
        return real.realloc(old, n_bytes);
    if (old != NULL)
        recorder_event(EVENT_FREE, old, 0);
    block = real.realloc(old, n_bytes);
    record_resized(old, block, n_bytes);
    guard_leave();
    return block;
}

/* C libraries without one of the functions below never call it; programs find out as ever. */
static void *missing(void)
{
    errno = ENOSYS;
    return NULL;
}

EXPORT void *reallocarray(void *old, size_t n, size_t n_bytes)
{
    void *block;
    size_t total;
    if (real.reallocarray == NULL && !(real_resolve() && real.reallocarray != NULL))
        return missing();
    if (__builtin_mul_overflow(n, n_bytes, &total))
        total = SIZE_MAX; /* the call fails, and frees nothing */
    if (unlikely(bootstrap_owns(old)))
        return bootstrap_move(old, total);
    if (!guard_enter())
        return real.reallocarray(old, n, n_bytes);
    if (old != NULL)
        recorder_event(EVENT_FREE, old, 0);
    block = real.reallocarray(old, n, n_bytes);
    record_resized(old, block, total);
    guard_leave();
    return block;
}

EXPORT int posix_memalign(void **out, size_t alignment, size_t n_bytes)
{
    int error;
    if (real.posix_memalign == NULL && !(real_resolve() && real.posix_memalign != NULL))
        return ENOMEM;
    if (!guard_enter_for(CAPTURE_NEW))
        return real.posix_memalign(out, alignment, n_bytes);
    error = real.posix_memalign(out, alignment, n_bytes);
    if (error == 0)
        recorder_allocated(EVENT_POSIX_MEMALIGN, *out, n_bytes);
    guard_leave();
    return error;
}

/* X(name, kind, parameters, arguments): an address or NULL comes back, n_bytes were asked for. */
#define PLAIN_ALLOCATORS(X)                                                               \
    X(aligned_alloc, EVENT_ALIGNED_ALLOC, (size_t alignment, size_t n_bytes),             \
      (alignment, n_bytes))                                                               \
    X(memalign, EVENT_MEMALIGN, (size_t alignment, size_t n_bytes), (alignment, n_bytes)) \
    X(valloc, EVENT_VALLOC, (size_t n_bytes), (n_bytes))                                  \
    X(pvalloc, EVENT_PVALLOC, (size_t n_bytes), (n_bytes))

#define PLAIN_HOOK(name_, kind_, parameters_, arguments_)                  \
    EXPORT void *name_ parameters_;                                        \
    EXPORT void *name_ parameters_                                         \
    {                                                                      \
        void *block;                                                       \
        if (real.name_ == NULL && !(real_resolve() && real.name_ != NULL)) \
            return missing();                                              \
        if (!guard_enter_for(CAPTURE_NEW))                                 \
            return real.name_ arguments_;                                  \
        block = real.name_ arguments_;                                     \
        if (block != NULL)                                                 \
            recorder_allocated(kind_, block, n_bytes);                     \
        guard_leave();                                                     \
        return block;                                                      \
    }
PLAIN_ALLOCATORS(PLAIN_HOOK)

/* C23; both may be given any block that free may be given. */
EXPORT void free_sized(void *block, size_t n_bytes);
EXPORT void free_sized(void *block, size_t n_bytes)
{
    (void)n_bytes;
    free(block);
}

EXPORT void free_aligned_sized(void *block, size_t alignment, size_t n_bytes);
EXPORT void free_aligned_sized(void *block, size_t alignment, size_t n_bytes)
{
    (void)alignment;
    (void)n_bytes;
    free(block);
}

/* ---- mappings ----------------------------------------------------------------------------- */

/* Memory that a file stands behind is not the heap's: it costs no more than the file's cache. */
static bool counts_as_memory(int flags, int fd)
{
    return ((flags & MAP_ANONYMOUS) != 0 || fd < 0) && capture_takes_new();
}

/* MAP_FIXED takes away what was there, to the page. */
static bool replaces(int flags)
{
    return (flags & MAP_FIXED) != 0;
}

#define MMAP_HOOK(name_, offset_type_)                                                             \
    EXPORT void *name_(void *at, size_t n_bytes, int prot, int flags, int fd, offset_type_ offset) \
    {                                                                                              \
        void *range;                                                                               \
        if (real.name_ == NULL && !(real_resolve() && real.name_ != NULL))                         \
            return errno = ENOSYS, MAP_FAILED;                                                     \
        if (!guard_enter())                                                                        \
            return real.name_(at, n_bytes, prot, flags, fd, offset);                               \
        if (replaces(flags))                                                                       \
            recorder_event(EVENT_MUNMAP, at, n_bytes);                                             \
        range = real.name_(at, n_bytes, prot, flags, fd, offset);                                  \
        if (range == MAP_FAILED && replaces(flags))                                                \
            recorder_event(EVENT_UNFREE, at, 0);                                                   \
        else if (range != MAP_FAILED && counts_as_memory(flags, fd))                               \
            recorder_allocated(EVENT_MMAP, range, n_bytes);                                        \
        guard_leave();                                                                             \
        return range;                                                                              \
    }
MMAP_HOOK(mmap, off_t)
#undef mmap64
MMAP_HOOK(mmap64, off64_t)

EXPORT int munmap(void *at, size_t n_bytes)
{
    int failed;
    if (real.munmap == NULL && !(real_resolve() && real.munmap != NULL))
        return errno = ENOSYS, -1;
    if (!guard_enter())
        return real.munmap(at, n_bytes);
    recorder_event(EVENT_MUNMAP, at, n_bytes);
    failed = real.munmap(at, n_bytes);
    recorder_released(at);
    if (failed)
        recorder_event(EVENT_UNFREE, at, 0);
    guard_leave();
    return failed;
}

/*
 * A resize: whoever does it owns the whole new range. Not every call takes the old one away: from a
 * length of 0 a shared mapping gets a second place, and MREMAP_DONTUNMAP only moves the contents.
 * What was at the wanted place goes when the call has succeeded. The place is this caller's from
 * then on, so no other thread's event can come between, and a failure leaves nothing to undo.
 */
EXPORT void *mremap(void *old, size_t old_bytes, size_t n_bytes, int flags, ...)
{
    const bool leaves_old = old_bytes == 0 || (flags & MREMAP_DONTUNMAP) != 0;
    bool counted;
    void *range, *wanted = NULL;
    va_list rest;
    va_start(rest, flags);
    if (flags & MREMAP_FIXED)
        wanted = va_arg(rest, void *);
    va_end(rest);
    if (real.mremap == NULL && !(real_resolve() && real.mremap != NULL))
        return errno = ENOSYS, MAP_FAILED;
    if (!guard_enter())
        return real.mremap(old, old_bytes, n_bytes, flags, wanted);
    counted = maps_is_anonymous(old);
    if (!leaves_old)
        recorder_event(EVENT_MUNMAP, old, old_bytes);
    range = real.mremap(old, old_bytes, n_bytes, flags, wanted);
    if (!leaves_old)
        recorder_released(old);
    if (range == MAP_FAILED && !leaves_old)
        recorder_event(EVENT_UNFREE, old, 0);
    if (range != MAP_FAILED && (flags & MREMAP_FIXED))
        recorder_event(EVENT_MUNMAP, wanted, n_bytes);
    if (range != MAP_FAILED && counted && capture_takes_new())
        recorder_allocated(EVENT_MMAP, range, n_bytes);
    guard_leave();
    return range;
}
