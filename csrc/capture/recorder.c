/* recorder.c - the rare cases of recorder.h. */
#include "capture/recorder.h"

#include "capture/guard.h"
#include "interp/text.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

TLS_FAST struct capture_thread *thread_self;

/* Set when the thread's own block is gone; its events go to the shared late stream. */
static TLS_FAST bool thread_is_past_end;

static pthread_key_t thread_key;

/* ---- threads that end --------------------------------------------------------------------- */

static void thread_ends(void *block)
{
    struct capture_thread *thread = block;
    uintptr_t before = guard_hold();
    int saved = errno;
    thread_self = NULL;
    thread_is_past_end = true;
    /* In a forked child the lock may be held by a thread that does not exist there. */
    if (getpid() == capture.pid) {
        state_lock();
        thread_end_locked(&capture, thread);
        state_unlock();
    }
    errno = saved;
    guard_restore(before);
}

int recorder_init(void)
{
    static bool done;
    if (done)
        return 0;
    if (pthread_key_create(&thread_key, thread_ends) != 0)
        return -1;
    done = true;
    return 0;
}

/*
 * Other destructors of an ending thread still free what they own. A block of their own would have
 * to be cleaned up again, with no call left that could do it.
 */
static void record_late_locked(struct event *event)
{
    if (capture.late == NULL || capture.late->session != capture.session)
        capture.late = thread_attach_locked(&capture, capture.late, 0);
    if (capture.late == NULL) {
        capture.n_lost++;
        state_out_of_memory_locked();
        return;
    }
    if (!recorder_has_room(capture.late) &&
        thread_flush_locked(&capture, capture.late, true) != 0) {
        state_give_up_locked();
        return;
    }
    event->seq = state_stamp(&capture.late->seq);
    recorder_append(capture.late, event);
}

/* ---- muted threads ------------------------------------------------------------------------ */

static bool starts_with_folder(uintptr_t text, const char *folder)
{
    char start[PATH_MAX];
    size_t n = strlen(folder);
    return n < sizeof start &&
           text_copy_utf8(&capture.reader.layout, text, start, n + 1) == n + 1 &&
           memcmp(start, folder, n) == 0 && start[n] == '/';
}

void recorder_mute(const char *own_folder)
{
    const struct frame_reader *reader = &capture.reader;
    struct capture_thread *thread = thread_self;
    uintptr_t frame = frames_top(reader);
    thread->mute_frame = 0;
    for (; frame != 0; frame = frames_below(reader, frame)) {
        uintptr_t code = frames_code(reader, frame);
        struct code_view view;
        if (code == 0)
            continue; /* C code between two frames of ours */
        code_read(&reader->layout, code, &view);
        if (!starts_with_folder(view.file, own_folder))
            break;
        thread->mute_frame = frame;
    }
    if (thread->mute_frame == 0)
        return;
    /* The caller of our outermost frame stands at its call until that frame has returned. */
    thread->mute_below = frame;
    thread->mute_below_ip = frame == 0 ? 0 : frames_ip(reader, frame);
    thread->muted = true;
    thread->room = 0;
}

/* Whether our frames are still there, below them a caller that still stands at the same call. */
static bool is_below_own_frames(const struct capture_thread *thread)
{
    const struct frame_reader *reader = &capture.reader;
    bool seen = false;
    for (uintptr_t frame = frames_top(reader); frame != 0; frame = frames_below(reader, frame)) {
        seen = seen || frame == thread->mute_frame;
        if (frame == thread->mute_below)
            return seen && frames_ip(reader, frame) == thread->mute_below_ip;
    }
    return seen && thread->mute_below == 0;
}

static bool is_muted(struct capture_thread *thread)
{
    if (is_below_own_frames(thread))
        return true;
    thread->muted = false;
    thread->room = THREAD_ROOM;
    return false;
}

/* ---- the slow path ------------------------------------------------------------------------ */

int recorder_attach_locked(void)
{
    struct capture_thread *thread = thread_self;
    if (thread != NULL && thread->session == capture.session)
        return 0;
    if (capture.child_waits && state_start_child_locked() != 0)
        return -1;
    thread = thread_attach_locked(&capture, thread, (uint64_t)gettid());
    if (thread == NULL) {
        capture.n_lost++;
        state_out_of_memory_locked();
        return -1;
    }
    thread_self = thread;
    if (gettid() == getpid())
        thread_set_name_locked(&capture, thread, "MainThread");
    else
        thread_take_name_locked(&capture, thread);
    /* It may call calloc, which passes through: the guard is set. */
    if (pthread_setspecific(thread_key, thread) != 0)
        capture.n_lost++;
    return 0;
}

/* Makes room for one event. False: it is not recorded. */
static bool make_room_locked(void)
{
    if (recorder_attach_locked() != 0)
        return false;
    if (!recorder_has_room(thread_self) && thread_flush_locked(&capture, thread_self, true) != 0) {
        state_give_up_locked();
        return false;
    }
    return true;
}

static bool prepare(struct event *event)
{
    bool ready = false;
    /* A child made without our fork handler must not write to its parent's file. */
    if (!state_memory_is_ours()) {
        __atomic_store_n(&capture_on, 0, __ATOMIC_RELAXED);
        return false;
    }
    state_lock();
    if (__atomic_load_n(&capture_on, __ATOMIC_RELAXED) != 0) {
        if (thread_is_past_end)
            record_late_locked(event);
        else
            ready = make_room_locked();
    }
    state_unlock();
    return ready;
}

void recorder_set_aside(bool aside)
{
    struct capture_thread *thread = thread_self;
    if (thread == NULL || thread->session != capture.session || thread->muted)
        return;
    thread->aside = aside;
    thread->room = aside ? 0 : THREAD_ROOM;
}

/* What goes may be the program's. */
static void record_aside(struct capture_thread *thread, struct event *event)
{
    if (event_is_allocation(event->kind))
        return;
    recorder_set_aside(false);
    if (recorder_has_room(thread) || prepare(event)) {
        event->seq = state_stamp(&thread->seq);
        recorder_append(thread, event);
    }
    recorder_set_aside(true);
}

void recorder_slow(struct event *event)
{
    struct capture_thread *thread = thread_self;
    int saved = errno;
    if (thread != NULL && thread->session == capture.session && thread->aside) {
        record_aside(thread, event);
        goto done;
    }
    if (thread != NULL && thread->session == capture.session && thread->muted && is_muted(thread))
        goto done;
    if (!recorder_has_room(thread_self) && !prepare(event))
        goto done;
    thread = thread_self;
    if (event_is_allocation(event->kind))
        event->node = recorder_stack(thread, event->kind);
    event->seq = state_stamp(&thread->seq);
    recorder_append(thread, event);
done:
    errno = saved;
}
