/* native.c - see native.h. */
#include "capture/native.h"

#include "base/arena.h" /* pages */
#include "capture/guard.h"
#include "capture/state.h"

#include <errno.h>
#include <string.h>

#define RECORD_ROOM 96 /* of a node */
#define HYBRID_ROOM (RECORD_ROOM + 5 * HYBRID_MAX_BARE)

bool native_is_supported(void)
{
    return UNWIND_IS_SUPPORTED;
}

/* What interning is about: the Python stack of the same moment. */
struct interned_stack {
    const struct frame_cache *frames;
    bool has_python;
};

/* ---- modules ------------------------------------------------------------------------------ */

static struct loader_counts list_counts(void)
{
    struct loader_counts counts;
    struct brief_lock brief;
    state_lock_briefly(&brief);
    counts = capture.native.modules.counts;
    state_unlock_briefly(&brief);
    return counts;
}

/* Takes over what the loader says now. */
static void look_again(void)
{
    struct modules_snapshot snapshot;
    struct brief_lock brief;
    if (modules_look(&snapshot) != 0)
        return;
    state_lock_briefly(&brief);
    if (modules_update(&capture.native.modules, &capture.dict, &snapshot))
        __atomic_fetch_add(&capture.native.epoch, 1, __ATOMIC_RELEASE);
    state_unlock_briefly(&brief);
    modules_forget(&snapshot);
}

/*
 * Asks the loader whether the list of `seen` is still good. True: there is a newer one, made here
 * or by another thread meanwhile.
 */
static bool refresh(struct loader_counts seen)
{
    sigset_t before;
    struct loader_counts now;
    bool is_newer = false;
    /* A handler that jumps away must not take the loader's lock with it. */
    signals_block(&before);
    now = modules_loader_counts();
    if (!loader_counts_equal(now, seen)) {
        if (!loader_counts_equal(now, list_counts()))
            look_again();
        is_newer = !loader_counts_equal(list_counts(), seen);
    }
    signals_allow(&before);
    return is_newer;
}

/* A copy of the module that an address is in; false: it is in none. */
static bool find_module(uintptr_t address, struct module *found)
{
    /* What is listed may have been unmapped by now, and another be there. */
    if (unlikely(__atomic_load_n(&capture.native.n_unloading, __ATOMIC_ACQUIRE) != 0))
        (void)refresh(list_counts());
    for (;;) {
        const struct module *module;
        struct loader_counts seen;
        struct brief_lock brief;
        state_lock_briefly(&brief);
        module = modules_find(&capture.native.modules, address);
        seen = capture.native.modules.counts;
        if (module != NULL)
            *found = *module;
        state_unlock_briefly(&brief);
        if (module != NULL)
            return true;
        if (!refresh(seen))
            return false;
    }
}

static bool is_recording_native(void)
{
    return __atomic_load_n(&capture_on, __ATOMIC_RELAXED) && capture.has_native;
}

/*
 * Whoever runs the code after this has a handle of its own, whose end comes here too. So when the
 * code goes, no thread remembers it.
 */
void native_unloads(void)
{
    __atomic_fetch_add(&capture.native.n_unloading, 1, __ATOMIC_ACQ_REL);
    if (is_recording_native())
        __atomic_fetch_add(&capture.native.epoch, 1, __ATOMIC_RELEASE);
}

void native_unloaded(void)
{
    uintptr_t before;
    int saved = errno;
    if (is_recording_native()) {
        before = guard_hold();
        (void)refresh(list_counts());
        guard_restore(before);
    }
    __atomic_fetch_sub(&capture.native.n_unloading, 1, __ATOMIC_ACQ_REL);
    errno = saved;
}

/* ---- rules -------------------------------------------------------------------------------- */

static bool returns_from_signal(const struct module *module, uintptr_t ip)
{
    static const char code[] = UNWIND_SIGNAL_RETURN_CODE;
    return ip + sizeof code <= module->end && memcmp((const void *)ip, code, sizeof code - 1) == 0;
}

static struct unwind_rule learn(uintptr_t ip, bool exact)
{
    struct unwind_rule rule = {.kind = RULE_UNKNOWN};
    struct module module;
    uintptr_t start, end;
    if (!find_module(ip, &module))
        return rule;
    rule = unwind_rule_read(module.eh_frame_hdr, exact ? ip : ip - 1, &start, &end);
    /* Not every C library describes the code through which handlers return. */
    if (rule.kind == RULE_UNKNOWN && returns_from_signal(&module, ip))
        rule.kind = RULE_SIGNAL;
    return rule;
}

/* ---- nodes -------------------------------------------------------------------------------- */

/*
 * Whether a frame is a run of the interpreter's loop. The loop is known by its address once one of
 * its shims was found in one of its frames: that needs no symbols.
 */
static bool is_loop_locked(const struct interned_stack *stack, const struct unwind_frame *frame,
                           const struct module *module)
{
    struct native_state *native = &capture.native;
    uintptr_t at = frame->exact ? frame->ip : frame->ip - 1;
    uintptr_t start, end;
    for (uint32_t i = 0; i < native->n_loops; i++) {
        if (at >= native->loops[i].start && at < native->loops[i].end)
            return true;
    }
    if (!stack->has_python || frame->end == 0 ||
        !frames_have_shim_in(&capture.reader, stack->frames, frame->sp, frame->end))
        return false;
    (void)unwind_rule_read(module->eh_frame_hdr, at, &start, &end);
    if (start < end && native->n_loops < NATIVE_LOOPS) {
        native->loops[native->n_loops].start = start;
        native->loops[native->n_loops].end = end;
        native->n_loops++;
    }
    return true;
}

