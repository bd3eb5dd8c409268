/*
 * hooks_load.c - see hooks_load.h.
 *
 * What these functions do depends on who calls them: dlopen looks for a name along the caller's own
 * search path, RTLD_NEXT starts behind the caller. So each hook decides with the caller's address:
 * where that matters the real function is entered by a jump and sees the caller; everywhere else it
 * is called from here, and its answer looked at.
 */
#include "capture/hooks_load.h"

#include "capture/got_hooks.h"
#include "capture/got_object.h"
#include "capture/gotpatch.h"
#include "capture/guard.h"

#include <dlfcn.h>
#include <string.h>

#if GOT_HAS_ENTRIES

INTERNAL void *load_real_dlopen, *load_real_dlmopen, *load_real_dlsym, *load_real_dlvsym;

INTERNAL struct got_answer load_decide_dlopen(const char *file, int mode, void *unused,
                                              void *caller);
INTERNAL struct got_answer load_decide_dlmopen(Lmid_t space, const char *file, int mode,
                                               void *caller);
INTERNAL struct got_answer load_decide_dlsym(void *handle, const char *name, void *unused,
                                             void *caller);
INTERNAL struct got_answer load_decide_dlvsym(void *handle, const char *name, const char *version,
                                              void *caller);

GOT_ENTRY(load_hook_dlopen, load_decide_dlopen, load_real_dlopen);
GOT_ENTRY(load_hook_dlmopen, load_decide_dlmopen, load_real_dlmopen);
GOT_ENTRY(load_hook_dlsym, load_decide_dlsym, load_real_dlsym);
GOT_ENTRY(load_hook_dlvsym, load_decide_dlvsym, load_real_dlvsym);

#ifndef RTLD_DEEPBIND
#define RTLD_DEEPBIND 0
#endif

static const struct got_answer no_answer;

static struct got_answer answer(void *value)
{
    return (struct got_answer){value, 1};
}

/* ---- loading ------------------------------------------------------------------------------ */

struct path_search {
    uintptr_t caller;
    bool matters;
};

static int see_search_path(struct dl_phdr_info *info, size_t n_bytes, void *data)
{
    struct path_search *search = data;
    struct got_object object;
    (void)n_bytes;
    if (got_object_read(info, &object) &&
        (object.has_rpath ||
         (object.has_search_path && got_object_contains(&object, search->caller, 0))))
        search->matters = true;
    return search->matters;
}

/*
 * A path is a path whoever asks, and a mere name is looked for in the same places, unless an object
 * says where else.
 */
static bool caller_matters(const char *file, void *caller)
{
    struct path_search search = {.caller = (uintptr_t)caller};
    uintptr_t before;
    if (file == NULL || strchr(file, '$') != NULL)
        return true;
    if (strchr(file, '/') != NULL)
        return false;
    before = guard_hold();
    dl_iterate_phdr(see_search_path, &search);
    guard_restore(before);
    return search.matters;
}

struct got_answer load_decide_dlopen(const char *file, int mode, void *unused, void *caller)
{
    void *(*load)(const char *, int) = (void *(*)(const char *, int))load_real_dlopen;
    void *handle;
    (void)unused;
    if ((mode & RTLD_DEEPBIND) != 0)
        gotpatch_sees_deep();
    if (!gotpatch_is_on())
        return no_answer;
    gotpatch_refresh(); /* what a call before this one has loaded, if that was a jump */
    if (caller_matters(file, caller))
        return no_answer;
    handle = load(file, mode);
    gotpatch_refresh();
    return answer(handle);
}

/* Objects in a list of their own have a C library of their own: nothing of ours is in there. */
struct got_answer load_decide_dlmopen(Lmid_t space, const char *file, int mode, void *caller)
{
    void *(*load)(Lmid_t, const char *, int) =
        (void *(*)(Lmid_t, const char *, int))load_real_dlmopen;
    void *handle;
    if ((mode & RTLD_DEEPBIND) != 0)
        gotpatch_sees_deep();
    if (!gotpatch_is_on() || space != LM_ID_BASE || caller_matters(file, caller))
        return no_answer;
    handle = load(space, file, mode);
    gotpatch_refresh();
    return answer(handle);
}

/* ---- looking up --------------------------------------------------------------------------- */

static bool is_special(const void *handle)
{
    return handle == RTLD_DEFAULT || handle == RTLD_NEXT;
}

struct next_search {
    const char *name;
    uintptr_t caller;
    const char *path; /* of the caller's object */
    bool defines;     /* the object has a function of this name itself */
};

static int find_caller(struct dl_phdr_info *info, size_t n_bytes, void *data)
{
    struct next_search *search = data;
    struct got_object object;
    (void)n_bytes;
    if (!got_object_read(info, &object) || !got_object_contains(&object, search->caller, 0))
        return 0;
    search->path = info->dlpi_name;
    search->defines = got_object_find(&object, search->name) != NULL;
    return 1;
}

/*
 * Whether "the next one" after the caller is what the program calls. An object that has none
 * itself finds the same as if it looked from itself on; one that has is a wrapper, whose next one
 * is the business of its own.
 */
static bool next_is_target(const struct got_hook *hook, void *caller)
{
    struct next_search search = {.name = hook->name, .caller = (uintptr_t)caller};
    const uintptr_t before = guard_hold();
    void *(*look_up)(void *, const char *) = (void *(*)(void *, const char *))load_real_dlsym;
    void *(*load)(const char *, int) = (void *(*)(const char *, int))load_real_dlopen;
    void *handle, *found = NULL;
    dl_iterate_phdr(find_caller, &search);
    if (search.path != NULL && !search.defines) {
        handle = load(*search.path == '\0' ? NULL : search.path, RTLD_LAZY | RTLD_NOLOAD);
        if (handle != NULL) {
            found = look_up(handle, hook->name);
            dlclose(handle);
        }
    }
    guard_restore(before);
    return found == hook->target;
}

/* A function that was found by its name, or the hook that stands in for it. */
static void *ours_for(const char *name, void *found)
{
    const struct got_hook *hook = found == NULL ? NULL : got_hook_named(name);
    return hook != NULL && hook->target == found ? hook->hook : found;
}

struct got_answer load_decide_dlsym(void *handle, const char *name, void *unused, void *caller)
{
    void *(*look_up)(void *, const char *) = (void *(*)(void *, const char *))load_real_dlsym;
    const struct got_hook *hook;
    (void)unused;
    if (!gotpatch_is_on())
        return no_answer;
    gotpatch_refresh();
    if (!is_special(handle))
        return answer(ours_for(name, look_up(handle, name)));
    hook = got_hook_named(name);
    if (hook == NULL || hook->target == NULL)
        return no_answer;
    if (handle == RTLD_DEFAULT && !hook->is_first)
        return no_answer;
    if (handle == RTLD_NEXT && !next_is_target(hook, caller))
        return no_answer;
    return answer(hook->hook);
}

struct got_answer load_decide_dlvsym(void *handle, const char *name, const char *version,
                                     void *caller)
{
    void *(*look_up)(void *, const char *, const char *) =
        (void *(*)(void *, const char *, const char *))load_real_dlvsym;
    (void)caller;
    if (!gotpatch_is_on())
        return no_answer;
    gotpatch_refresh();
    if (is_special(handle))
        return no_answer;
    return answer(ours_for(name, look_up(handle, name, version)));
}

#endif
