/*
 * recorder.h - one event of the calling thread; called by hooks with the guard held.
 *
 * The common case is inline: walk the stack, put one or two words into the thread's slot, commit.
 */
#ifndef PROFTRACE_CAPTURE_RECORDER_H
#define PROFTRACE_CAPTURE_RECORDER_H

#include "capture/state.h"
#include "capture/verify.h"

extern TLS_FAST struct capture_thread *thread_self;

/* A first event, a full slot, a muted or ending thread, recording that ended. Keeps errno. */
void recorder_slow(struct event *event);

/* The record first, then the commit: a killed process must not leave half an event behind. */
static ALWAYS_INLINE void recorder_append(struct capture_thread *thread, const struct event *event)
{
    uint32_t used = thread->used;
    used += raw_event_put(thread->words + used, event);
    thread->used = used;
    __atomic_store_n(&thread->slot->committed_bytes, (uint64_t)used * 8, __ATOMIC_RELEASE);
}

/* The node of the calling thread's stack: a HYBRID with native stacks, else a NODE. */
static inline uint32_t recorder_stack(struct capture_thread *thread, enum event_kind kind)
{
    uint32_t node = frames_current(&capture.reader, &thread->frames);
    if (unlikely(capture.verify))
        verify_stack(node, kind);
    if (unlikely(capture.has_native)) {
        struct unwind_state caller;
        UNWIND_CALLER(&caller);
        node = native_stack(thread, node, &caller);
    }
    return node;
}

static inline bool recorder_has_room(const struct capture_thread *thread)
{
    return likely(thread != NULL) && likely(thread->used + RAW_EVENT_MAX_WORDS <= thread->room);
}

/* Whether a sampled capture records this event; see sampler.h. */
static NOINLINE bool recorder_samples(enum event_kind kind, uintptr_t address, uint64_t size)
{
    switch (kind) {
    case EVENT_MMAP:
    case EVENT_ARENA:
    case EVENT_MARK:
        return true;
    case EVENT_MUNMAP:
        sampler_unmaps(address);
        return true;
    case EVENT_FREE:
    case EVENT_PYMALLOC_FREE:
        return sampler_frees(&capture.sampler, address);
    case EVENT_UNFREE:
        return sampler_takes_back(&capture.sampler, address);
    default:
        return sampler_takes(&capture.sampler, address, size);
    }
}

/* What an event may have to look at before it is recorded; false: it is not recorded at all. */
static inline bool recorder_attends(enum event_kind kind, uintptr_t address, uint64_t size)
{
    const uint32_t attention = __atomic_load_n(&capture.attention, __ATOMIC_RELAXED);
    if (attention & ATTEND_DUE)
        usage_look(false);
    if (size >= USAGE_LARGE_BYTES && event_is_allocation(kind))
        usage_look_soon();
    return !(attention & ATTEND_SAMPLED) || recorder_samples(kind, address, size);
}

/*
 * The same of one of Python's allocators. Kind and domain are constants of each hook, and no
 * pointer to what is stored leaves the function: so the record is put together in registers.
 */
static ALWAYS_INLINE void recorder_python_allocated(enum event_kind kind, enum event_domain domain,
                                                    const void *block, uint64_t size)
{
    struct capture_thread *thread = thread_self;
    struct event event = {.kind = (uint8_t)kind,
                          .address = (uintptr_t)block,
                          .size = size,
                          .domain = (uint8_t)domain};
    if (unlikely((__atomic_load_n(&capture.attention, __ATOMIC_RELAXED) |
                  size / USAGE_LARGE_BYTES) != 0) &&
        !recorder_attends(kind, (uintptr_t)block, size))
        return;
    if (unlikely(!recorder_has_room(thread))) {
        struct event copy = event;
        recorder_slow(&copy);
        return;
    }
    event.node = recorder_stack(thread, kind);
    event.seq = state_stamp(&thread->seq);
    recorder_append(thread, &event);
}

/* After the real call: `block` is the program's now. */
static ALWAYS_INLINE void recorder_allocated(enum event_kind kind, const void *block, uint64_t size)
{
    recorder_python_allocated(kind, DOMAIN_NONE, block, size);
}

/* Frees, MUNMAP, UNFREE and marks. Before the real call: after it the address may be another's. */
static ALWAYS_INLINE void recorder_event(enum event_kind kind, const void *address, uint64_t size)
{
    struct capture_thread *thread = thread_self;
    struct event event = {.kind = (uint8_t)kind, .address = (uintptr_t)address, .size = size};
    if (unlikely(__atomic_load_n(&capture.attention, __ATOMIC_RELAXED) != 0) &&
        !recorder_attends(kind, (uintptr_t)address, size))
        return;
    if (unlikely(!recorder_has_room(thread))) {
        struct event copy = event;
        recorder_slow(&copy);
        return;
    }
    event.seq = state_stamp(&thread->seq);
    recorder_append(thread, &event);
}

/*
 * After the real call of a FREE or MUNMAP: what was seen of the process meanwhile is told as of
 * before it. That call may take long, and the record, which came first, took the block away.
 */
static ALWAYS_INLINE void recorder_released(const void *address)
{
    if (unlikely(__atomic_load_n(&capture.attention, __ATOMIC_RELAXED) & ATTEND_DUE))
        usage_look_after_release(address);
}

/* Called once: threads that end are noticed from then on. -1 when the system has no key left. */
NODISCARD int recorder_init(void);

/* Gives the calling thread a stream if it has none. -1 without memory. With the lock held. */
NODISCARD int recorder_attach_locked(void);

/*
 * The calling thread works for us, or for the program again: meanwhile what it allocates is not
 * recorded, what it frees is. With the guard held.
 */
void recorder_set_aside(bool aside);

/* Keeps the calling thread unrecorded until these frames are gone; see capture.h. */
void recorder_mute(const char *own_folder);

#endif
