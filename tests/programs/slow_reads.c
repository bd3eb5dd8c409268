/*
 * slow_reads.c - to be loaded into a program that lprof records: the first reads of its own memory
 * (process_vm_readv) after our signal was taken last longer than a tick of the system, so that a
 * clock that runs meanwhile interrupts each of them before its result is used.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define N_SLOW 4
#define CPU_MS 15 /* ticks are at most 10 ms apart */

static long cpu_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Not in its handler, nor in a thread that blocks it. */
static int signal_may_come(void)
{
    struct sigaction action;
    sigset_t blocked;
    sigaction(SIGURG, NULL, &action);
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    return action.sa_handler != SIG_DFL && !sigismember(&blocked, SIGURG);
}

ssize_t process_vm_readv(pid_t pid, const struct iovec *here, unsigned long n_here,
                         const struct iovec *there, unsigned long n_there, unsigned long flags)
{
    static int n_slow;
    ssize_t n = syscall(SYS_process_vm_readv, pid, here, n_here, there, n_there, flags);
    if (n_slow < N_SLOW && signal_may_come()) {
        long start = cpu_ms();
        n_slow++;
        while (cpu_ms() - start < CPU_MS)
            ;
    }
    return n;
}
