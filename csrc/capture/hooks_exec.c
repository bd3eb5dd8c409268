/*
 * hooks_exec.c - the ways in which a process becomes another program or starts one.
 *
 * Before an exec the log is ended; should the call fail that is taken back. Where children are
 * followed, each gets in its environment what makes a Python record (follow.h). The C library's own
 * calls, from posix_spawn and system, do not come here; so those have hooks of their own.
 */
#include "base/arena.h" /* pages */
#include "capture/follow.h"
#include "capture/forks.h"
#include "capture/real.h"
#include "capture/state.h"

#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h> /* popen */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

/* ---- exec --------------------------------------------------------------------------------- */

enum exec_kind { EXEC_PATH, EXEC_SEARCHED, EXEC_DESCRIPTOR, EXEC_AT };

struct exec_call {
    enum exec_kind kind;
    const char *file;
    int fd;
    int flags;
    char *const *argv;
    char *const *envp;
};

static int call_real(const struct exec_call *call)
{
    switch (call->kind) {
    case EXEC_PATH:
        return real.execve(call->file, call->argv, call->envp);
    case EXEC_SEARCHED:
        return real.execvpe(call->file, call->argv, call->envp);
    case EXEC_DESCRIPTOR:
        return real.fexecve(call->fd, call->argv, call->envp);
    case EXEC_AT:
        return real.execveat(call->fd, call->file, call->argv, call->envp, call->flags);
    }
    return -1;
}

/*
 * A file that cannot be run makes the call fail for sure: then nothing has to be ended for it.
 * Programs that search PATH themselves try many of these.
 */
static bool can_succeed(const struct exec_call *call)
{
    struct stat there;
    int saved = errno;
    bool can = call->kind != EXEC_PATH || (stat(call->file, &there) == 0 &&
                                           S_ISREG(there.st_mode) && access(call->file, X_OK) == 0);
    errno = saved;
    return can;
}

static bool runs_python(const struct exec_call *call)
{
    return call->file != NULL && follow_is_python(call->file);
}

/* A child of vfork: it shares the memory of the process that records, and is another one. */
static bool is_borrowing(void)
{
    return proftrace_capture_is_on() && getpid() != capture.pid;
}

/* Counts a child for what it becomes; `sign` is -1 to take that back. */
static void count_exec(const struct exec_call *call, int sign)
{
    if (follow_is_on())
        follow_count(runs_python(call) ? sign : 0, 0);
    else if (forks_child_is_counted())
        follow_count(0, runs_python(call) ? 0 : -sign);
    else if (is_borrowing())
        follow_count(0, runs_python(call) ? sign : 0);
}

static int run_exec(struct exec_call call)
{
    bool ended;
    int result;
    if (follow_is_on())
        call.envp = follow_environ(call.envp, __builtin_alloca(follow_environ_bytes(call.envp)));
    if (!can_succeed(&call))
        return call_real(&call);
    count_exec(&call, 1);
    ended = proftrace_capture_is_on() && state_before_exec();
    result = call_real(&call);
    if (ended)
        state_exec_failed();
    count_exec(&call, -1);
    return result;
}

EXPORT int execve(const char *path, char *const *argv, char *const *envp)
{
    return run_exec((struct exec_call){EXEC_PATH, path, -1, 0, argv, envp});
}

EXPORT int execv(const char *path, char *const *argv)
{
    return run_exec((struct exec_call){EXEC_PATH, path, -1, 0, argv, environ});
}

EXPORT int fexecve(int fd, char *const *argv, char *const *envp)
{
    return run_exec((struct exec_call){EXEC_DESCRIPTOR, NULL, fd, 0, argv, envp});
}

EXPORT int execveat(int fd, const char *path, char *const *argv, char *const *envp, int flags)
{
    if (real.execveat == NULL)
        return errno = ENOSYS, -1;
    return run_exec((struct exec_call){EXEC_AT, path, fd, flags, argv, envp});
}

EXPORT int execvpe(const char *file, char *const *argv, char *const *envp)
{
    return run_exec((struct exec_call){EXEC_SEARCHED, file, -1, 0, argv, envp});
}

EXPORT int execvp(const char *file, char *const *argv)
{
    return run_exec((struct exec_call){EXEC_SEARCHED, file, -1, 0, argv, environ});
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

/* ---- spawn -------------------------------------------------------------------------------- */

static void count_spawned(bool is_python)
{
    if (!is_python)
        return;
    if (follow_is_on())
        follow_count(1, 0);
    else if (proftrace_capture_is_on())
        follow_count(0, 1);
}

#define SPAWN_HOOK(name_)                                                                       \
    EXPORT int name_(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,   \
                     const posix_spawnattr_t *attributes, char *const *argv, char *const *envp) \
    {                                                                                           \
        int error;                                                                              \
        if (real.name_ == NULL && !(real_resolve() && real.name_ != NULL))                      \
            return ENOSYS;                                                                      \
        if (follow_is_on())                                                                     \
            envp = follow_environ(envp, __builtin_alloca(follow_environ_bytes(envp)));          \
        error = real.name_(pid, file, actions, attributes, argv, envp);                         \
        if (error == 0)                                                                         \
            count_spawned(follow_is_python(file));                                              \
        return error;                                                                           \
    }
SPAWN_HOOK(posix_spawn)
SPAWN_HOOK(posix_spawnp)

/* ---- commands for a shell ----------------------------------------------------------------- */

/* What is run for a command: it, or one that exports more first. */
struct shell_command {
    const char *text;
    void *pages; /* owned, NULL = none */
    size_t n_bytes;
};

static struct shell_command prepare_command(const char *text)
{
    struct shell_command command = {.text = text};
    if (text == NULL)
        return command;
    count_spawned(strstr(text, "python") != NULL);
    if (!follow_is_on())
        return command;
    command.n_bytes = follow_command_bytes(text);
    command.pages = pages_alloc(command.n_bytes);
    if (command.pages != NULL)
        command.text = follow_command(text, command.pages);
    return command;
}

EXPORT int system(const char *text)
{
    struct shell_command command;
    int status;
    if (real.system == NULL && !(real_resolve() && real.system != NULL))
        return errno = ENOSYS, -1;
    command = prepare_command(text);
    status = real.system(command.text);
    pages_free(command.pages, command.n_bytes);
    return status;
}

EXPORT FILE *popen(const char *text, const char *mode)
{
    struct shell_command command;
    FILE *stream;
    if (real.popen == NULL && !(real_resolve() && real.popen != NULL))
        return errno = ENOSYS, NULL;
    command = prepare_command(text);
    stream = real.popen(command.text, mode);
    pages_free(command.pages, command.n_bytes);
    return stream;
}
