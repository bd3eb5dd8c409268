/* state.c - the capture of the process: starting, ending, and what becomes of it at exec. */
#include "capture/state.h"

#include "base/arena.h" /* pages */
#include "base/ticks.h"
#include "capture/follow.h"
#include "capture/forks.h"
#include "capture/gotpatch.h"
#include "capture/guard.h"
#include "capture/heap_account.h"
#include "capture/notice.h"
#include "capture/places.h"
#include "capture/recorder.h"
#include "capture/thread_names.h"
#include "capture/verify.h"
#include "format/pack.h" /* packer_bytes */

#include <errno.h>
#include <stdio.h> /* snprintf */
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <unistd.h>

#define FIRST_DICTIONARY_BYTES (64u << 10)

int capture_on LINE_PAIR;
struct capture_state capture = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int init_once(void)
{
    static bool done;
    if (done)
        return 0;
    if (recorder_init() != 0 || forks_watch() != 0)
        return -1;
    done = true;
    return 0;
}

/* ---- starting ----------------------------------------------------------------------------- */

bool state_thread_is_recorded(void)
{
    return proftrace_capture_is_on() && thread_self != NULL &&
           thread_self->session == capture.session;
}

/* A thread may still be in the middle of a walk for the capture before this one: nothing that it
 * reads may be gone for a moment. */
static const char *find_stacks(const struct interp_binding *binding)
{
    struct frame_reader *reader = &capture.reader;
    struct interp_layout layout = {0};
    const char *reason = "there is no interpreter";
    if (binding != NULL)
        reason = layout_find(&layout, binding);
    if (reason != NULL) {
        reader->binding = (struct interp_binding){0};
        return reason;
    }
    places_use(reader);
    if (memcmp(&reader->layout, &layout, sizeof layout) != 0)
        reader->layout = layout;
    if (memcmp(&reader->binding, binding, sizeof *binding) != 0)
        reader->binding = *binding;
    return NULL;
}

static struct file_header make_header(const struct capture_options *options, bool has_stacks)
{
    struct file_header header = {
        .content = FILE_HAS_MEMORY,
        .options = has_stacks ? 0 : OPTION_NO_PYTHON_STACKS,
        .start_wall_ns = wall_now_ns(),
        .start_mono_ns = mono_now_ns(),
        .pid = (uint32_t)getpid(),
        .ppid = (uint32_t)getppid(),
        .sample_bytes = capture.sampler.sample_bytes,
    };
    header.options |= options->python_allocators ? OPTION_PYTHON_ALLOCATORS : 0;
    if (options->native)
        header.options |= OPTION_NATIVE;
    header.options |= options->aggregate ? OPTION_AGGREGATE : 0;
    header.options |= options->ring_bytes != 0 ? OPTION_LAST_EVENTS : 0;
    if (options->binding != NULL) {
        header.python_hexversion = options->binding->hexversion;
        header.options |= options->binding->free_threaded ? OPTION_FREE_THREADED : 0;
    }
    if (getrandom(header.session_id, SESSION_ID_BYTES, GRND_NONBLOCK) != SESSION_ID_BYTES)
        memcpy(header.session_id, &header.start_wall_ns, sizeof header.start_wall_ns);
    return header;
}

/* The log with its header and first tables, in its place; then the ring. */
static int open_log(const struct capture_options *options, const struct file_header *header)
{
    struct ring_slot *first = pages_alloc(FIRST_DICTIONARY_BYTES);
    if (first == NULL || writer_open(&capture.writer, options->path, header) != 0) {
        pages_free(first, FIRST_DICTIONARY_BYTES);
        return -1;
    }
    definitions_start(&capture.dict, &capture.writer, &capture.reader.layout, first,
                      FIRST_DICTIONARY_BYTES);
    for (size_t i = 0; i < options->n_metas; i++)
        definitions_meta(&capture.dict, options->metas[i].key, options->metas[i].value);
    errno = ENOMEM;
    if (definitions_flush(&capture.dict) != 0 ||
        output_publish(&capture.writer.file, options->path, options->replace) != 0)
        goto failed;
    if (ring_file_create(&capture.ring, options->path, header->session_id, forks_are_seen()) != 0)
        goto failed;
    definitions_move(&capture.dict, capture.ring.dictionary, RING_DICTIONARY_BYTES);
    if (capture.ring.header == NULL)
        writer_add_option(&capture.writer, OPTION_NO_RING);
    pages_free(first, FIRST_DICTIONARY_BYTES);
    return 0;
failed:
    writer_discard(&capture.writer);
    pages_free(first, FIRST_DICTIONARY_BYTES);
    return -1;
}

