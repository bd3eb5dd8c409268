/*
 * build.h - a log file as the tables of a report: the whole reading side in one call.
 *
 * One pass over the events with memory for what is live, one entry a site, and one block a stream.
 * Peak and totals cover the whole log; leaks are what is live at the end-of-script mark, or at the
 * end of a log without one.
 */
#ifndef PROFTRACE_PROFILE_BUILD_H
#define PROFTRACE_PROFILE_BUILD_H

#include "history/history.h"
#include "profile/hybrids.h"
#include "profile/line_results.h"
#include "profile/log_reader.h"
#include "profile/stacks.h"

struct built_profile {
    struct log_reader log;
    struct stacks stacks;
    struct hybrids hybrids; /* keeps texts that the stacks show */
    struct history history;
    struct line_results results;
    bool events_damaged;    /* a block passed its checksum and still made no sense */
    uint64_t n_events_kept; /* events that are in the log one by one */
    uint64_t n_lost;        /* events that were never recorded, as the log itself says */
};

/* Opens a log with its ring. -1 with the reason in *error. Release it in both cases. */
NODISCARD int profile_open_log(struct log_reader *log, const char *path, size_t start,
                               struct read_error *error);

/*
 * The log that begins at `start` of a file; see log_reader_open_at. Without `show_native` the
 * stacks of a capture with native ones show their Python frames only. -1 with the reason in *error.
 * Release it in both cases.
 */
NODISCARD int profile_build_at(struct built_profile *profile, const char *path, size_t start,
                               bool show_native, struct read_error *error);
NODISCARD int profile_build(struct built_profile *profile, const char *path,
                            struct read_error *error);
void profile_release(struct built_profile *profile);

#endif
