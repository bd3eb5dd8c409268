/*
 * gotpatch.c - see gotpatch.h.
 *
 * A slot is changed only if it holds the very function that our hook calls: an object that is bound
 * to another allocator, or to an older version of a function, keeps it. Slots are remembered by
 * object until something is unloaded; the loader's counters tell.
 */
#include "capture/gotpatch.h"

#include "base/page_vec.h"
#include "capture/got_hooks.h"
#include "capture/got_object.h"
#include "capture/guard.h"
#include "capture/maps.h"
#include "capture/signals.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/auxv.h> /* getauxval */
#include <sys/mman.h>
#include <unistd.h>

/* Of the C library, if it has it: whether there has been one thread only. */
extern char __libc_single_threaded __attribute__((weak));

struct slot {
    void **at;
    const struct got_hook *hook;
    bool is_lazy;
};

struct patched_object {
    uintptr_t base;
    const void *segments; /* with the base: which object it is, while nothing is unloaded */
    uintptr_t text_start, text_end;
    uintptr_t relro_start, relro_end;
    uint32_t first_slot, n_slots;
    bool is_plain; /* its names are looked for where the program's are */
};

static struct {
    pthread_mutex_t lock; /* taken inside dl_iterate_phdr only; guards all but `on` */
    int on;               /* atomic */
    bool resolved;
    bool preloaded;
    bool has_run; /* once at least */
    bool deep;    /* atomic: objects may have come that look for names elsewhere first */
    bool again;   /* an object was not ready yet */
    bool foreign_allocator;
    unsigned long long n_loads, n_unloads; /* as of the lists */
    PAGE_VEC(struct patched_object) objects;
    PAGE_VEC(struct slot) slots;
} patch = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- one object --------------------------------------------------------------------------- */

struct scan {
    const struct got_object *object;
    bool is_plain;
    bool failed;
};

static void remember_slot(void **at, const char *name, bool is_lazy, void *data)
{
    struct scan *scan = data;
    struct got_hook *hook = got_hook_named(name);
    struct slot *slot;
    if (hook == NULL || hook->target == NULL || scan->failed ||
        !got_object_contains(scan->object, (uintptr_t)at, PF_W))
        return;
    slot = page_vec_add(&patch.slots);
    if (slot == NULL)
        scan->failed = true;
    else
        *slot = (struct slot){
            at, hook, is_lazy && (scan->is_plain || got_object_find(scan->object, name) == NULL)};
}

static void find_text(const struct got_object *object, struct patched_object *patched)
{
    for (uint32_t i = 0; i < object->n_segments; i++) {
        const ElfW(Phdr) *segment = &object->segments[i];
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) != 0) {
            patched->text_start = object->base + segment->p_vaddr;
            patched->text_end = patched->text_start + segment->p_memsz;
        }
    }
}

/* What the hooks must not be put into: this library, and the loader, whose calls are its own. */
static bool is_left_alone(const struct got_object *object)
{
    static const char loader[] = "ld-";
    return got_object_contains(object, (uintptr_t)&patch, 0) ||
           (object->base != 0 && object->base == getauxval(AT_BASE)) ||
           (object->name != NULL && strncmp(object->name, loader, sizeof loader - 1) == 0);
}

/* Whether it brings an allocator of its own, which the program's calls do not lead to. */
static bool has_foreign_allocator(const struct got_object *object)
{
    const struct got_hook *hook = got_hook_named("malloc");
    void *own = got_object_find(object, "malloc");
    return own != NULL && own != hook->target;
}

static struct patched_object *add_object(const struct got_object *object)
{
    struct patched_object *patched = page_vec_add(&patch.objects);
    const bool is_plain = patch.preloaded && !__atomic_load_n(&patch.deep, __ATOMIC_SEQ_CST);
    struct scan scan = {.object = object, .is_plain = is_plain};
    const size_t n_before = patch.slots.n;
    if (patched == NULL)
        return NULL;
    *patched = (struct patched_object){
        .base = object->base,
        .segments = object->segments,
        .relro_start = object->relro_start,
        .relro_end = object->relro_end,
        .is_plain = is_plain,
    };
    find_text(object, patched);
    if (is_left_alone(object))
        return patched;
    if (has_foreign_allocator(object))
        patch.foreign_allocator = true;
    got_object_each_slot(object, remember_slot, &scan);
    if (scan.failed) {
        patch.slots.n = n_before;
        patch.again = true;
    }
    patched->first_slot = (uint32_t)n_before;
    patched->n_slots = (uint32_t)(patch.slots.n - n_before);
    return patched;
}

