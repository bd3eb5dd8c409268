/* forks.c - see forks.h. */
#include "capture/forks.h"

#include "base/arena.h" /* pages */
#include "capture/follow.h"
#include "capture/gotpatch.h"
#include "capture/guard.h"
#include "capture/recorder.h"

#include <sys/mman.h>
#include <unistd.h>

static TLS_FAST uintptr_t guard_outside;

/* A page that is zero in a forked child, whoever forked; NULL where the kernel cannot do that. */
static uint8_t *wiped_on_fork;
static bool child_is_counted;

/*
 * From here to the handlers below the forking thread is not recorded: until it is told, the child
 * would write to its parent's slot. No lock is taken, since other handlers may wait for threads
 * that need it; the child never looks at what it guards.
 */
static void before_fork(void)
{
    guard_outside = guard_hold();
}

static void after_fork_in_parent(void)
{
    if (proftrace_capture_is_on() && capture.again == NULL)
        follow_count(0, 1);
    guard_restore(guard_outside);
}

/*
 * Drops all that belongs to the parent, without a look at it: another thread may have been in the
 * middle of a change. The memory stays mapped; nobody touches it again, so it costs the child no
 * pages.
 */
static void forget_parent(void)
{
    thread_self = NULL;
    capture.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    output_close(&capture.writer.file);
    capture.writer = (struct writer){.file.fd = -1};
    capture.ring = (struct ring_file){0};
    capture.dict = (struct definitions){0};
    capture.native = (struct native_state){0};
    capture.live = capture.free = capture.late = NULL;
    capture.packer = NULL;
    capture.bounded = NULL;
    usage_forget();
    capture.pid = 0;
    capture.session++; /* blocks of threads that have not heard of it are not this one's */
}

static void after_fork_in_child(void)
{
    const bool follow = proftrace_capture_is_on() && capture.again != NULL;
    gotpatch_after_fork();
    state_control_after_fork();
    child_is_counted = child_is_counted || (proftrace_capture_is_on() && !follow);
    __atomic_store_n(&capture_on, 0, __ATOMIC_RELAXED);
    if (capture.pid != 0)
        forget_parent();
    capture.child_waits = follow;
    if (follow) {
        sampler_forget(&capture.sampler);
        capture.pid = getpid();
        forks_own_memory();
        __atomic_store_n(&capture_on, capture.on_value, __ATOMIC_RELAXED);
    }
    guard_restore(guard_outside);
}

bool state_memory_is_ours(void)
{
    return wiped_on_fork != NULL ? *wiped_on_fork != 0 : getpid() == capture.pid;
}

void forks_own_memory(void)
{
    if (wiped_on_fork != NULL)
        *wiped_on_fork = 1;
}

bool forks_child_is_counted(void)
{
    return child_is_counted;
}

bool forks_are_seen(void)
{
    return wiped_on_fork != NULL;
}

static void find_wiped_page(void)
{
    uint8_t *page = pages_alloc(1);
    if (page != NULL && madvise(page, 1, MADV_WIPEONFORK) == 0)
        wiped_on_fork = page;
}

int forks_watch(void)
{
    if (wiped_on_fork == NULL)
        find_wiped_page();
    return pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}
