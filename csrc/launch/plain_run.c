/* plain_run.c - see plain_run.h. */
#include "launch/plain_run.h"

#include <fcntl.h>
#include <stdio.h> /* snprintf */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_word(const char *word, const char *short_form, const char *long_form)
{
    return strcmp(word, short_form) == 0 || strcmp(word, long_form) == 0;
}

/* The words up to the program and its arguments. *output becomes NULL if there is no -o. */
static bool read_words(struct plain_run *run, char **words, const char **output)
{
    *output = NULL;
    for (; *words != NULL; words++) {
        const char *word = *words;
        if (is_word(word, "-f", "--force")) {
            run->force = true;
        } else if (is_word(word, "-q", "--quiet")) {
            run->quiet = true;
        } else if (strcmp(word, "--trace-python-allocators") == 0) {
            run->python_allocators = true;
        } else if (is_word(word, "-o", "--output")) {
            *output = *++words;
            if (*output == NULL || **output == '-' || **output == '\0')
                return false;
        } else if (strcmp(word, "-m") == 0 || strcmp(word, "-c") == 0) {
            run->kind = word[1] == 'm' ? TARGET_MODULE : TARGET_COMMAND;
            run->value = *++words;
            if (run->value == NULL || *run->value == '\0')
                return false;
            run->arguments = words + 1;
            return true;
        } else if (*word == '-') {
            return false;
        } else {
            run->kind = TARGET_SCRIPT;
            run->value = word;
            run->arguments = words + 1;
            return true;
        }
    }
    return false;
}

/* A file of text: what is a folder, a zip file or a pipe is looked at by others. */
static bool is_readable_script(const char *path, struct stat *about)
{
    char start[4] = {0};
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is_one;
    if (fd < 0)
        return false;
    is_one = fstat(fd, about) == 0 && S_ISREG(about->st_mode) &&
             read(fd, start, sizeof start) >= 0 &&
             memcmp(start,
                    "\x7f"
                    "ELF",
                    4) != 0 &&
             memcmp(start, "PK", 2) != 0;
    close(fd);
    return is_one;
}

/* Whether a path has no part that would have to be worked out. */
static bool is_straight(const char *path)
{
    const size_t n = strlen(path);
    return strstr(path, "//") == NULL && strstr(path, "/./") == NULL &&
           strstr(path, "/../") == NULL && strncmp(path, "./", 2) != 0 &&
           strncmp(path, "../", 3) != 0 && n != 0 && path[n - 1] != '/' && path[n - 1] != '.';
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static bool name_output(struct plain_run *run, const char *given)
{
    char name[PATH_MAX], folder[PATH_MAX];
    const char *base = run->kind == TARGET_COMMAND  ? "command"
                       : run->kind == TARGET_MODULE ? run->value
                                                    : last_part(run->value);
    int n;
    if (given == NULL) {
        n = snprintf(name, sizeof name, "memtrace-%s.%ld.bin", base, (long)getpid());
        if (n < 0 || (size_t)n >= sizeof name)
            return false;
        given = name;
    }
    if (!is_straight(given))
        return false;
    if (*given == '/')
        n = snprintf(run->output, sizeof run->output, "%s", given);
    else if (getcwd(folder, sizeof folder) == NULL || !is_straight(folder))
        return false;
    else
        n = snprintf(run->output, sizeof run->output, "%s/%s", folder, given);
    return n > 0 && (size_t)n < sizeof run->output;
}

static bool is_same_file(const struct stat *one, const struct stat *other)
{
    return one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

/* Whether what the program prints goes into this file. */
static bool is_own_output(const struct stat *file)
{
    struct stat output;
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fstat(fd, &output) == 0 && is_same_file(&output, file))
            return true;
    }
    return false;
}

/* Whether nothing speaks against writing there; a link is to be followed first. */
static bool may_write(const struct plain_run *run, const struct stat *script)
{
    char folder[PATH_MAX], resolved[PATH_MAX];
    struct stat there;
    char *slash;
    strcpy(folder, run->output);
    slash = strrchr(folder, '/');
    slash[slash == folder] = '\0';
    if (stat(folder, &there) != 0 || !S_ISDIR(there.st_mode) || access(folder, W_OK | X_OK) != 0)
        return false;
    if (lstat(run->output, &there) != 0)
        return true;
    return run->force && S_ISREG(there.st_mode) && access(run->output, W_OK) == 0 &&
           realpath(run->output, resolved) != NULL && strcmp(resolved, run->output) == 0 &&
           (script == NULL || !is_same_file(&there, script)) && !is_own_output(&there);
}

bool plain_run_read(struct plain_run *run, char **words)
{
    const char *output;
    struct stat script;
    memset(run, 0, sizeof *run);
    if (!read_words(run, words, &output))
        return false;
    if (run->kind == TARGET_SCRIPT &&
        (!is_readable_script(run->value, &script) || *last_part(run->value) == '.'))
        return false;
    return name_output(run, output) && may_write(run, run->kind == TARGET_SCRIPT ? &script : NULL);
}
