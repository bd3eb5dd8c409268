/*
 * ending.h - the end of a session, however the process ends: writes the result once, then starts
 * the report as a child and waits for it.
 *
 * Knows no Python, so that it can run in a signal handler. Only the process that started the
 * session ends it; in a forked child every function here does nothing. If several threads come to
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
    bool has_targets;     /* not only what is decorated: others say what of it never ran */
};

/* Keeps a copy of the settings (not of the texts); call once, before the functions below. */
void ending_prepare(const struct ending_settings *settings);

/* Writes the result, once. */
void ending_write(void);
/* Shows the report, or says where the result is; once, and only after a result was written. */
void ending_report(void);

/*
 * exec is about to replace the process: writes and reports, but lets the session go on, since the
 * call may fail yet. The result is then written again at the real end.
 */
void ending_before_exec(void);

/*
 * Lets SIGTERM and SIGHUP write the result before they end the process, where they would have
 * ended it at once. A handler of the program takes the place of ours.
 */
void ending_watch_signals(void);

#endif
