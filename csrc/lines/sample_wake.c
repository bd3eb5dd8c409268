/* sample_wake.c - see sample_wake.h. */
#include "lines/sample_wake.h"

#include "lines/sample_state.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h> /* sscanf */
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#define TICK_INTERVAL_NS 1000000 /* shorter than any tick: every tick counts */
#define PROBE_PERIOD_NS 1000000000u

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/*
 * Signals that programs do not use, the best first: one that is ignored by default. No real-time
 * signal: those queue up when a thread blocks them, and when the queue is full, the kernel sends
 * SIGIO in their place, which ends the process.
 */
static const int candidates[] = {
    SIGURG,
#ifdef SIGSTKFLT
    SIGSTKFLT,
#endif
    SIGPWR,
};

static wake_handler handle;
static int number; /* atomic; 0 = none */
static bool has_perf;
static bool has_ticks;

int wake_signal(void)
{
    return __atomic_load_n(&number, __ATOMIC_ACQUIRE);
}

bool wake_has_perf(void)
{
    return __atomic_load_n(&has_perf, __ATOMIC_RELAXED);
}

bool wake_has_ticks(void)
{
    return has_ticks;
}

/* ---- the signal ----------------------------------------------------------------------------- */

/* Takes one that has no handler, and is not this one. */
static bool take_signal(int spared)
{
    struct sigaction now,
        ours = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    sigemptyset(&ours.sa_mask);
    for (size_t i = 0; i < sizeof candidates / sizeof candidates[0]; i++) {
        if (candidates[i] == spared || sigaction(candidates[i], NULL, &now) != 0 ||
            now.sa_handler != SIG_DFL || sigaction(candidates[i], &ours, NULL) != 0)
            continue;
        __atomic_store_n(&number, candidates[i], __ATOMIC_RELEASE);
        return true;
    }
    __atomic_store_n(&number, 0, __ATOMIC_RELEASE);
    return false;
}

static bool is_still_ours(void)
{
    struct sigaction now;
    return sigaction(wake_signal(), NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) &&
           now.sa_sigaction == handle;
}

bool wake_signal_moved(void)
{
    if (wake_signal() == 0)
        return take_signal(0); /* perhaps one is free again */
    if (likely(is_still_ours()))
        return false;
    (void)take_signal(0);
    return true;
}

bool wake_spare_signal(int wanted)
{
    if (wanted != wake_signal() || wanted == 0)
        return false;
    (void)take_signal(wanted);
    return true;
}

clockid_t wake_cpu_clock(pid_t tid)
{
    return (clockid_t)(~(unsigned)tid << 3 | 6);
}

bool wake_is_blocked(pid_t tid)
{
    return wake_signal() == 0 || state_blocks(tid, wake_signal());
}

void wake_stop(void)
{
    /* By default the others end the process, and one may be on its way. */
    if (wake_signal() == SIGURG && is_still_ours())
        signal(SIGURG, SIG_DFL);
}

void wake_rest(void)
{
    if (wake_signal() != SIGURG)
        return;
    wake_stop();
    __atomic_store_n(&number, 0, __ATOMIC_RELEASE);
}

int wake_self(pid_t tid)
{
    sigset_t only, before;
    int result;
    sigemptyset(&only);
    sigaddset(&only, wake_signal());
    pthread_sigmask(SIG_UNBLOCK, &only, &before);
    result = syscall(SYS_tgkill, getpid(), tid, wake_signal()) == 0 ? 0 : -1;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return result;
}

/* ---- the clocks ----------------------------------------------------------------------------- */

static int open_perf(pid_t tid, uint64_t period_ns)
{
    struct perf_event_attr attributes = {
        .size = sizeof attributes,
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_TASK_CLOCK,
        .sample_period = period_ns,
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };
    return (int)syscall(SYS_perf_event_open, &attributes, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Lets an event send our signal to its thread; returns the page that keeps it alive, or NULL. */
static void *keep_alive(int fd, pid_t tid)
{
    struct f_owner_ex owner = {.type = F_OWNER_TID, .pid = tid};
    void *page;
    if (fcntl(fd, F_SETSIG, wake_signal()) != 0 || fcntl(fd, F_SETOWN_EX, &owner) != 0 ||
        fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK) != 0)
        return NULL;
    page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, fd, 0);
    return page == MAP_FAILED ? NULL : page;
}

