/*
 * plain_run.h - a `memtrace run` that needs nothing but options read from a table and a few looks
 * at files, as cli/run_options.py and cli/memtrace.py have it for every other.
 *
 * Whatever is unusual, let alone wrong, is left to those: they have the words for it.
 */
#ifndef PROFTRACE_LAUNCH_PLAIN_RUN_H
#define PROFTRACE_LAUNCH_PLAIN_RUN_H

#include <limits.h> /* PATH_MAX */
#include <stdbool.h>

enum target_kind { TARGET_SCRIPT, TARGET_MODULE, TARGET_COMMAND };

struct plain_run {
    bool force;
    bool quiet;
    bool python_allocators;
    enum target_kind kind;
    const char *value;     /* script, module or text of a program */
    char **arguments;      /* of the program, with a NULL at the end */
    char output[PATH_MAX]; /* absolute */
};

/*
 * Reads the words behind "run". False: not a plain one, or the target or output is not as it has to
 * be.
 */
bool plain_run_read(struct plain_run *run, char **words);

#endif
