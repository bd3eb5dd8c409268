/* ending.c - see ending.h. */
#include "lines/ending.h"

#include "base/compiler.h"
#include "format/record.h" /* enum end_reason */
#include "lines/account.h"
#include "lines/parts.h"
#include "lines/sample.h"
#include "lines/saver.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h> /* snprintf: of numbers and texts, without locale or malloc */
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum ending_state { ENDING_NONE, ENDING_PENDING, ENDING_WRITING, ENDING_WRITTEN, ENDING_OVER };

#define PATH_BYTES 4096

static struct ending_settings ending;
static const char *output; /* of the first process; a child's own path is one of the parts */
static char part_path[PATH_BYTES];
static char part_temporary[PATH_BYTES + 8];
static bool has_exec_part;
static int state; /* enum ending_state; atomic */

static const int watched_signals[] = {SIGTERM, SIGHUP};

static bool is_our_process(void)
{
    return (uint32_t)getpid() == ending.result.pid;
}

/* Gives this process a part of its own: no other had this id at this time. */
static void name_part(const struct result_settings *process)
{
    int n = snprintf(part_path, sizeof part_path, "%s/%u-%llu", ending.parts, process->pid,
                     (unsigned long long)process->start_wall_ns);
    if (n < 0 || (size_t)n >= sizeof part_path)
        part_path[0] = '\0'; /* it cannot be written, which is said */
    snprintf(part_temporary, sizeof part_temporary, "%s.tmp", part_path);
}

void ending_expect_children(void)
{
    if (is_our_process() && !ending.is_child && ending.parts != NULL)
        (void)!mkdir(ending.parts, 0777); /* there already, or writing is going to fail */
}

static void use_part(void)
{
    name_part(&ending.result);
    ending.result.path = part_path;
    ending.result.temporary = part_temporary;
}

void ending_restart(const struct result_settings *process)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* our handler must not find half of it */
    ending.result = *process;
    ending.is_child = true;
    ending.quiet = true;
    ending.report = NULL;
    use_part();
    __atomic_store_n(&state, ENDING_PENDING, __ATOMIC_RELEASE);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void ending_prepare(const struct ending_settings *settings)
{
    ending = *settings;
    output = settings->result.path;
    ending.result.parts = settings->is_child ? NULL : settings->parts;
    if (settings->is_child)
        use_part();
    __atomic_store_n(&state, ENDING_PENDING, __ATOMIC_RELEASE);
}

/* What the usual failures are called. */
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
        return ERRNO_TEXT(error);
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

/*
 * The first process has ended before this child, and its folder is gone: the child adds its result
 * to the whole.
 */
static int write_late(uint8_t reason)
{
    struct result_settings late = ending.result;
    char path[PATH_BYTES], temporary[PATH_BYTES + 8];
    int n = snprintf(path, sizeof path, "%s.%u.late", output, ending.result.pid);
    int error;
    if (n < 0 || (size_t)n >= sizeof path)
        return ENAMETOOLONG;
    snprintf(temporary, sizeof temporary, "%s.tmp", path);
    late.path = path;
    late.temporary = temporary;
    error = result_write(&late, reason);
    return error != 0 ? error : parts_move(path, output);
}

static bool write_result(uint8_t reason)
{
    int error;
    if (ending.is_child && account_is_empty())
        return true; /* nothing of it was profiled: nobody needs to hear of it */
    error = result_write(&ending.result, reason);
    if (error == ENOENT && ending.is_child)
        error = reason == END_SAVED ? 0 : write_late(reason);
    if (error != 0)
        say("cannot write ", ending.is_child ? output : ending.result.path, error_text(error));
    return error == 0;
}

/* Waits until nobody writes. False: the result is written for good, or there is none. */
static bool claim(void)
{
    for (;;) {
        int expected = ENDING_PENDING;
        if (__atomic_compare_exchange_n(&state, &expected, ENDING_WRITING, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE))
            return true;
        if (expected != ENDING_WRITING)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

void ending_write(void)
{
    sigset_t all, before;
    if (!is_our_process())
        return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* our own handler must not come in between */
    saver_stop();
    if (claim()) {
        bool written;
        sample_stop();
        written = write_result(END_CLEAN);
        __atomic_store_n(&state, written ? ENDING_WRITTEN : ENDING_OVER, __ATOMIC_RELEASE);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void ending_abandon(void)
{
    if (is_our_process() && claim())
        __atomic_store_n(&state, ENDING_OVER, __ATOMIC_RELEASE);
}

void ending_save(void)
{
    if (!is_our_process() || account_is_empty() || !claim())
        return;
    (void)write_result(END_SAVED);
    __atomic_store_n(&state, ENDING_PENDING, __ATOMIC_RELEASE);
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
    if (ending.has_targets || ending.result.n_parts != 0)
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

/* What a process had counted before it became another Python is a part, too. */
static bool write_before_exec(bool stays_followed)
{
    struct result_settings whole = ending.result;
    bool written;
    if (stays_followed && !ending.is_child) {
        if (account_is_empty())
            return false;
        ending_expect_children();
        use_part();
        ending.result.parts = NULL;
        has_exec_part = true;
    }
    written = write_result(stays_followed ? END_CLEAN : END_EXEC);
    ending.result = whole;
    return written;
}

void ending_before_exec(bool stays_followed)
{
    sigset_t all, before;
    bool written = false;
    if (!is_our_process())
        return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (claim()) {
        written = write_before_exec(stays_followed);
        __atomic_store_n(&state, ENDING_PENDING, __ATOMIC_RELEASE);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (written && !stays_followed)
        report_now();
}

void ending_exec_failed(void)
{
    if (is_our_process() && has_exec_part)
        unlink(part_path);
    has_exec_part = false;
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