static void release_page(void *page)
{
    if (page != NULL)
        munmap(page, (size_t)sysconf(_SC_PAGESIZE));
}

int wake_arm_perf(struct wake *wake, pid_t tid, uint64_t period_ns)
{
    int fd = open_perf(tid, period_ns);
    void *page;
    if (fd < 0)
        return -1;
    page = keep_alive(fd, tid);
    close(fd);
    if (page == NULL)
        return -1;
    release_page(__atomic_exchange_n(&wake->perf_page, page, __ATOMIC_ACQ_REL));
    return 0;
}

void wake_arm_ticks(struct wake *wake, pid_t tid)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = wake_signal()};
    struct itimerspec interval = {.it_interval.tv_nsec = TICK_INTERVAL_NS,
                                  .it_value.tv_nsec = 1}; /* the very next tick counts */
    event.sigev_value.sival_ptr = wake;
    event.sigev_notify_thread_id = tid;
    if (timer_create(wake_cpu_clock(tid), &event, &wake->timer) != 0)
        return;
    if (timer_settime(wake->timer, 0, &interval, NULL) != 0) {
        timer_delete(wake->timer);
        return;
    }
    __atomic_store_n(&wake->has_timer, 1, __ATOMIC_RELEASE);
}

void wake_disarm(struct wake *wake)
{
    release_page(__atomic_exchange_n(&wake->perf_page, NULL, __ATOMIC_ACQ_REL));
    if (__atomic_exchange_n(&wake->has_timer, 0, __ATOMIC_ACQ_REL))
        timer_delete(wake->timer);
}

void wake_forget(struct wake *wake)
{
    wake->perf_page = NULL; /* not mapped in a child */
    wake->has_timer = 0;
}

enum wake_cause wake_cause_of(const siginfo_t *info, const struct wake *wake)
{
    if (info->si_code == SI_TIMER && info->si_value.sival_ptr == wake)
        return WAKE_TICK;
    return info->si_code == POLL_IN || info->si_code == POLL_HUP || info->si_code == SI_SIGIO
               ? WAKE_PERF
               : WAKE_FOREIGN;
}

/* Whether the ticks' signals wait until the thread comes back to user mode. */
static bool ticks_spare_system_calls(void)
{
    struct utsname names;
    int major, minor;
    if (uname(&names) != 0 || sscanf(names.release, "%d.%d", &major, &minor) != 2)
        return false;
#if defined(__x86_64__)
    return major > 5 || (major == 5 && minor >= 11);
#else
    return major >= 6;
#endif
}

static bool can_have_perf(pid_t tid)
{
    int fd = open_perf(0, PROBE_PERIOD_NS);
    void *page;
    if (fd < 0)
        return false;
    page = keep_alive(fd, tid);
    release_page(page);
    close(fd);
    return page != NULL;
}

static bool can_have_ticks(pid_t tid)
{
    struct wake trial = {0};
    bool result;
    if (!ticks_spare_system_calls())
        return false;
    wake_arm_ticks(&trial, tid);
    result = trial.has_timer;
    wake_disarm(&trial);
    return result;
}

const char *wake_start(wake_handler handler, bool wants_perf, bool wants_ticks)
{
    pid_t tid = (pid_t)syscall(SYS_gettid);
    handle = handler;
    if (!take_signal(0))
        return "the program uses every signal that could be taken";
    has_perf = wants_perf && can_have_perf(tid);
    has_ticks = wants_ticks && can_have_ticks(tid);
    if (has_perf || has_ticks)
        return NULL;
    wake_stop();
    return "neither perf events nor timers of a thread's CPU time are allowed";
}
