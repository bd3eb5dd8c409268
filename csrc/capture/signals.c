/* signals.c - see signals.h. */
#include "capture/signals.h"

#include "capture/guard.h"
#include "capture/state.h"

#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define RETRY_NS 1000000
#define MOST_RETRIES 200

static const int ending_signals[] = {SIGTERM, SIGHUP, SIGALRM, SIGXCPU};
static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};

#define N_OF(array) (sizeof(array) / sizeof(array)[0])

/* Sends the signal to this process once more, a little later. */
static bool retry_soon(int number)
{
    static int n_retries, timer = -1;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = number};
    const struct itimerspec soon = {.it_value = {.tv_nsec = RETRY_NS}};
    if (__atomic_add_fetch(&n_retries, 1, __ATOMIC_RELAXED) > MOST_RETRIES)
        return false;
    /* The calls themselves: those of the C library take locks. */
    if (timer < 0 && syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer) != 0)
        return false;
    return syscall(SYS_timer_settime, timer, 0, &soon, NULL) == 0;
}

/*
 * Inside a hook the lock may be this thread's own: then the hook is let go on first, and the signal
 * comes again. One that never ends (it waits for a lock, say) leaves the log to its ring.
 */
static void end_process(int number)
{
    int saved = errno;
    sigset_t only;
    if (guard_holder != 0 && proftrace_capture_is_on() && retry_soon(number)) {
        errno = saved;
        return;
    }
    state_finish_suddenly();
    signal(number, SIG_DFL);
    sigemptyset(&only);
    sigaddset(&only, number);
    raise(number);
    pthread_sigmask(SIG_UNBLOCK, &only, NULL); /* and here it ends, as it would have */
    errno = saved;
}

void signals_watch(void)
{
    struct sigaction now, ours = {.sa_handler = end_process, .sa_flags = SA_ONSTACK | SA_RESTART};
    sigfillset(&ours.sa_mask);
    for (size_t i = 0; i < N_OF(faults); i++)
        sigdelset(&ours.sa_mask, faults[i]);
    for (size_t i = 0; i < N_OF(ending_signals); i++) {
        if (sigaction(ending_signals[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL)
            sigaction(ending_signals[i], &ours, NULL);
    }
}

void signals_unwatch(void)
{
    struct sigaction now, before = {.sa_handler = SIG_DFL};
    for (size_t i = 0; i < N_OF(ending_signals); i++) {
        if (sigaction(ending_signals[i], NULL, &now) == 0 && now.sa_handler == end_process)
            sigaction(ending_signals[i], &before, NULL);
    }
}

void signals_block(sigset_t *before)
{
    sigset_t held;
    sigfillset(&held);
    for (size_t i = 0; i < N_OF(faults); i++)
        sigdelset(&held, faults[i]);
    pthread_sigmask(SIG_BLOCK, &held, before);
}

void signals_allow(const sigset_t *before)
{
    pthread_sigmask(SIG_SETMASK, before, NULL);
}
