/*
 * hooks_process.c - the ways in which a process ends or becomes another one without the
 * destructors of its libraries, and what happens when ours is loaded.
 *
 * posix_spawn, system and popen need no hook: the C library's own exec in their children does not
 * come here, and the parent goes on.
 */
#include "capture/guard.h"
#include "capture/real.h"
#include "capture/state.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

/* ---- exec --------------------------------------------------------------------------------- */

/*
 * A file that cannot be run makes the call fail for sure: then nothing has to be ended for it.
 * Programs that search PATH themselves try many of these.
 */
static bool can_succeed(const char *path)
{
    struct stat there;
    int saved = errno;
    bool can = stat(path, &there) == 0 && S_ISREG(there.st_mode) && access(path, X_OK) == 0;
    errno = saved;
    return can;
}

/* Runs the call with the log ended; it comes back only if the call fails. */
#define AROUND_EXEC(may_succeed_, call_)                                           \
    do {                                                                           \
        int result_;                                                               \
        if (!proftrace_capture_is_on() || !(may_succeed_) || !state_before_exec()) \
            return call_;                                                          \
        result_ = call_;                                                           \
        state_exec_failed();                                                       \
        return result_;                                                            \
    } while (0)

EXPORT int execve(const char *path, char *const *argv, char *const *envp)
{
    AROUND_EXEC(can_succeed(path), real.execve(path, argv, envp));
}

EXPORT int execv(const char *path, char *const *argv)
{
    AROUND_EXEC(can_succeed(path), real.execv(path, argv));
}

EXPORT int fexecve(int fd, char *const *argv, char *const *envp)
{
    AROUND_EXEC(true, real.fexecve(fd, argv, envp));
}

EXPORT int execvpe(const char *file, char *const *argv, char *const *envp)
{
    AROUND_EXEC(true, real.execvpe(file, argv, envp));
}

EXPORT int execvp(const char *file, char *const *argv)
{
    AROUND_EXEC(true, real.execvp(file, argv));
}

/* Turns the arguments up to NULL into an array, on the caller's stack: exec may not allocate. */
#define COLLECT_ARGUMENTS(argv_, first_, rest_)             \
    do {                                                    \
        va_list count_;                                     \
        size_t n_ = 1, i_ = 1;                              \
        va_copy(count_, rest_);                             \
        while (va_arg(count_, char *) != NULL)              \
            n_++;                                           \
        va_end(count_);                                     \
        argv_ = __builtin_alloca((n_ + 1) * sizeof *argv_); \
        argv_[0] = (char *)(uintptr_t)(first_);             \
        while ((argv_[i_] = va_arg(rest_, char *)) != NULL) \
            i_++;                                           \
    } while (0)

EXPORT int execl(const char *path, const char *first, ...)
{
    char **argv;
    va_list rest;
    va_start(rest, first);
    COLLECT_ARGUMENTS(argv, first, rest);
    va_end(rest);
    return execve(path, argv, environ);
}

EXPORT int execlp(const char *file, const char *first, ...)
{
    char **argv;
    va_list rest;
    va_start(rest, first);
    COLLECT_ARGUMENTS(argv, first, rest);
    va_end(rest);
    return execvp(file, argv);
}

EXPORT int execle(const char *path, const char *first, ...)
{
    char **argv;
    char *const *envp;
    va_list rest;
    va_start(rest, first);
    COLLECT_ARGUMENTS(argv, first, rest);
    envp = va_arg(rest, char *const *);
    va_end(rest);
    return execve(path, argv, envp);
}

/* ---- exit --------------------------------------------------------------------------------- */

/* Whether a signal that this thread sends to its process ends it before kill returns. */
static bool is_deadly(int signal_number)
{
    struct sigaction action;
    sigset_t blocked;
    return sigaction(signal_number, NULL, &action) == 0 && action.sa_handler == SIG_DFL &&
           pthread_sigmask(SIG_BLOCK, NULL, &blocked) == 0 &&
           sigismember(&blocked, signal_number) == 0;
}

/*
 * Python ends so after a KeyboardInterrupt that nobody caught: everything is finalized, and the
 * shell is to see that it was SIGINT. Process 1 of a container survives signals of its own.
 */
EXPORT int kill(pid_t pid, int signal_number)
{
    int saved = errno;
    if (real.kill == NULL && !(real_resolve() && real.kill != NULL))
        return errno = ENOSYS, -1;
    if (signal_number == SIGINT && pid == getpid() && pid != 1 && is_deadly(signal_number))
        state_finish();
    errno = saved;
    return real.kill(pid, signal_number);
}

/* Called for what a program finds wrong with itself; a fault's own signal does not come here. */
EXPORT void abort(void)
{
    if (real.abort == NULL)
        (void)real_resolve();
    state_finish();
    real.abort();
    __builtin_unreachable();
}

EXPORT void _exit(int status)
{
    state_finish();
    real._exit(status);
    __builtin_unreachable();
}

EXPORT void _Exit(int status)
{
    state_finish();
    real._Exit(status);
    __builtin_unreachable();
}

EXPORT void quick_exit(int status)
{
    state_finish();
    real.quick_exit(status);
    __builtin_unreachable();
}

__attribute__((destructor)) static void finish_at_unload(void)
{
    state_finish();
}

/* ---- load --------------------------------------------------------------------------------- */

#define PRELOAD "LD_PRELOAD="
#define PRELOAD_BEFORE "PROFTRACE_PRELOAD_BEFORE="

static char **find_variable(const char *name_and_equals)
{
    char **at = environ;
    if (at == NULL)
        return NULL;
    while (*at != NULL && strncmp(*at, name_and_equals, strlen(name_and_equals)) != 0)
        at++;
    return *at == NULL ? NULL : at;
}

static void remove_variable(char **at)
{
    do
        at[0] = at[1];
    while (*at++ != NULL);
}

/*
 * Takes this library out of the environment again, so that neither the program nor its children
 * see it. In place: what was there before us is never longer than what is there now.
 */
__attribute__((constructor)) static void leave_environment(void)
{
    Dl_info ours;
    char **preload = find_variable(PRELOAD);
    char **before = find_variable(PRELOAD_BEFORE);
    if (preload == NULL || dladdr(&capture_on, &ours) == 0 ||
        strstr(*preload, ours.dli_fname) == NULL)
        return;
    if (before == NULL) {
        remove_variable(preload);
        return;
    }
    const char *value = *before + strlen(PRELOAD_BEFORE);
    if (strlen(value) <= strlen(*preload + strlen(PRELOAD)))
        strcpy(*preload + strlen(PRELOAD), value);
    remove_variable(before);
}
