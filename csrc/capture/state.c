/* state.c - the capture of the process: starting, ending, and what becomes of it at fork and exec.
 */
#include "capture/state.h"

#include "base/arena.h" /* pages */
#include "base/ticks.h"
#include "capture/guard.h"
#include "capture/notice.h"
#include "capture/recorder.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <unistd.h>

#define FIRST_DICTIONARY_BYTES (64u << 10)

int capture_on LINE_PAIR;
struct capture_state capture = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- fork --------------------------------------------------------------------------------- */

static TLS_FAST uintptr_t guard_outside;

/*
 * From here to the handlers below the forking thread is not recorded: until it is told, the child
 * would write to its parent's slot. No lock is taken, since other handlers may wait for threads
 * that need it; the child never takes it.
 */
static void before_fork(void)
{
    guard_outside = guard_hold();
}

static void after_fork_in_parent(void)
{
    guard_restore(guard_outside);
}

static void after_fork_in_child(void)
{
    __atomic_store_n(&capture_on, 0, __ATOMIC_RELAXED);
    if (capture.pid != 0 && capture.pid != getpid())
        output_close(&capture.writer.file);
    guard_restore(guard_outside);
}

/* A page that is zero in a forked child, whoever forked; NULL where the kernel cannot do that. */
static uint8_t *wiped_on_fork;

bool state_memory_is_ours(void)
{
    return getpid() == capture.pid || (wiped_on_fork != NULL && *wiped_on_fork != 0);
}

static void watch_forks(void)
{
    uint8_t *page = pages_alloc(1);
    if (page == NULL || madvise(page, 1, MADV_WIPEONFORK) != 0)
        return;
    *page = 1;
    wiped_on_fork = page;
}

static int init_once(void)
{
    static bool done;
    if (done)
        return 0;
    watch_forks();
    if (recorder_init() != 0 ||
        pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) != 0)
        return -1;
    done = true;
    return 0;
}

/* ---- starting ----------------------------------------------------------------------------- */

static uint32_t intern_node(uint32_t parent, const struct frame_place *place)
{
    int saved = errno;
    uint32_t node;
    state_lock();
    node = definitions_node(&capture.dict, parent, place);
    state_unlock();
    errno = saved;
    return node;
}

static const char *find_stacks(const struct interp_binding *binding)
{
    const char *reason;
    capture.reader.intern = intern_node;
    capture.reader.binding = (struct interp_binding){0};
    if (binding == NULL)
        return "there is no interpreter";
    reason = layout_find(&capture.reader.layout, binding);
    if (reason == NULL)
        capture.reader.binding = *binding;
    return reason;
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
    };
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
    if (ring_file_create(&capture.ring, options->path, header->session_id) != 0)
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

static int start_locked(const struct capture_options *options, const char **no_stacks)
{
    struct file_header header;
    if (capture_on) {
        errno = EALREADY;
        return -1;
    }
    if (capture.pid != 0 && capture.pid != getpid()) {
        errno = ECHILD; /* the lock, the file and the threads are the parent's */
        return -1;
    }
    notice_start();
    prctl(PR_GET_NAME, capture.process_name);
    *no_stacks = find_stacks(options->binding);
    header = make_header(options, *no_stacks == NULL);
    if (open_log(options, &header) != 0)
        return -1;
    capture.pid = getpid();
    capture.quiet = options->quiet;
    capture.session++;
    capture.several_threads = 0;
    capture.last_seq = 0;
    capture.n_streams = 0;
    capture.n_lost = 0;
    capture.live = NULL;
    return 0;
}

/* The calling thread is the first stream, whether it allocates or not. */
static int start_thread_locked(const char *own_folder)
{
    if (recorder_attach_locked() != 0)
        return -1;
    if (gettid() == getpid())
        thread_set_name_locked(&capture, thread_self, "MainThread");
    if (own_folder != NULL)
        recorder_mute(own_folder);
    return 0;
}

int proftrace_capture_start(const struct capture_options *options, const char **no_stacks)
{
    uintptr_t before = guard_hold();
    int failed = -1;
    int error;
    state_lock();
    errno = EAGAIN;
    if (init_once() == 0)
        failed = start_locked(options, no_stacks);
    if (failed == 0 && start_thread_locked(options->own_folder) != 0) {
        writer_discard(&capture.writer);
        ring_file_remove(&capture.ring);
        errno = ENOMEM;
        failed = -1;
    }
    if (failed == 0)
        __atomic_store_n(&capture_on, 1, __ATOMIC_SEQ_CST);
    error = errno;
    state_unlock();
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
    for (struct capture_thread *thread = capture.live; thread != NULL; thread = thread->next) {
        capture.n_lost += thread->n_lost;
        thread->room = 0;
        thread->session = 0;
    }
    capture.live = NULL;
}

static void close_locked(enum end_reason reason)
{
    __atomic_store_n(&capture_on, 0, __ATOMIC_SEQ_CST);
    detach_threads_locked();
    (void)writer_end(&capture.writer, reason, capture.n_lost);
    writer_close(&capture.writer);
    ring_file_remove(&capture.ring);
}

void state_give_up_locked(void)
{
    if (capture_on)
        close_locked(END_WRITE_FAILED);
}

static void stop_locked(void)
{
    if (!capture_on)
        return;
    if (state_flush_all_locked() != 0) {
        state_give_up_locked();
        return;
    }
    close_locked(END_CLEAN);
    if (!capture.quiet && !capture.writer.failed)
        notice_write("wrote", capture.writer.file.path, "");
}

/* Whether this process records and this thread may take the lock. */
static bool may_end(void)
{
    /* Inside a hook (a signal handler that interrupted it) the lock may be held by this thread. */
    return __atomic_load_n(&capture_on, __ATOMIC_RELAXED) && capture.pid == getpid() &&
           guard_holder == 0;
}

void state_finish(void)
{
    uintptr_t before;
    int saved = errno;
    if (!may_end())
        return;
    before = guard_hold();
    state_lock();
    stop_locked();
    state_unlock();
    guard_restore(before);
    errno = saved;
}

void proftrace_capture_stop(void)
{
    state_finish();
}

bool state_before_exec(void)
{
    if (!may_end())
        return false;
    guard_outside = guard_hold();
    state_lock();
    if (!capture_on || state_flush_all_locked() != 0) {
        state_give_up_locked();
        state_unlock();
        guard_restore(guard_outside);
        return false;
    }
    capture.exec_n_bytes = writer_end(&capture.writer, END_EXEC, capture.n_lost);
    ring_file_remove(&capture.ring);
    return true;
}

void state_exec_failed(void)
{
    int saved = errno;
    if (output_truncate(&capture.writer.file, capture.exec_n_bytes) != 0)
        state_give_up_locked();
    else /* the ring has lost its name: from now on a kill costs what is not written */
        writer_add_option(&capture.writer, OPTION_NO_RING);
    state_unlock();
    guard_restore(guard_outside);
    errno = saved;
}