/* ---- changing slots ----------------------------------------------------------------------- */

/* Still to be looked up by the loader: it leads into the object's own procedure table. */
static bool is_unbound(const struct patched_object *object, const struct slot *slot,
                       const void *value)
{
    return slot->is_lazy && slot->hook->is_first &&
           (object->is_plain || !patch.foreign_allocator || slot->hook->kind == GOT_HOOK_LOADER) &&
           (uintptr_t)value - object->text_start < object->text_end - object->text_start;
}

/* What is to be in a slot, given what is there; NULL: that stays. */
static void *wanted_value(const struct patched_object *object, const struct slot *slot,
                          const void *value, bool on)
{
    if (!on)
        return value == slot->hook->hook ? slot->hook->target : NULL;
    return value == slot->hook->target || is_unbound(object, slot, value) ? slot->hook->hook : NULL;
}

/* The program may change a pointer in its data at the same moment: it wins. */
static void change_slot(const struct patched_object *object, const struct slot *slot, bool on)
{
    void *value = __atomic_load_n(slot->at, __ATOMIC_RELAXED);
    void *wanted = wanted_value(object, slot, value, on);
    if (wanted != NULL)
        (void)__atomic_compare_exchange_n(slot->at, &value, wanted, false, __ATOMIC_SEQ_CST,
                                          __ATOMIC_RELAXED);
}

static bool is_protected(const struct patched_object *object, const struct slot *slot)
{
    return (uintptr_t)slot->at - object->relro_start < object->relro_end - object->relro_start;
}

/* The pages of slots that have to change and are read-only; false: there are none. */
static bool pages_to_open(const struct patched_object *object, bool on, uintptr_t *start,
                          uintptr_t *end)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const struct slot *slots = patch.slots.items + object->first_slot;
    *start = UINTPTR_MAX;
    *end = 0;
    for (uint32_t i = 0; i < object->n_slots; i++) {
        const uintptr_t at = (uintptr_t)slots[i].at & ~(page - 1);
        if (!is_protected(object, &slots[i]) ||
            wanted_value(object, &slots[i], *slots[i].at, on) == NULL)
            continue;
        *start = at < *start ? at : *start;
        *end = at + page > *end ? at + page : *end;
    }
    return *end != 0;
}

static void change_object(const struct patched_object *object, bool on)
{
    const struct slot *slots = patch.slots.items + object->first_slot;
    uintptr_t start, end;
    const bool closed = pages_to_open(object, on, &start, &end);
    const bool opened = closed && mprotect((void *)start, end - start, PROT_READ | PROT_WRITE) == 0;
    for (uint32_t i = 0; i < object->n_slots; i++) {
        if (opened || !is_protected(object, &slots[i]))
            change_slot(object, &slots[i], on);
    }
    if (opened)
        (void)mprotect((void *)start, end - start, PROT_READ);
}

/* ---- all of them -------------------------------------------------------------------------- */

struct pass {
    bool started;
    bool is_due;   /* the hooks go in or out */
    bool is_first; /* of the process */
    struct maps_text maps;
    unsigned long long n_loads, n_unloads;
};

static void forget_objects(void)
{
    patch.objects.n = patch.slots.n = 0;
    patch.foreign_allocator = false;
    patch.n_loads = patch.n_unloads = 0;
}

static struct patched_object *find_object(const struct dl_phdr_info *info)
{
    for (size_t i = 0; i < patch.objects.n; i++) {
        struct patched_object *object = &patch.objects.items[i];
        if (object->base == info->dlpi_addr && object->segments == info->dlpi_phdr)
            return object;
    }
    return NULL;
}

/*
 * Where we are preloaded, almost every object is bound to us by the loader; what is there from the
 * start will be, as far as it is not yet. Nothing has to be asked or changed then.
 */