/* The same as table_put, and remembers that there was no room. */
static int put_id_locked(struct table *table, uint64_t key, uint32_t id)
{
    if (table_put(table, key, id) == 0)
        return 0;
    capture.dict.no_memory = true;
    return -1;
}

static uint32_t define_node_locked(uint32_t parent, struct rec_native_node *record)
{
    struct native_state *native = &capture.native;
    struct put to;
    uint64_t key =
        hash_u64(record->address ^ hash_u64((uint64_t)record->module << 8 | record->flags));
    uint32_t place = table_get(&native->places, key);
    if (place == 0) {
        place = native->n_places + 1;
        if (put_id_locked(&native->places, key, place) != 0)
            return parent;
        native->n_places++;
    }
    key = (uint64_t)parent << 32 | place;
    record->id = table_get(&native->nodes, key);
    if (record->id != 0)
        return record->id;
    record->id = native->n_nodes + 1;
    if (put_id_locked(&native->nodes, key, record->id) != 0)
        return parent;
    native->n_nodes++;
    to = definitions_open(&capture.dict, RECORD_ROOM);
    if (!to.bad) {
        record_put_native_node(&to, record);
        definitions_close(&capture.dict, &to, RECORD_ROOM);
    }
    return record->id;
}

static uint32_t intern(uint32_t parent, const struct unwind_frame *frame, void *data)
{
    struct rec_native_node record = {.parent = parent, .address = frame->ip};
    struct module module;
    struct brief_lock brief;
    uint32_t node;
    bool is_known = find_module(frame->ip, &module);
    if (is_known && module.is_ours)
        return parent;
    record.flags = (frame->exact ? NATIVE_EXACT : 0) | (frame->is_signal ? NATIVE_SIGNAL : 0);
    state_lock_briefly(&brief);
    if (!state_thread_is_recorded()) {
        state_unlock_briefly(&brief);
        return parent;
    }
    if (is_known) {
        record.module = module.id;
        record.address -= module.bias;
        if (is_loop_locked(data, frame, &module))
            record.flags |= NATIVE_EVAL;
    }
    node = define_node_locked(parent, &record);
    state_unlock_briefly(&brief);
    return node;
}

static uint32_t define_hybrid(const struct interned_stack *stack, uint32_t python, uint32_t native)
{
    struct rec_hybrid record = {.python = python, .native = native};
    uint64_t key = (uint64_t)python << 32 | native;
    struct put to;
    struct brief_lock brief;
    state_lock_briefly(&brief);
    record.id = table_get(&capture.native.hybrids, key);
    if (record.id == 0 && state_thread_is_recorded() &&
        put_id_locked(&capture.native.hybrids, key, capture.native.n_hybrids + 1) == 0) {
        record.id = ++capture.native.n_hybrids;
        if (stack->has_python)
            record.n_bare =
                frames_bare_runs(&capture.reader, stack->frames, record.bare, HYBRID_MAX_BARE);
        to = definitions_open(&capture.dict, HYBRID_ROOM);
        if (!to.bad) {
            record_put_hybrid(&to, &record);
            definitions_close(&capture.dict, &to, HYBRID_ROOM);
        }
    }
    state_unlock_briefly(&brief);
    return record.id;
}

/* ---- stacks ------------------------------------------------------------------------------- */

void native_release_locked(void)
{
    struct native_state *native = &capture.native;
    table_release(&native->places);
    table_release(&native->nodes);
    table_release(&native->hybrids);
}

void native_start_locked(const void *interpreter)
{
    struct native_state *native = &capture.native;
    native_release_locked();
    native->n_places = native->n_nodes = native->n_hybrids = native->n_loops = 0;
    native->reader = (struct unwind_reader){.learn = learn, .intern = intern};
    modules_start(&native->modules, interpreter);
}

static struct native_thread *thread_block(struct capture_thread *thread)
{
    uint64_t epoch = __atomic_load_n(&capture.native.epoch, __ATOMIC_ACQUIRE);
    struct native_thread *own = thread->native;
    if (unlikely(own == NULL)) {
        own = thread->native = pages_alloc(sizeof *own);
        if (own == NULL)
            return NULL;
        own->epoch = epoch;
    }
    if (unlikely(own->epoch != epoch)) {
        unwind_forget(&own->unwind);
        own->epoch = epoch;
    }
    return own;
}

uint32_t native_stack(struct capture_thread *thread, uint32_t python,
                      const struct unwind_state *from)
{
    struct native_thread *own = thread_block(thread);
    struct interned_stack stack = {&thread->frames, python != 0};
    struct known_hybrid *known;
    uint32_t native;
    int saved = errno;
    if (own == NULL)
        return 0;
    native = unwind_current(&capture.native.reader, &own->unwind, from, &stack);
    known = &own->hybrids[hash_u64((uint64_t)python << 32 | native) % NATIVE_HYBRIDS];
    if (unlikely(known->id == 0 || known->python != python || known->native != native)) {
        uint32_t id = define_hybrid(&stack, python, native);
        *known = (struct known_hybrid){python, native, id};
    }
    errno = saved;
    return known->id;
}

void native_forget(struct capture_thread *thread)
{
    struct native_thread *own = thread->native;
    if (own == NULL)
        return;
    unwind_forget(&own->unwind);
    memset(own->hybrids, 0, sizeof own->hybrids);
}

bool native_agrees(struct capture_thread *thread, uint32_t python)
{
    struct native_thread *own = thread_block(thread);
    struct interned_stack stack = {&thread->frames, python != 0};
    struct unwind_state here;
    if (own == NULL)
        return false;
    UNWIND_CALLER(&here);
    return unwind_agrees(&capture.native.reader, &own->unwind, &here, &stack);
}
