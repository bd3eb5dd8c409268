/* capture.c - the small questions and marks of capture.h; see state.c for starting and ending. */
#include "capture/capture.h"

#include "capture/follow.h"
#include "capture/guard.h"
#include "capture/recorder.h"

#include <dlfcn.h>
#include <link.h> /* dl_iterate_phdr */
#include <errno.h>
#include <string.h>

bool proftrace_capture_is_on(void)
{
    return __atomic_load_n(&capture_on, __ATOMIC_RELAXED) != 0;
}

bool proftrace_capture_has_native(void)
{
    return native_is_supported();
}

struct load_order {
    uintptr_t ours; /* load addresses */
    uintptr_t next;
    bool is_ours_first;
};

static int see_object(struct dl_phdr_info *info, size_t n_bytes, void *data)
{
    struct load_order *order = data;
    (void)n_bytes;
    order->is_ours_first = info->dlpi_addr == order->ours;
    return info->dlpi_addr == order->ours || info->dlpi_addr == order->next;
}

/*
 * Whether we stand before the C library in the search order. (What "malloc" is found to be does
 * not tell: for an executable at a fixed address it may be an entry of the executable's own
 * procedure table, as with Debian's Python.)
 */
bool proftrace_capture_is_preloaded(void)
{
    struct load_order order = {0};
    Dl_info ours, next;
    void *next_malloc = dlsym(RTLD_NEXT, "malloc");
    if (next_malloc == NULL || dladdr(next_malloc, &next) == 0 || dladdr(&capture_on, &ours) == 0)
        return false;
    order.ours = (uintptr_t)ours.dli_fbase;
    order.next = (uintptr_t)next.dli_fbase;
    dl_iterate_phdr(see_object, &order);
    return order.is_ours_first;
}

void proftrace_capture_follow_children(const char *boot_folder, const char *boot)
{
    Dl_info ours;
    if (boot == NULL)
        follow_set(NULL);
    else if (dladdr(&capture_on, &ours) != 0)
        follow_set(&(struct follow_settings){
            .library = ours.dli_fname, .boot_folder = boot_folder, .boot = boot});
}

void proftrace_capture_mark(enum mark_kind kind, uint64_t value)
{
    if (!guard_enter())
        return;
    usage_look(true); /* what the process is like there */
    recorder_event(EVENT_MARK, (void *)(uintptr_t)kind, value);
    guard_leave();
}

bool proftrace_capture_mark_label(const char *label)
{
    int saved = errno;
    uint32_t id = 0;
    if (!guard_enter())
        return false;
    state_lock();
    if (proftrace_capture_is_on() && recorder_attach_locked() == 0)
        id = definitions_string(&capture.dict, label, strlen(label));
    state_unlock();
    recorder_event(EVENT_MARK, (void *)(uintptr_t)MARK_USER, id);
    guard_leave();
    errno = saved;
    return true;
}

void proftrace_capture_set_aside(bool aside)
{
    if (!guard_enter())
        return;
    recorder_set_aside(aside);
    guard_leave();
}

void proftrace_capture_name_thread(const char *name)
{
    int saved = errno;
    if (!guard_enter())
        return;
    state_lock();
    if (proftrace_capture_is_on() && recorder_attach_locked() == 0)
        thread_set_name_locked(&capture, thread_self, name);
    state_unlock();
    guard_leave();
    errno = saved;
}

void proftrace_capture_code_died(const void *code)
{
    uintptr_t before = guard_hold();
    bool was_seen = true;
    if (proftrace_capture_is_on() && !capture.child_waits) {
        struct brief_lock brief;
        state_lock_briefly(&brief);
        was_seen = definitions_code_died(&capture.dict, (uintptr_t)code);
        state_unlock_briefly(&brief);
    }
    /* Most code dies without a place of it on any stack that was recorded. */
    if (was_seen)
        frames_code_died(&capture.reader, (uintptr_t)code);
    guard_restore(before);
}

int proftrace_capture_flush(void)
{
    int failed = -1;
    if (!guard_enter())
        return -1;
    state_lock();
    if (proftrace_capture_is_on()) {
        failed = state_flush_all_locked();
        if (failed)
            state_give_up_locked();
    }
    state_unlock();
    guard_leave();
    return failed;
}

int proftrace_capture_check_thread(struct capture_check *check)
{
    struct capture_thread *thread;
    if (!guard_enter())
        return -1;
    thread = thread_self;
    *check = (struct capture_check){0};
    if (thread != NULL) {
        check->stream = thread->stream;
        check->stacks_agree = frames_agree(&capture.reader, &thread->frames);
        if (capture.has_native)
            check->stacks_agree &=
                native_agrees(thread, frames_current(&capture.reader, &thread->frames));
        for (size_t at = thread->written_words; at < thread->used;) {
            struct event event;
            at += raw_event_get(thread->words + at, thread->used - at, &event);
            check->n_events++;
        }
        check->n_events += thread->n_written;
    }
    guard_leave();
    return thread == NULL ? -1 : 0;
}