static int open_locked(const struct capture_options *options, const char **no_stacks)
{
    struct file_header header;
    notice_start();
    prctl(PR_GET_NAME, capture.process_name);
    *no_stacks = find_stacks(options->binding);
    header = make_header(options, *no_stacks == NULL);
    verify_start_locked(options->verify && *no_stacks == NULL);
    if (bounded_start_locked(&capture.bounded, options) != 0)
        return -1;
    /* Now: when there is something to pack, the program may have left no room for it. */
    if (capture.packer == NULL && (capture.packer = pages_alloc(packer_bytes())) == NULL)
        return -1;
    if (open_log(options, &header) != 0)
        return -1;
    capture.pid = getpid();
    capture.quiet = options->quiet;
    capture.on_value = CAPTURE_EVENTS | CAPTURE_NEW;
    if (options->python_allocators)
        capture.on_value |= CAPTURE_PYTHON | CAPTURE_PYTHON_NEW;
    capture.has_native = options->native;
    if (options->native)
        native_start_locked(options->binding == NULL ? NULL : options->binding->runtime);
    capture.session++;
    capture.several_threads = 0;
    capture.last_seq = 0;
    capture.n_streams = 0;
    capture.n_lost = 0;
    capture.live = NULL;
    thread_names_keep(options->threads, options->n_threads);
    usage_start_locked(options);
    return 0;
}

static int start_locked(const struct capture_options *options, const char **no_stacks)
{
    if (capture_on) {
        errno = EALREADY;
        return -1;
    }
    settings_free(capture.again);
    capture.again = NULL;
    if (options->follow_forks && (capture.again = settings_keep(options)) == NULL) {
        errno = ENOMEM;
        return -1;
    }
    if (follow_counts_start() != 0)
        return -1;
    if (sampler_start(&capture.sampler, options->sample_bytes) != 0)
        return -1;
    forks_own_memory();
    return open_locked(options, no_stacks);
}

#define MOST_NAMES 1000

int state_start_child_locked(void)
{
    char path[PATH_MAX] = "";
    struct capture_options options = capture.again->options;
    const char *no_stacks;
    int failed = -1;
    capture.child_waits = false;
    options.path = path;
    errno = EEXIST;
    for (unsigned attempt = 0; failed && errno == EEXIST && attempt < MOST_NAMES; attempt++) {
        errno = ENAMETOOLONG;
        if (settings_child_path(capture.again, attempt, path, sizeof path) == 0)
            failed = open_locked(&options, &no_stacks);
    }
    if (failed == 0) {
        follow_count(1, 0);
    } else {
        __atomic_store_n(&capture_on, 0, __ATOMIC_RELAXED);
        notice_failure("cannot write", path, errno, "; this child process is not recorded");
    }
    return failed;
}

/* What only the capture that is over needs, but for the slots of threads. */
static void forget_capture_locked(void)
{
    ring_file_remove(&capture.ring);
    definitions_release(&capture.dict);
    native_release_locked();
    thread_names_forget();
    ring_file_release(&capture.ring);
}

/* The calling thread is the first stream, whether it allocates or not. */
static int start_thread_locked(const char *own_folder)
{
    if (recorder_attach_locked() != 0)
        return -1;
    if (own_folder != NULL)
        recorder_mute(own_folder);
    return 0;
}

