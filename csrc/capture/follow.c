/* follow.c - see follow.h. */
#include "capture/follow.h"

#include "base/arena.h" /* raw_mmap */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

static struct follow_settings settings;
static bool is_on; /* atomic */

void follow_set(const struct follow_settings *wanted)
{
    __atomic_store_n(&is_on, false, __ATOMIC_RELEASE);
    if (wanted == NULL)
        return;
    settings = *wanted;
    __atomic_store_n(&is_on, true, __ATOMIC_RELEASE);
}

bool follow_is_on(void)
{
    return __atomic_load_n(&is_on, __ATOMIC_ACQUIRE) &&
           (settings.only_pid == 0 || settings.only_pid == getpid());
}

/* ---- environments ------------------------------------------------------------------------- */

/* The entries that are made anew, and so not copied. */
static const char *const replaced[] = {PRELOAD_VARIABLE, PRELOAD_BEFORE_VARIABLE, PATH_VARIABLE,
                                       BOOT_VARIABLE};
#define N_REPLACED (sizeof replaced / sizeof replaced[0])

/* The value of a variable ("NAME="), or NULL. */
static const char *value_of(char *const *envp, const char *name)
{
    size_t n = strlen(name);
    for (; envp != NULL && *envp != NULL; envp++) {
        if (strncmp(*envp, name, n) == 0)
            return *envp + n;
    }
    return NULL;
}

static bool is_replaced(const char *entry)
{
    for (size_t i = 0; i < N_REPLACED; i++) {
        if (strncmp(entry, replaced[i], strlen(replaced[i])) == 0)
            return true;
    }
    return false;
}

static size_t n_entries(char *const *envp)
{
    size_t n = 0;
    while (envp != NULL && envp[n] != NULL)
        n++;
    return n;
}

static size_t length(const char *text)
{
    return text == NULL ? 0 : strlen(text);
}

size_t follow_environ_bytes(char *const *envp)
{
    size_t n_texts = 2 * length(value_of(envp, PRELOAD_VARIABLE)) +
                     length(value_of(envp, PATH_VARIABLE)) + strlen(settings.library) +
                     strlen(settings.boot_folder) + strlen(settings.boot) + 8;
    for (size_t i = 0; i < N_REPLACED; i++)
        n_texts += strlen(replaced[i]);
    return (n_entries(envp) + N_REPLACED + 1) * sizeof(char *) + n_texts;
}

/* Puts "NAME=first:rest" at *to; without first or rest only the other. */
static char *put_entry(char **to, const char *name, const char *first, const char *rest)
{
    char *entry = *to;
    char *end = stpcpy(entry, name);
    if (first != NULL)
        end = stpcpy(end, first);
    if (first != NULL && rest != NULL)
        *end++ = ':';
    if (rest != NULL)
        end = stpcpy(end, rest);
    *to = end + 1;
    *end = '\0';
    return entry;
}

/* An empty PYTHONPATH is none; behind a ':' it would be the current folder. */
static const char *none_if_empty(const char *value)
{
    return length(value) == 0 ? NULL : value;
}

/* PYTHONPATH without our folder, which is there where a program passes on what its child gets. */
static const char *path_before(char *const *envp)
{
    const char *path = value_of(envp, PATH_VARIABLE);
    size_t n = strlen(settings.boot_folder);
    if (path != NULL && strncmp(path, settings.boot_folder, n) == 0)
        return path[n] == ':' ? path + n + 1 : path[n] == '\0' ? NULL : path;
    return path;
}

char **follow_environ(char *const *envp, void *room)
{
    char **out = room;
    char *texts = (char *)(out + n_entries(envp) + N_REPLACED + 1);
    const char *preload = value_of(envp, PRELOAD_VARIABLE);
    size_t n = 0;
    /* The program may have been given what is meant for its child: then it is there already. */
    if (preload != NULL && strstr(preload, settings.library) != NULL)
        preload = value_of(envp, PRELOAD_BEFORE_VARIABLE);
    for (size_t i = 0; envp != NULL && envp[i] != NULL; i++) {
        if (!is_replaced(envp[i]))
            out[n++] = envp[i];
    }
    out[n++] = put_entry(&texts, PRELOAD_VARIABLE, settings.library, none_if_empty(preload));
    if (preload != NULL)
        out[n++] = put_entry(&texts, PRELOAD_BEFORE_VARIABLE, preload, NULL);
    out[n++] =
        put_entry(&texts, PATH_VARIABLE, settings.boot_folder, none_if_empty(path_before(envp)));
    out[n++] = put_entry(&texts, BOOT_VARIABLE, settings.boot, NULL);
    out[n] = NULL;
    return out;
}

/* ---- shell commands ----------------------------------------------------------------------- */

#define QUOTE_BYTES 4 /* for each ' in a text: '\'' */

size_t follow_command_bytes(const char *command)
{
    return strlen(command) + (1 + QUOTE_BYTES) * follow_environ_bytes(environ) + 64;
}

/* Puts a text that the shell takes as it is. */
static char *put_quoted(char *to, const char *text)
{
    *to++ = '\'';
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            to = stpcpy(to, "'\\'");
        *to++ = *text;
    }
    *to++ = '\'';
    return to;
}

const char *follow_command(const char *command, void *room)
{
    char **child = follow_environ(environ, room);
    char *start = (char *)room + follow_environ_bytes(environ);
    char *to = stpcpy(start, "export");
    for (; *child != NULL; child++) {
        const char *equals = strchr(*child, '=');
        if (!is_replaced(*child) || equals == NULL)
            continue;
        *to++ = ' ';
        to = mempcpy(to, *child, (size_t)(equals - *child) + 1);
        to = put_quoted(to, equals + 1);
    }
    to = stpcpy(to, "; ");
    strcpy(to, command);
    return start;
}

/* ---- what is a Python --------------------------------------------------------------------- */

static bool is_named_python(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strncmp(slash == NULL ? path : slash + 1, "python", 6) == 0;
}

static bool is_running_file(const char *path)
{
    struct stat there, ours;
    return stat(path, &there) == 0 && stat("/proc/self/exe", &ours) == 0 &&
           there.st_dev == ours.st_dev && there.st_ino == ours.st_ino;
}

static bool is_python_script(const char *path)
{
    char line[128] = "";
    char *end;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd < 0 ? 0 : read(fd, line, sizeof line - 1);
    if (fd >= 0)
        close(fd);
    if (n < 2 || line[0] != '#' || line[1] != '!')
        return false;
    end = memchr(line, '\n', (size_t)n);
    if (end != NULL)
        *end = '\0';
    return strstr(line, "python") != NULL;
}

bool follow_is_python(const char *path)
{
    int saved = errno;
    bool is = is_named_python(path) || is_running_file(path) || is_python_script(path);
    errno = saved;
    return is;
}

/* ---- how many ----------------------------------------------------------------------------- */

static struct follow_counts *counts; /* shared with forked children; its members are atomic */

int follow_counts_start(void)
{
    void *page;
    if (counts == NULL) {
        page = raw_mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                        -1, 0);
        if (page == MAP_FAILED)
            return -1;
        counts = page;
    }
    *counts = (struct follow_counts){0, 0};
    return 0;
}

void follow_count(int recorded, int not_recorded)
{
    if (counts == NULL)
        return;
    __atomic_fetch_add(&counts->recorded, (uint32_t)recorded, __ATOMIC_RELAXED);
    __atomic_fetch_add(&counts->not_recorded, (uint32_t)not_recorded, __ATOMIC_RELAXED);
}

struct follow_counts follow_counts(void)
{
    return counts == NULL ? (struct follow_counts){0, 0} : *counts;
}
