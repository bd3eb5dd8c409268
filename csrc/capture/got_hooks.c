/* got_hooks.c - see got_hooks.h. */
#include "capture/got_hooks.h"

#include "capture/capture.h"
#include "capture/got_object.h"
#include "capture/guard.h" /* capture_on: an address in this library */
#include "capture/hooks_load.h"
#include "capture/hooks_operators.h"
#include "capture/real.h"

#include <dlfcn.h>
#include <string.h>

/*
 * Hooks by their linker's names: in C, malloc may be a builtin and mmap a macro. The library is
 * linked so that these are its own functions, whoever else defines them.
 */
#define DECLARE_HOOK(type_, name_, parameters_) extern char hook_##name_[] __asm__(#name_);
REAL_FUNCTIONS(DECLARE_HOOK)
#undef DECLARE_HOOK

/* Hooks that call other hooks, and have no real function of their own. */
#define OTHER_HOOKS(X)    \
    X(free_sized)         \
    X(free_aligned_sized) \
    X(execl)              \
    X(execlp)             \
    X(execle)
#define DECLARE_OTHER(name_) extern char hook_##name_[] __asm__(#name_);
OTHER_HOOKS(DECLARE_OTHER)
#undef DECLARE_OTHER

struct got_hook got_hooks[GOT_HOOKS_MOST] = {
#define HOOK(type_, name_, parameters_) \
    {#name_, hook_##name_, (void **)&real.name_, NULL, GOT_HOOK_EXPORTED, false},
    REAL_FUNCTIONS(HOOK)
#undef HOOK
#define HOOK(name_) {#name_, hook_##name_, NULL, NULL, GOT_HOOK_EXPORTED, false},
        OTHER_HOOKS(HOOK)
#undef HOOK
#if GOT_HAS_ENTRIES
#define HOOK(name_) \
    {#name_, load_hook_##name_, (void **)&load_real_##name_, NULL, GOT_HOOK_LOADER, false},
            LOAD_FUNCTIONS(HOOK)
#undef HOOK
#endif
#define HOOK(name_) \
    {#name_, operator_hook_##name_, &operator_real_##name_, NULL, GOT_HOOK_OPERATOR, false},
                NEW_OPERATORS(HOOK) DELETE_OPERATORS(HOOK)
#undef HOOK
};

/* ---- targets ------------------------------------------------------------------------------ */

struct search {
    const char *name;
    uintptr_t found; /* by the loader */
    void *first;     /* definition in the order of loading */
    bool is_defined; /* `found` is a definition */
    bool with_ours;
};

static int look_in_object(struct dl_phdr_info *info, size_t n_bytes, void *data)
{
    struct search *search = data;
    struct got_object object;
    void *own;
    (void)n_bytes;
    if (!got_object_read(info, &object) ||
        (!search->with_ours && got_object_contains(&object, (uintptr_t)&capture_on, 0)))
        return 0;
    own = got_object_find(&object, search->name);
    if (own == NULL)
        return 0;
    if (search->first == NULL)
        search->first = own;
    search->is_defined = search->is_defined || (uintptr_t)own == search->found;
    return search->is_defined;
}

/*
 * In a program at a fixed address, "the address of malloc" may be that of an entry in the program's
 * own procedure table, which leads to us as soon as we have changed it. Then it is the first
 * definition.
 */
static void *find_definition(const char *name, bool with_ours)
{
    struct search search = {
        .name = name, .found = (uintptr_t)dlsym(RTLD_DEFAULT, name), .with_ours = with_ours};
    if (search.found == 0)
        return NULL;
    dl_iterate_phdr(look_in_object, &search);
    return search.is_defined ? (void *)search.found : search.first;
}

static void *target_of(const struct got_hook *hook, bool preloaded)
{
    void *target = preloaded ? dlsym(RTLD_NEXT, hook->name) : find_definition(hook->name, false);
    return target == hook->hook ? NULL : target;
}

/* Whether the loader binds a call by this name to the hook, or to what the hook stands in for. */
static bool is_first_here(const struct got_hook *hook, bool preloaded)
{
    void *first = preloaded ? find_definition(hook->name, true) : hook->target;
    return hook->target != NULL && (first == hook->hook || first == hook->target);
}

/*
 * Whether the operators are the allocator's own, so that no hook of malloc sees what they do: then
 * one library brings both. The C library has no operators and C++'s library no malloc.
 */
static bool has_own_operators(bool preloaded)
{
    Dl_info operators, allocator;
    void *malloc_target = got_hook_named("malloc")->target;
#define LOOK(name_)                                           \
    if (target_of(got_hook_named(#name_), preloaded) == NULL) \
        return false;
    NEW_OPERATORS(LOOK)
#undef LOOK
    return malloc_target != NULL && dladdr(malloc_target, &allocator) != 0 &&
           dladdr(target_of(got_hook_named("_Znwm"), preloaded), &operators) != 0 &&
           operators.dli_fbase == allocator.dli_fbase;
}

static void resolve_kind(enum got_hook_kind kind, bool preloaded)
{
    for (struct got_hook *hook = got_hooks; hook->name != NULL; hook++) {
        if (hook->kind != kind)
            continue;
        hook->target = target_of(hook, preloaded);
        if (hook->target != NULL && hook->real != NULL)
            *hook->real = hook->target;
        hook->is_first = is_first_here(hook, preloaded);
    }
}

void got_hooks_resolve(bool preloaded)
{
    resolve_kind(GOT_HOOK_EXPORTED, preloaded);
    resolve_kind(GOT_HOOK_LOADER, preloaded);
    if (has_own_operators(preloaded))
        resolve_kind(GOT_HOOK_OPERATOR, preloaded);
}

/* ---- names -------------------------------------------------------------------------------- */

/* Most names that are asked for are none of ours: two characters tell. */
static uint64_t bit_of(const char *name)
{
    return 1ull << (((uint8_t)name[0] * 7u + (name[0] == '\0' ? 0 : (uint8_t)name[1])) & 63);
}

struct got_hook *got_hook_named(const char *name)
{
    static uint64_t first_characters; /* atomic */
    uint64_t known = __atomic_load_n(&first_characters, __ATOMIC_RELAXED);
    if (unlikely(known == 0)) {
        for (const struct got_hook *hook = got_hooks; hook->name != NULL; hook++)
            known |= bit_of(hook->name);
        __atomic_store_n(&first_characters, known, __ATOMIC_RELAXED);
    }
    if ((known & bit_of(name)) == 0)
        return NULL;
    for (struct got_hook *hook = got_hooks; hook->name != NULL; hook++) {
        if (hook->name[0] == name[0] && strcmp(hook->name, name) == 0)
            return hook;
    }
    return NULL;
}

void *proftrace_capture_hook_of(const void *function)
{
    for (const struct got_hook *hook = got_hooks; hook->name != NULL && function != NULL; hook++) {
        if (hook->target == function)
            return hook->hook;
    }
    return NULL;
}