static bool is_bound_to_us(const struct patched_object *object, const struct pass *pass)
{
    const struct slot *slots = patch.slots.items + object->first_slot;
    for (uint32_t i = 0; i < object->n_slots; i++) {
        const void *value = __atomic_load_n(slots[i].at, __ATOMIC_RELAXED);
        const bool will_be = pass->is_first && slots[i].hook->kind == GOT_HOOK_EXPORTED;
        if (value != slots[i].hook->hook && !(will_be && is_unbound(object, &slots[i], value)))
            return false;
    }
    return patch.preloaded;
}

/*
 * While another thread is still loading an object, the pages that become read-only are not yet so.
 * Making them so for it would end the program.
 */
static bool is_loaded(const struct got_object *object, struct pass *pass)
{
    return (&__libc_single_threaded != NULL && __libc_single_threaded) ||
           object->relro_end <= object->relro_start ||
           !maps_is_writable(&pass->maps, object->relro_start);
}

/* Those of the object that was added last. */
static void forget_slots(struct patched_object *object)
{
    patch.slots.n -= object->n_slots;
    object->n_slots = 0;
}

/* NULL: it is none, or not loaded yet. */
static struct patched_object *visit_new(const struct dl_phdr_info *info, struct pass *pass)
{
    struct patched_object *object;
    struct got_object found;
    if (!got_object_read(info, &found) || (object = add_object(&found)) == NULL)
        return NULL;
    if (is_bound_to_us(object, pass)) {
        forget_slots(object);
        return object;
    }
    if (is_loaded(&found, pass))
        return object;
    patch.again = true;
    forget_slots(object);
    patch.objects.n--;
    return NULL;
}

/* True: the rest needs no look. */
static bool visit_locked(const struct dl_phdr_info *info, struct pass *pass)
{
    struct patched_object *object;
    if (!pass->started) {
        pass->started = true;
        if (info->dlpi_subs != patch.n_unloads)
            forget_objects();
        if (!pass->is_due && !patch.again && info->dlpi_adds == patch.n_loads)
            return true;
        patch.again = false;
        pass->n_loads = info->dlpi_adds;
        pass->n_unloads = info->dlpi_subs;
    }
    object = find_object(info);
    if (object == NULL)
        object = visit_new(info, pass);
    if (object != NULL)
        change_object(object, __atomic_load_n(&patch.on, __ATOMIC_RELAXED) != 0);
    patch.n_loads = pass->n_loads;
    patch.n_unloads = pass->n_unloads;
    return false;
}

static int visit(struct dl_phdr_info *info, size_t n_bytes, void *data)
{
    bool done;
    (void)n_bytes;
    pthread_mutex_lock(&patch.lock);
    done = visit_locked(info, data);
    pthread_mutex_unlock(&patch.lock);
    return done;
}

static void run_pass(bool is_due)
{
    struct pass pass = {.is_due = is_due, .is_first = !patch.has_run};
    sigset_t before;
    /* A handler that loads or jumps away must not find the locks held. */
    signals_block(&before);
    dl_iterate_phdr(visit, &pass);
    signals_allow(&before);
    maps_forget(&pass.maps);
    patch.has_run = true;
}

void gotpatch_apply(bool preloaded)
{
    if (!patch.resolved)
        got_hooks_resolve(preloaded);
    patch.resolved = true;
    patch.preloaded = preloaded;
    __atomic_store_n(&patch.on, 1, __ATOMIC_SEQ_CST);
    run_pass(true);
}

void gotpatch_restore(void)
{
    if (!gotpatch_is_on())
        return;
    __atomic_store_n(&patch.on, 0, __ATOMIC_SEQ_CST);
    if (!patch.preloaded) /* there, most slots are ours by right */
        run_pass(true);
}

bool gotpatch_is_on(void)
{
    return __atomic_load_n(&patch.on, __ATOMIC_RELAXED) != 0;
}

void gotpatch_sees_deep(void)
{
    __atomic_store_n(&patch.deep, true, __ATOMIC_SEQ_CST);
}

void gotpatch_refresh(void)
{
    uintptr_t before;
    int saved = errno;
    if (!gotpatch_is_on())
        return;
    before = guard_hold();
    run_pass(false);
    guard_restore(before);
    errno = saved;
}

void gotpatch_after_fork(void)
{
    patch.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    forget_objects();
}
