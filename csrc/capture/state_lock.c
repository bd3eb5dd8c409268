/* state_lock.c - see state.h: the locks of the capture, and what becomes of one left by a jump. */
#include "capture/notice.h"
#include "capture/recorder.h"
#include "capture/state.h"

#include <errno.h>

/*
 * New nodes are too frequent to hold signals back for each: that costs more than the rest. Only a
 * program whose handlers have been seen to jump out of hooks pays for it.
 */
static TLS_FAST bool has_lock_briefly;
static bool handlers_jump; /* atomic */

void state_lock_briefly(struct brief_lock *brief)
{
    brief->careful = __atomic_load_n(&handlers_jump, __ATOMIC_RELAXED);
    if (unlikely(brief->careful))
        signals_block(&brief->before);
    pthread_mutex_lock(&capture.lock);
    has_lock_briefly = true;
    COMPILER_BARRIER();
}

void state_unlock_briefly(const struct brief_lock *brief)
{
    COMPILER_BARRIER();
    has_lock_briefly = false;
    pthread_mutex_unlock(&capture.lock);
    if (unlikely(brief->careful))
        signals_allow(&brief->before);
}

void state_left_by_jump(void)
{
    __atomic_store_n(&handlers_jump, true, __ATOMIC_RELAXED);
    if (thread_self != NULL) {
        frames_abandon(&thread_self->frames);
        native_forget(thread_self);
    }
    if (!has_lock_briefly)
        return;
    /* The tables may be half changed: what is recorded until now stays, and no more is. */
    has_lock_briefly = false;
    capture.writer.failed = true;
    capture.writer.error = EINTR;
    notice_failure("cannot go on with", capture.writer.file.path, EINTR,
                   "; recording has stopped, the program goes on");
    state_give_up_locked();
    pthread_mutex_unlock(&capture.lock);
}

/* Held from the change of the first slot to that of the last one. */
static pthread_mutex_t control = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

void proftrace_capture_control(sigset_t *signals_before)
{
    signals_block(signals_before);
    pthread_mutex_lock(&control);
}

void proftrace_capture_release(const sigset_t *signals_before)
{
    pthread_mutex_unlock(&control);
    signals_allow(signals_before);
}

void state_control_after_fork(void)
{
    control = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
}
