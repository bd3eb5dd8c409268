/*
 * follow.h - children by exec and spawn: what their environment needs, so that a Python among them
 * records too, and how many there were that did not.
 *
 * The variables are put in at the call, into a copy; the program's own environment never has them.
 * A process that is no Python (a shell in between) takes them out again when it starts and passes
 * them on to what it starts. Nothing here allocates: it runs in children of vfork.
 */
#ifndef PROFTRACE_CAPTURE_FOLLOW_H
#define PROFTRACE_CAPTURE_FOLLOW_H

#include "base/compiler.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define BOOT_VARIABLE "PROFTRACE_BOOT="
#define PRELOAD_VARIABLE "LD_PRELOAD="
#define PRELOAD_BEFORE_VARIABLE "PROFTRACE_PRELOAD_BEFORE="
#define PATH_VARIABLE "PYTHONPATH="

/* What a followed child gets; the texts stay valid until the process ends. */
struct follow_settings {
    const char *library;     /* this one, as LD_PRELOAD names it */
    const char *boot_folder; /* first in PYTHONPATH */
    const char *boot;        /* value of PROFTRACE_BOOT */
    pid_t only_pid;          /* the process that may pass it on; 0 = all */
};

/* NULL: children are not followed. */
void follow_set(const struct follow_settings *settings);
bool follow_is_on(void);

/* Bytes that follow_environ needs for a copy of envp. */
NODISCARD size_t follow_environ_bytes(char *const *envp);
/* Returns envp with what a followed child needs, in `room`. */
char **follow_environ(char *const *envp, void *room);

/* Bytes that follow_command needs for a shell's command. */
NODISCARD size_t follow_command_bytes(const char *command);
/* Returns a command that exports the same to what it starts, in `room`. */
const char *follow_command(const char *command, void *room);

/* Whether this file runs as a Python: by its name, as the running one, or by its first line. */
bool follow_is_python(const char *path);

/* ---- how many ----------------------------------------------------------------------------- */

/* Children that run Python, of this process and of its forked children. */
struct follow_counts {
    uint32_t recorded;
    uint32_t not_recorded;
};

/* Kept in memory that forked children share. Before the first of them; -1 without memory. */
NODISCARD int follow_counts_start(void);
void follow_count(int recorded, int not_recorded); /* differences */
struct follow_counts follow_counts(void);

#endif
