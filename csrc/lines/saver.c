/* saver.c - see saver.h. */
#include "lines/saver.h"

#include "lines/ending.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define STACK_BYTES ((size_t)256 << 10)
#define NS_PER_S 1000000000u

static pthread_t thread;
static bool has_thread;
static uint32_t is_wanted; /* futex */
static uint64_t wanted_interval_ns;
static pid_t thread_tid;

static void *save(void *unused)
{
    struct timespec interval = {.tv_sec = (time_t)(wanted_interval_ns / NS_PER_S),
                                .tv_nsec = (long)(wanted_interval_ns % NS_PER_S)};
    thread_tid = (pid_t)syscall(SYS_gettid);
    prctl(PR_SET_NAME, "lprof-save");
    for (;;) {
        syscall(SYS_futex, &is_wanted, FUTEX_WAIT_PRIVATE, 1, &interval, NULL, 0);
        if (!__atomic_load_n(&is_wanted, __ATOMIC_ACQUIRE))
            return unused;
        ending_save();
    }
}

int saver_start(uint64_t interval_ns)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    if (has_thread)
        return 0;
    if (pthread_attr_init(&attributes) != 0)
        return -1;
    wanted_interval_ns = interval_ns;
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    __atomic_store_n(&is_wanted, 1, __ATOMIC_RELEASE);
    has_thread = pthread_create(&thread, &attributes, save, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return has_thread ? 0 : -1;
}

static void tell_to_end(void)
{
    __atomic_store_n(&is_wanted, 0, __ATOMIC_RELEASE);
    syscall(SYS_futex, &is_wanted, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void saver_stop(void)
{
    wanted_interval_ns = 0;
    tell_to_end();
}

bool saver_pause(void)
{
    if (!has_thread)
        return false;
    tell_to_end();
    pthread_join(thread, NULL);
    has_thread = false;
    /* Joined is not gone: os.fork counts what the kernel has. */
    for (int i = 0; i < 1000 && syscall(SYS_tgkill, getpid(), thread_tid, 0) == 0; i++)
        sched_yield();
    return wanted_interval_ns != 0;
}

void saver_resume(void)
{
    if (wanted_interval_ns != 0)
        (void)!saver_start(wanted_interval_ns);
}

void saver_after_fork(void)
{
    is_wanted = 0;
    has_thread = false;
    wanted_interval_ns = 0;
}
