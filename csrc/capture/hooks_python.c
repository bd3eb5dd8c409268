/*
 * hooks_python.c - stand-ins for Python's allocators, which the interpreter's side installs.
 *
 * A call is recorded here, at the outermost level, with the size that Python asked for: what the
 * allocator does for it (a malloc for a large object, a mapping for an arena) happens under the
 * guard and is no event of its own. Arenas are the exception: they are recorded wherever they come
 * from, apart from all else.
 *
 * Each domain has functions of its own and ignores the context that it is called with: while
 * Python exchanges the allocator of the raw domain, another thread may see half of it.
 */
#include "capture/guard.h"
#include "capture/recorder.h"

#include <stddef.h>
#include <string.h>

static struct capture_allocator real_domains[4]; /* by enum event_domain */

/* How often the calling thread's calls have gone through without being recorded. */
static TLS_FAST uint32_t n_passed;

#define DOMAINS(X) \
    X(DOMAIN_RAW)  \
    X(DOMAIN_MEM)  \
    X(DOMAIN_OBJ)

#define PYTHON_HOOKS(domain_)                                                                   \
    static void *domain_##_malloc(void *unused, size_t n_bytes)                                 \
    {                                                                                           \
        const struct capture_allocator *real = &real_domains[domain_];                          \
        void *block;                                                                            \
        (void)unused;                                                                           \
        if (!guard_enter_for(CAPTURE_PYTHON_NEW)) {                                             \
            n_passed++;                                                                         \
            return real->malloc(real->ctx, n_bytes);                                            \
        }                                                                                       \
        block = real->malloc(real->ctx, n_bytes);                                               \
        if (likely(block != NULL))                                                              \
            recorder_python_allocated(EVENT_PYMALLOC_MALLOC, domain_, block, n_bytes);          \
        guard_leave();                                                                          \
        return block;                                                                           \
    }                                                                                           \
    static void *domain_##_calloc(void *unused, size_t n, size_t n_bytes)                       \
    {                                                                                           \
        const struct capture_allocator *real = &real_domains[domain_];                          \
        void *block;                                                                            \
        (void)unused;                                                                           \
        if (!guard_enter_for(CAPTURE_PYTHON_NEW))                                               \
            return real->calloc(real->ctx, n, n_bytes);                                         \
        block = real->calloc(real->ctx, n, n_bytes);                                            \
        if (likely(block != NULL))                                                              \
            recorder_python_allocated(EVENT_PYMALLOC_CALLOC, domain_, block, n *n_bytes);       \
        guard_leave();                                                                          \
        return block;                                                                           \
    }                                                                                           \
    static void *domain_##_realloc(void *unused, void *old, size_t n_bytes)                     \
    {                                                                                           \
        const struct capture_allocator *real = &real_domains[domain_];                          \
        void *block;                                                                            \
        (void)unused;                                                                           \
        if (!guard_enter_for(CAPTURE_PYTHON))                                                   \
            return real->realloc(real->ctx, old, n_bytes);                                      \
        if (old != NULL)                                                                        \
            recorder_event(EVENT_PYMALLOC_FREE, old, 0);                                        \
        block = real->realloc(real->ctx, old, n_bytes);                                         \
        if (old != NULL)                                                                        \
            recorder_released(old);                                                             \
        if (unlikely(block == NULL) && old != NULL)                                             \
            recorder_event(EVENT_UNFREE, old, 0); /* it failed; 0 bytes are a size to Python */ \
        else if (block != NULL && capture_takes_new())                                          \
            recorder_python_allocated(EVENT_PYMALLOC_REALLOC, domain_, block, n_bytes);         \
        guard_leave();                                                                          \
        return block;                                                                           \
    }                                                                                           \
    static void domain_##_free(void *unused, void *block)                                       \
    {                                                                                           \
        const struct capture_allocator *real = &real_domains[domain_];                          \
        (void)unused;                                                                           \
        if (block == NULL || !guard_enter_for(CAPTURE_PYTHON)) {                                \
            real->free(real->ctx, block);                                                       \
            return;                                                                             \
        }                                                                                       \
        recorder_event(EVENT_PYMALLOC_FREE, block, 0);                                          \
        real->free(real->ctx, block);                                                           \
        recorder_released(block);                                                               \
        guard_leave();                                                                          \
    }
DOMAINS(PYTHON_HOOKS)

void proftrace_capture_wrap_allocator(enum event_domain domain,
                                      const struct capture_allocator *real,
                                      struct capture_allocator *wrapper)
{
#define WRAPPER(domain_) \
    [domain_] = {NULL, domain_##_malloc, domain_##_calloc, domain_##_realloc, domain_##_free},
    static const struct capture_allocator wrappers[4] = {DOMAINS(WRAPPER)};
    /* Another thread may be inside one: what stays the same is not written. */
    if (memcmp(&real_domains[domain], real, sizeof *real) != 0)
        real_domains[domain] = *real;
    *wrapper = wrappers[domain];
    wrapper->ctx = real->ctx;
}

bool proftrace_capture_is_wrapped(const struct capture_allocator *allocator)
{
    const uintptr_t before = guard_hold();
    const uint32_t n_before = n_passed;
    allocator->free(allocator->ctx, allocator->malloc(allocator->ctx, 1));
    guard_restore(before);
    return n_passed != n_before;
}

/* ---- arenas ------------------------------------------------------------------------------- */

static struct capture_arenas real_arenas;

/* May be called inside a hook of ours, while its real call is going on. */
static void *arena_alloc(void *unused, size_t n_bytes)
{
    uintptr_t before;
    void *arena;
    (void)unused;
    if (!proftrace_capture_is_on())
        return real_arenas.alloc(real_arenas.ctx, n_bytes);
    before = guard_hold();
    arena = real_arenas.alloc(real_arenas.ctx, n_bytes);
    usage_note_arena_bytes(n_bytes);
    if (arena != NULL && capture_takes_new())
        recorder_allocated(EVENT_ARENA, arena, n_bytes);
    guard_restore(before);
    return arena;
}

static void arena_free(void *unused, void *arena, size_t n_bytes)
{
    uintptr_t before;
    (void)unused;
    if (!proftrace_capture_is_on()) {
        real_arenas.free(real_arenas.ctx, arena, n_bytes);
        return;
    }
    before = guard_hold();
    recorder_event(EVENT_MUNMAP, arena, n_bytes);
    real_arenas.free(real_arenas.ctx, arena, n_bytes);
    recorder_released(arena);
    guard_restore(before);
}

void proftrace_capture_wrap_arenas(const struct capture_arenas *real,
                                   struct capture_arenas *wrapper)
{
    real_arenas = *real;
    *wrapper = (struct capture_arenas){real->ctx, arena_alloc, arena_free};
}
