/* build.c - see build.h. */
#include "profile/build.h"

#include "profile/log_checkpoint.h"
#include "profile/merge.h"

static int apply_events(struct built_profile *profile, struct merge *merge)
{
    struct event event;
    uint32_t stream;
    while (merge_next(merge, &event, &stream)) {
        uint32_t thread = profile->log.streams.items[stream].thread_row;
        uint32_t stack = stacks_row_of_node(&profile->stacks, event.node);
        enum apply_verdict verdict =
            history_apply(&profile->history, &event, stream, thread, stack);
        if (verdict == APPLY_NO_MEMORY)
            return -1;
        if (verdict == APPLY_MALFORMED) {
            profile->events_damaged = true;
            profile->log.damaged_at = merge->cursors.items[stream].block_at;
            return 0;
        }
        profile->n_events_kept++;
    }
    profile->events_damaged = profile->events_damaged || merge->damaged;
    return merge->no_memory ? -1 : 0;
}

static void start_history(struct built_profile *profile)
{
    profile->history.sample_bytes = profile->log.header.sample_bytes;
    profile->history.python_heap.traced =
        (profile->log.header.options & OPTION_PYTHON_ALLOCATORS) != 0;
}

/* One that does not agree with itself counts for nothing: what comes behind it would be wrong. */
static int load_checkpoint(struct built_profile *profile)
{
    enum checkpoint_verdict verdict = CHECKPOINT_OK;
    if (profile->log.checkpoint.is_complete)
        verdict = log_checkpoint_load(&profile->log, &profile->stacks, &profile->history);
    if (verdict == CHECKPOINT_MALFORMED) {
        history_release(&profile->history);
        profile->history = (struct history){0};
        start_history(profile);
        profile->events_damaged = true;
    }
    return verdict == CHECKPOINT_NO_MEMORY ? -1 : 0;
}

static int reduce_events(struct built_profile *profile)
{
    struct merge merge;
    int failed = merge_init(&merge, &profile->log);
    start_history(profile);
    if (failed == 0)
        failed = load_checkpoint(profile);
    if (failed == 0)
        failed = apply_events(profile, &merge);
    merge_release(&merge);
    history_finish(&profile->history);
    return failed;
}

#define OPEN_ATTEMPTS 5

/*
 * While its process runs, a block may be written and the ring emptied between the two looks, or
 * both be finished and the ring removed: then they are looked at again. Only what is new is read of
 * the log, so that the time between the looks gets shorter and shorter.
 */
int profile_open_log(struct log_reader *log, const char *path, size_t start,
                     struct read_error *error)
{
    int another = 1;
    for (int attempt = 1;; attempt++) {
        if (attempt > 1) {
            another = log_reader_follow(log, path, error);
            if (another == 1)
                log_reader_release(log);
        }
        if (another < 0 || (another == 1 && log_reader_open_at(log, path, start, error) != 0))
            return -1;
        /* A merged file holds what was in the rings. */
        if (log->ending == LOG_ENDED || start != 0 || log->next_log != 0)
            return 0;
        if (log_reader_add_ring(log, path, error) != 0)
            return -1;
        if ((log->ring != NULL && log->n_missing == 0) || attempt == OPEN_ATTEMPTS ||
            !log_reader_file_changed(log, path))
            return 0;
    }
}

static int build_stacks(struct built_profile *profile, bool show_native)
{
    const bool has_native = (profile->log.header.options & OPTION_NATIVE) != 0;
    if (stacks_build(&profile->stacks, &profile->log.dict, has_native) != 0)
        return -1;
    return has_native
               ? hybrids_build(&profile->hybrids, &profile->stacks, &profile->log.dict, show_native)
               : 0;
}

int profile_build(struct built_profile *profile, const char *path, struct read_error *error)
{
    return profile_build_at(profile, path, 0, true, error);
}

int profile_build_at(struct built_profile *profile, const char *path, size_t start,
                     bool show_native, struct read_error *error)
{
    *profile = (struct built_profile){0};
    if (profile_open_log(&profile->log, path, start, error) != 0)
        return -1;
    if (build_stacks(profile, show_native) != 0 || reduce_events(profile) != 0 ||
        line_results_build(&profile->results, &profile->stacks, &profile->log.dict) != 0)
        return read_fail_memory(error);
    profile->n_lost = profile->history.n_lost;
    if (profile->log.end.n_lost > profile->n_lost)
        profile->n_lost = profile->log.end.n_lost;
    return 0;
}

void profile_release(struct built_profile *profile)
{
    line_results_release(&profile->results);
    history_release(&profile->history);
    stacks_release(&profile->stacks);
    hybrids_release(&profile->hybrids);
    log_reader_release(&profile->log);
}
