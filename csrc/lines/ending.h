/*
 * ending.h - the end of a session, however the process ends: writes the result once, then starts
 * the report as a child and waits for it.
 *
 * Knows no Python, so that it can run in a signal handler. Only the process that started the
 * session ends it, and each forked child that is followed its own (ending_restart); in any other
 * child every function here does nothing. If several threads come to
 * the end together, one does the work and the others wait for it.
 */
#ifndef PROFTRACE_LINES_ENDING_H
#define PROFTRACE_LINES_ENDING_H

#include "lines/result.h"

#include <stdbool.h>

struct ending_settings {
    struct result_settings result;
    char *const *report;  /* command line of the report, NULL-terminated; NULL = none wanted */
    char *const *environ; /* its environment */
    bool quiet;           /* do not say where the result is */
    const char *parts;    /* folder of the results of followed processes; NULL = none are */
    bool is_child;        /* followed: its result is one of them */
    bool has_targets;     /* not only what is decorated: others say what of it never ran */
};

/* Keeps a copy of the settings (not of the texts); call once, before the functions below. */
void ending_prepare(const struct ending_settings *settings);

/* Writes the result, once. */
void ending_write(void);
/* The program is not going to run: there is no result, and what has its name stays as it is. */
void ending_abandon(void);
/* Writes what there is so far, and lets the session go on. */
void ending_save(void);
/* Shows the report, or says where the result is; once, and only after a result was written. */
void ending_report(void);

/*
 * exec is about to replace the process: writes and reports, but lets the session go on, since the
 * call may fail yet. The result is then written again at the real end. `stays_followed`: what it
 * becomes goes on with the session, so this is one part of the result.
 */
void ending_before_exec(bool stays_followed);
void ending_exec_failed(void);

/*
 * In a forked child that is followed: a session of its own begins, whose result is a part. The
 * settings are those of the process; path and temporary are made up.
 */
void ending_restart(const struct result_settings *process);

/* A child is about to be: makes the folder for its result. That it is gone tells it later that the
 * first process has ended. */
void ending_expect_children(void);

/*
 * Lets SIGTERM and SIGHUP write the result before they end the process, where they would have
 * ended it at once. A handler of the program takes the place of ours.
 */
void ending_watch_signals(void);

#endif
