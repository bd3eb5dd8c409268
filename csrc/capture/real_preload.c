/* real_preload.c - real.h for a preloaded library: dlsym(RTLD_NEXT), and memory until it answers.
 */
#include "capture/real.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#define BOOTSTRAP_ALIGNMENT 16

/* In front of each bootstrap block: how large it is. */
struct bootstrap_head {
    size_t n_bytes;
    size_t unused;
};

_Alignas(BOOTSTRAP_ALIGNMENT) uint8_t bootstrap[BOOTSTRAP_BYTES];
static size_t bootstrap_used;
static bool resolving;

/* Single-threaded: only dlsym's own first calls end here. The memory is zero. */
static void *bootstrap_alloc(size_t n_bytes)
{
    struct bootstrap_head *head = (struct bootstrap_head *)(bootstrap + bootstrap_used);
    size_t left = BOOTSTRAP_BYTES - bootstrap_used;
    if (n_bytes > left || sizeof *head > left - n_bytes) {
        errno = ENOMEM;
        return NULL;
    }
    head->n_bytes = n_bytes;
    n_bytes = (n_bytes + BOOTSTRAP_ALIGNMENT - 1) & ~(size_t)(BOOTSTRAP_ALIGNMENT - 1);
    bootstrap_used += sizeof *head + n_bytes;
    if (bootstrap_used > BOOTSTRAP_BYTES)
        bootstrap_used = BOOTSTRAP_BYTES;
    return head + 1;
}

void *bootstrap_move(const void *block, size_t n_bytes)
{
    const struct bootstrap_head *head = (const struct bootstrap_head *)block - 1;
    void *moved = real.malloc(n_bytes);
    if (moved != NULL)
        memcpy(moved, block, head->n_bytes < n_bytes ? head->n_bytes : n_bytes);
    return moved;
}

/* ---- what the pointers lead to at first ---------------------------------------------------- */

static void *first_malloc(size_t n_bytes)
{
    return real_resolve() ? real.malloc(n_bytes) : bootstrap_alloc(n_bytes);
}

static void *first_calloc(size_t n, size_t n_bytes)
{
    size_t total;
    if (real_resolve())
        return real.calloc(n, n_bytes);
    if (__builtin_mul_overflow(n, n_bytes, &total)) {
        errno = ENOMEM;
        return NULL;
    }
    return bootstrap_alloc(total);
}

static void *first_realloc(void *block, size_t n_bytes)
{
    void *moved;
    size_t kept;
    if (real_resolve())
        return bootstrap_owns(block) ? bootstrap_move(block, n_bytes)
                                     : real.realloc(block, n_bytes);
    moved = bootstrap_alloc(n_bytes);
    if (moved == NULL || block == NULL)
        return moved;
    kept = ((const struct bootstrap_head *)block - 1)->n_bytes;
    return memcpy(moved, block, kept < n_bytes ? kept : n_bytes);
}

static void first_free(void *block)
{
    if (real_resolve() && !bootstrap_owns(block))
        real.free(block);
}

struct real_functions real = {
    .malloc = first_malloc,
    .calloc = first_calloc,
    .realloc = first_realloc,
    .free = first_free,
};

bool real_resolve(void)
{
    if (resolving)
        return false;
    resolving = true;
    struct real_functions found;
#define REAL_FIND(type_, name_, parameters_) found.name_ = dlsym(RTLD_NEXT, #name_);
    REAL_FUNCTIONS(REAL_FIND)
#undef REAL_FIND
    real = found;
    resolving = false;
    return true;
}

/*
 * The constructor comes before the program's first thread, so a later call finds all pointers
 * set; earlier callers (other libraries' constructors) resolve through the four above.
 */
__attribute__((constructor(101))) static void resolve_at_load(void)
{
    if (real.mmap == NULL)
        (void)real_resolve();
}