/* The hooks come in before anything is recorded, and go when nothing is. */
static void put_hooks(void)
{
    static int preloaded = -1;
    if (preloaded < 0)
        preloaded = proftrace_capture_is_preloaded();
    gotpatch_apply(preloaded);
}

static int start(const struct capture_options *options, const char **no_stacks)
{
    int failed = -1;
    int error;
    heap_account_find();
    state_lock();
    failed = start_locked(options, no_stacks);
    if (failed == 0 && start_thread_locked(options->own_folder) != 0) {
        writer_discard(&capture.writer);
        forget_capture_locked();
        errno = ENOMEM;
        failed = -1;
    }
    if (failed == 0) {
        capture.token++;
        __atomic_store_n(&capture_on, capture.on_value, __ATOMIC_SEQ_CST);
        if (options->end_on_signals)
            signals_watch();
    }
    error = errno;
    state_unlock();
    errno = error;
    return failed;
}

int proftrace_capture_start(const struct capture_options *options, const char **no_stacks)
{
    uintptr_t before = guard_hold();
    sigset_t entered;
    int failed = -1, error = ENOTSUP;
    proftrace_capture_control(&entered);
    if (proftrace_capture_is_on()) {
        error = EALREADY;
    } else if (init_once() != 0) { /* with handlers of forks, which may come at any moment */
        error = EAGAIN;
    } else if (!options->native || native_is_supported()) {
        put_hooks();
        failed = start(options, no_stacks);
        error = errno;
        if (failed != 0)
            gotpatch_restore();
    }
    proftrace_capture_release(&entered);
    guard_restore(before);
    errno = error;
    return failed;
}

/* ---- ending ------------------------------------------------------------------------------- */

int state_flush_all_locked(void)
{
    for (struct capture_thread *thread = capture.live; thread != NULL; thread = thread->next) {
        if (thread_flush_locked(&capture, thread, false) != 0)
            return -1;
    }
    return definitions_flush(&capture.dict);
}

/* Threads may still be inside a hook: they keep their memory, and find out at the next event. */
static void detach_threads_locked(void)
{
    for (struct capture_thread *thread = capture.live; thread != NULL; thread = thread->next)
        thread_detach_locked(&capture, thread);
    capture.live = NULL;
}

static void close_locked(enum end_reason reason)
{
    __atomic_store_n(&capture_on, 0, __ATOMIC_SEQ_CST);
    usage_stop_locked();
    bounded_release(&capture.bounded);
    detach_threads_locked();
    (void)writer_end(&capture.writer, reason, capture.n_lost);
    writer_close(&capture.writer);
    forget_capture_locked();
}

void state_give_up_locked(void)
{
    if (!capture_on)
        return;
    writer_fail(&capture.writer, errno == 0 ? EIO : errno); /* unless that has been said */
    close_locked(END_WRITE_FAILED);
}

void state_out_of_memory_locked(void)
{
    if (capture.writer.header.options & OPTION_NO_MEMORY)
        return;
    writer_add_option(&capture.writer, OPTION_NO_MEMORY);
    if (!capture.quiet)
        notice_failure("cannot record all of this process in", capture.writer.file.path, ENOMEM,
                       " (a limit on address space: see ulimit -v); the program goes on");
}

static void say_what_was_written(void)
{
    const struct follow_counts counts = follow_counts();
    char children[96] = "";
    if (counts.recorded != 0)
        strcpy(children, " (.<pid> for child processes)");
    else if (counts.not_recorded != 0)
        snprintf(children, sizeof children, "; %u child process%s not recorded (%s)",
                 counts.not_recorded, counts.not_recorded == 1 ? " was" : "es were",
                 "--follow-children");
    notice_write("wrote", capture.writer.file.path, children);
}

static void stop_locked(void)
{
    if (!capture_on)
        return;
    if (capture.child_waits) { /* there is nothing to end */
        __atomic_store_n(&capture_on, 0, __ATOMIC_SEQ_CST);
        return;
    }
    if (state_flush_all_locked() != 0) {
        state_give_up_locked();
        return;
    }
    bounded_finish_locked(&capture);
    close_locked(END_CLEAN);
    if (thread_self != NULL) /* it is in no hook */
        thread_drop_slot(thread_self);
    verify_report_locked();
    if (!capture.quiet && !capture.writer.failed)
        say_what_was_written();
}

