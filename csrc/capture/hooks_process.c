/*
 * hooks_process.c - the ways in which a process ends without the destructors of its libraries, and
 * what happens when ours is loaded. See hooks_exec.c for those in which it becomes another one.
 */
#include "base/arena.h" /* pages */
#include "capture/follow.h"
#include "capture/guard.h"
#include "capture/real.h"
#include "capture/state.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

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
    state_finish_suddenly();
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
 * Takes this library out of LD_PRELOAD again, so that neither the program nor its children see it.
 * In place: what was there before us is never longer than what is there now.
 */
static void restore_preload(char **preload)
{
    char **before = find_variable(PRELOAD_BEFORE_VARIABLE);
    if (before == NULL) {
        remove_variable(preload);
        return;
    }
    const char *value = *before + strlen(PRELOAD_BEFORE_VARIABLE);
    if (strlen(value) <= strlen(*preload + strlen(PRELOAD_VARIABLE)))
        strcpy(*preload + strlen(PRELOAD_VARIABLE), value);
    remove_variable(before);
}

/*
 * Keeps what is meant for a Python, for what this process starts: the first folder of PYTHONPATH
 * and the settings. Copies, since a program may write over its environment. False: there is
 * nothing.
 */
static bool keep_boot(const char *library)
{
    char **boot = find_variable(BOOT_VARIABLE);
    char **path = find_variable(PATH_VARIABLE);
    const char *folder;
    size_t n_folder;
    char *texts;
    if (boot == NULL || path == NULL)
        return false;
    folder = *path + strlen(PATH_VARIABLE);
    n_folder = strcspn(folder, ":");
    texts = pages_alloc(n_folder + 1 + strlen(*boot) + 1);
    if (texts == NULL)
        return false;
    memcpy(texts, folder, n_folder);
    strcpy(texts + n_folder + 1, *boot + strlen(BOOT_VARIABLE));
    /* What is not meant for children is meant for the program that this one becomes. */
    follow_set(&(struct follow_settings){
        .library = library,
        .boot_folder = texts,
        .boot = texts + n_folder + 1,
        .only_pid = strstr(texts + n_folder + 1, "'child': True") != NULL ? 0 : getpid()});
    return true;
}

static void remove_boot(void)
{
    char **path = find_variable(PATH_VARIABLE);
    char *value = *path + strlen(PATH_VARIABLE);
    size_t n_folder = strcspn(value, ":");
    if (value[n_folder] == ':')
        memmove(value, value + n_folder + 1, strlen(value + n_folder + 1) + 1);
    else
        remove_variable(path);
    remove_variable(find_variable(BOOT_VARIABLE));
}

/* Whether this Python is told not to read PYTHONPATH, or not to import the site module. */
static bool ignores_boot(int argc, char **argv)
{
    for (int i = 1; i < argc && argv[i][0] == '-' && argv[i][1] != '\0'; i++) {
        const char *letter = argv[i] + 1;
        if (strcmp(argv[i], "--check-hash-based-pycs") == 0)
            i++;
        if (*letter == '-')
            continue;
        for (; *letter != '\0' && strchr("mcWX", *letter) == NULL; letter++) {
            if (strchr("IES", *letter) != NULL)
                return true;
        }
        if (*letter == 'm' || *letter == 'c')
            return false;
        if (*letter != '\0' && letter[1] == '\0')
            i++; /* the option's value */
    }
    return false;
}

/* glibc hands a constructor what main gets; elsewhere no option is looked for. */
__attribute__((constructor)) static void leave_environment(int argc, char **argv)
{
    Dl_info ours;
    char **preload = find_variable(PRELOAD_VARIABLE);
    if (preload == NULL || dladdr(&capture_on, &ours) == 0 ||
        strstr(*preload, ours.dli_fname) == NULL)
        return;
    restore_preload(preload);
    /* A Python reads it when it starts; what comes between two of them has no use for it. */
    if (keep_boot(ours.dli_fname) && (dlsym(RTLD_DEFAULT, "_PyRuntime") == NULL ||
                                      (CONSTRUCTORS_GET_ARGUMENTS && ignores_boot(argc, argv))))
        remove_boot();
}
