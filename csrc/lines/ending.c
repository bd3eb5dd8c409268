/* ending.c - see ending.h. */
#include "lines/ending.h"

#include "format/record.h" /* enum end_reason */
#include "lines/account.h"
#include "lines/sample.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum ending_state { ENDING_NONE, ENDING_PENDING, ENDING_WRITING, ENDING_WRITTEN, ENDING_OVER };

static struct ending_settings ending;
static int state; /* enum ending_state; atomic */

static const int watched_signals[] = {SIGTERM, SIGHUP};

static bool is_our_process(void)
{
    return (uint32_t)getpid() == ending.result.pid;
}

void ending_prepare(const struct ending_settings *settings)
{
    ending = *settings;
    __atomic_store_n(&state, ENDING_PENDING, __ATOMIC_RELEASE);
}

/* What the usual failures are called; strerror is not made for signal handlers. */
static const char *error_text(int error)
{
    switch (error) {
    case ENOSPC:
        return "no space left on the device";
    case EDQUOT:
        return "the disk quota is used up";
    case EACCES:
    case EPERM:
        return "permission denied";
    case ENOENT:
        return "its folder does not exist any more";
    case EROFS:
        return "the file system is read-only";
    case EISDIR:
        return "it is a folder";
    case ENOMEM:
        return "out of memory";
    case EFBIG:
        return "too large";
    default:
        return "input/output error";
    }
}

static void say(const char *first, const char *path, const char *reason)
{
    const char *parts[] = {
        "lprof: ", first, path, reason == NULL ? "" : ": ", reason == NULL ? "" : reason, "\n"};
    char text[4096 + 200];
    size_t n_bytes = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        size_t n = strlen(parts[i]);
        n = n > sizeof text - n_bytes ? sizeof text - n_bytes : n;
        memcpy(text + n_bytes, parts[i], n);
        n_bytes += n;
    }
    if (write(STDERR_FILENO, text, n_bytes) < 0)
        return; /* there is nobody left to tell */
}

static bool write_result(uint8_t reason)
{
    int error = result_write(&ending.result, reason);
    if (error != 0)
        say("cannot write ", ending.result.path, error_text(error));
    return error == 0;
}

void ending_write(void)
{
    int expected = ENDING_PENDING;
    sigset_t all, before;
    if (!is_our_process())
        return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* our own handler must not come in between */
    if (__atomic_compare_exchange_n(&state, &expected, ENDING_WRITING, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) {
        bool written;
        sample_stop();
        written = write_result(END_CLEAN);
        __atomic_store_n(&state, written ? ENDING_WRITTEN : ENDING_OVER, __ATOMIC_RELEASE);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    while (__atomic_load_n(&state, __ATOMIC_ACQUIRE) == ENDING_WRITING)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void wait_for(pid_t child)
{
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ; /* ECHILD: the program ignores SIGCHLD, and the kernel waited for us */
}

/* Returns false when the command could not be started. */
static bool run_report(void)
{
    sigset_t all, before;
    volatile int exec_error = 0; /* the child runs in our memory until it has become another */
    pid_t child;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    child = vfork();
    if (child == 0) {
        for (size_t i = 0; i < sizeof watched_signals / sizeof watched_signals[0]; i++)
            signal(watched_signals[i], SIG_DFL);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        execve(ending.report[0], ending.report, ending.environ);
        exec_error = errno;
        _exit(127);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (child < 0)
        return false;
    wait_for(child);
    return exec_error == 0;
}

/* The report says it in the same words when it shows such a result (cli/lprof.py). */
static void say_if_nothing_was_recorded(void)
{
    if (ending.has_targets)
        return;
    if (__atomic_load_n(&lines_registry.n_codes, __ATOMIC_ACQUIRE) == 0)
        say("nothing was recorded: no function was decorated; put @profile above the functions to "
            "profile (a builtin under lprof, or `from proftrace import profile`)",
            "", NULL);
    else if (account_is_empty())
        say("nothing was recorded: the functions decorated with @profile were never called in "
            "this run",
            "", NULL);
}

static void report_now(void)
{
    if (ending.report != NULL && run_report())
        return;
    if (ending.quiet && ending.report == NULL)
        return;
    say("wrote ", ending.result.path, NULL);
    say_if_nothing_was_recorded();
}

void ending_report(void)
{
    int expected = ENDING_WRITTEN;
    if (is_our_process() && __atomic_compare_exchange_n(&state, &expected, ENDING_OVER, false,
                                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        report_now();
}

void ending_before_exec(void)
{
    int expected = ENDING_PENDING;
    sigset_t all, before;
    bool written = false;
    if (!is_our_process())
        return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (__atomic_compare_exchange_n(&state, &expected, ENDING_WRITING, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) {
        written = write_result(END_EXEC);
        __atomic_store_n(&state, ENDING_PENDING, __ATOMIC_RELEASE);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (written)
        report_now();
}

static void on_signal(int number)
{
    sigset_t only;
    ending_write();
    ending_report();
    signal(number, SIG_DFL);
    sigemptyset(&only);
    sigaddset(&only, number);
    raise(number);
    pthread_sigmask(SIG_UNBLOCK, &only, NULL); /* and here it ends, as it would have */
}

void ending_watch_signals(void)
{
    for (size_t i = 0; i < sizeof watched_signals / sizeof watched_signals[0]; i++) {
        struct sigaction now, ours = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
        sigfillset(&ours.sa_mask);
        if (sigaction(watched_signals[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL)
            sigaction(watched_signals[i], &ours, NULL);
    }
}