/* Whether this process records and this thread may take the lock. */
static bool may_end(void)
{
    /* Inside a hook (a signal handler that interrupted it) the lock may be held by this thread. */
    return __atomic_load_n(&capture_on, __ATOMIC_RELAXED) && capture.pid == getpid() &&
           guard_holder == 0;
}

/* Any capture, or only the one with this token. */
static bool finish(uint64_t token)
{
    uintptr_t before;
    int saved = errno;
    bool is_it;
    if (!may_end())
        return false;
    before = guard_hold();
    state_lock();
    is_it = capture_on != 0 && (token == 0 || token == capture.token);
    if (is_it)
        stop_locked();
    state_unlock();
    guard_restore(before);
    errno = saved;
    return is_it;
}

static void finish_process(bool suddenly)
{
    uintptr_t before;
    int saved = errno;
    bool has_log = true;
    if (!may_end())
        return;
    before = guard_hold();
    if (capture.child_waits && !suddenly) {
        state_lock();
        has_log = recorder_attach_locked() == 0;
        state_unlock();
    }
    if (has_log)
        usage_look_at_end(!suddenly);
    guard_restore(before);
    errno = saved;
    (void)finish(0);
}

void state_finish(void)
{
    finish_process(false);
}

void state_finish_suddenly(void)
{
    finish_process(true);
}

/* The process goes on without us. */
static bool stop(uint64_t token)
{
    sigset_t entered;
    uintptr_t before;
    bool is_it;
    proftrace_capture_control(&entered);
    is_it = finish(token);
    before = guard_hold();
    if (!proftrace_capture_is_on()) {
        signals_unwatch();
        gotpatch_restore();
    }
    guard_restore(before);
    proftrace_capture_release(&entered);
    return is_it;
}

void proftrace_capture_stop(void)
{
    (void)stop(0);
}

uint64_t proftrace_capture_session(void)
{
    return proftrace_capture_is_on() ? __atomic_load_n(&capture.token, __ATOMIC_RELAXED) : 0;
}

bool proftrace_capture_stop_session(uint64_t session)
{
    return session != 0 && stop(session);
}

void proftrace_capture_pause(bool paused)
{
    const int begins = CAPTURE_NEW | CAPTURE_PYTHON_NEW;
    uintptr_t before = guard_hold();
    state_lock();
    if (capture_on != 0) {
        int on = capture_on & ~begins;
        if (!paused)
            on |= CAPTURE_NEW | ((on & CAPTURE_PYTHON) != 0 ? CAPTURE_PYTHON_NEW : 0);
        capture.on_value = on;
        __atomic_store_n(&capture_on, on, __ATOMIC_SEQ_CST);
    }
    state_unlock();
    guard_restore(before);
}

static TLS_FAST uintptr_t guard_before_exec;

bool state_before_exec(void)
{
    if (!may_end() || capture.child_waits)
        return false;
    guard_before_exec = guard_hold();
    state_lock();
    if (!capture_on || state_flush_all_locked() != 0) {
        state_give_up_locked();
        state_unlock();
        guard_restore(guard_before_exec);
        return false;
    }
    usage_stop_locked(); /* the ticker would keep the memory of the image that goes */
    capture.exec_n_bytes = writer_end(&capture.writer, END_EXEC, capture.n_lost);
    ring_file_remove(&capture.ring);
    signals_allow(&capture.signals_before); /* the new image inherits the mask */
    return true;
}

void state_exec_failed(void)
{
    int saved = errno;
    if (output_truncate(&capture.writer.file, capture.exec_n_bytes) != 0)
        state_give_up_locked();
    else /* the ring has lost its name: from now on a kill costs what is not written */
        writer_add_option(&capture.writer, OPTION_NO_RING);
    usage_go_on_locked();
    state_unlock();
    guard_restore(guard_before_exec);
    errno = saved;
}
