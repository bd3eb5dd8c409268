/* thread.c - see thread.h. */
#include "capture/state.h"

#include "base/arena.h" /* pages */
#include "base/ticks.h" /* mono_now_ns */
#include "capture/thread_names.h"
#include "format/pack.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

_Static_assert(THREAD_ROOM <= PACK_EVENTS, "a full slot is one block");

static struct capture_thread *take_block(struct capture_state *state)
{
    struct capture_thread *thread = state->free;
    if (thread != NULL) {
        state->free = thread->next;
        return thread;
    }
    thread = pages_alloc(sizeof *thread);
    /* A child that no fork handler was told of finds no room in it, and asks whose memory it is. */
    if (thread != NULL)
        (void)madvise(thread, sizeof *thread, MADV_WIPEONFORK);
    return thread;
}

static void link_live(struct capture_state *state, struct capture_thread *thread)
{
    thread->previous = NULL;
    thread->next = state->live;
    if (state->live != NULL)
        state->live->previous = thread;
    state->live = thread;
}

static void unlink_live(struct capture_state *state, struct capture_thread *thread)
{
    if (thread->previous != NULL)
        thread->previous->next = thread->next;
    else
        state->live = thread->next;
    if (thread->next != NULL)
        thread->next->previous = thread->previous;
}

struct capture_thread *thread_attach_locked(struct capture_state *state,
                                            struct capture_thread *thread, uint64_t tid)
{
    bool shared;
    struct ring_slot *slot = ring_file_take(&state->ring, state->n_streams + 1, &shared);
    if (slot == NULL)
        return NULL;
    if (thread == NULL)
        thread = take_block(state);
    if (thread == NULL) {
        ring_file_give(&state->ring, slot);
        return NULL;
    }
    thread_drop_slot(thread);
    if (!shared)
        writer_add_option(&state->writer, OPTION_NO_RING);
    frames_forget(&thread->frames);
    native_forget(thread);
    thread->stream = ++state->n_streams;
    if (state->n_streams > 1)
        __atomic_store_n(&state->several_threads, 1, __ATOMIC_SEQ_CST);
    thread->slot = slot;
    thread->words = (uint64_t *)((uint8_t *)slot + RING_SLOT_HEAD_BYTES);
    thread->used = thread->written_words = thread->taken_words = 0;
    thread->seq = THREAD_NO_SEQ;
    thread->n_written = thread->n_lost = 0;
    thread->session = state->session;
    thread->tid = tid;
    thread->start_mono_ns = mono_now_ns();
    thread->name[0] = '\0';
    thread->aside = thread->muted = false;
    thread->room = THREAD_ROOM;
    link_live(state, thread);
    definitions_thread(&state->dict, &(struct rec_thread){.index = thread->stream,
                                                          .tid = tid,
                                                          .start_mono_ns = thread->start_mono_ns});
    return thread;
}

void thread_detach_locked(struct capture_state *state, struct capture_thread *thread)
{
    state->n_lost += thread->n_lost;
    thread->room = 0;
    thread->session = 0;
}

void thread_drop_slot(struct capture_thread *thread)
{
    if (thread->slot != NULL)
        ring_slot_free(thread->slot);
    thread->slot = NULL;
}

/* ---- names -------------------------------------------------------------------------------- */

void thread_set_name_locked(struct capture_state *state, struct capture_thread *thread,
                            const char *name)
{
    size_t n = strnlen(name, sizeof thread->name - 1);
    if (strncmp(thread->name, name, sizeof thread->name - 1) == 0)
        return;
    memcpy(thread->name, name, n);
    thread->name[n] = '\0';
    definitions_thread(&state->dict,
                       &(struct rec_thread){.index = thread->stream,
                                            .tid = thread->tid,
                                            .name = definitions_string(&state->dict, name, n),
                                            .start_mono_ns = thread->start_mono_ns});
}

TLS_FAST char thread_given_name[THREAD_NAME_BYTES];

void thread_take_name_locked(struct capture_state *state, struct capture_thread *thread)
{
    char name[THREAD_NAME_BYTES] = {0};
    const char *given =
        thread_given_name[0] != '\0' ? thread_given_name : thread_names_find(thread->tid);
    if (thread->name[0] == '\0' && given != NULL)
        thread_set_name_locked(state, thread, given);
    /* A thread that was never named has the name of the one that started it. */
    if (prctl(PR_GET_NAME, name) != 0 || strcmp(name, state->process_name) == 0)
        return;
    /* The kernel's is the same, but cut. */
    if (name[0] != '\0' && strncmp(thread->name, name, strlen(name)) != 0)
        thread_set_name_locked(state, thread, name);
}

/* ---- writing ------------------------------------------------------------------------------ */

static int try_packed(struct capture_state *state, struct capture_thread *thread,
                      const struct packed *packed)
{
    struct block_header block = {
        .kind = BLOCK_PACKED,
        .stream = thread->stream,
        .n_records = packed->n_events,
        .first_ordinal = thread->n_written,
        .first_seq = packed->first_seq,
        .last_seq = packed->last_seq,
    };
    if (writer_try_block(&state->writer, &block, packed->payload, packed->n_bytes) != 0)
        return -1;
    thread->n_written += packed->n_events;
    state->writer.n_events += packed->n_events;
    return 0;
}

/* The last node of the first events in n_words, and with *n_words where these events end. */
static uint32_t last_node_of(const uint64_t *words, size_t *n_words, size_t most_words)
{
    struct event event;
    uint32_t last = 0;
    size_t at = 0;
    unsigned n;
    while (at < *n_words && (n = raw_event_get(words + at, most_words - at, &event)) != 0) {
        if (event_is_allocation(event.kind) && event.node > last)
            last = event.node;
        at += n;
    }
    *n_words = at;
    return last;
}

#define LEAST_WORDS 16

/*
 * The disk is full: fewer events may still fit, with the definitions that they need and no more.
 * Always the end of the recording.
 */
static int write_what_fits(struct capture_state *state, struct capture_thread *thread,
                           size_t n_words)
{
    const int first_error = errno;
    uint64_t piece_at = state->writer.file.n_bytes, piece_events = 0;
    int error = first_error;
    size_t size = n_words - thread->written_words;
    while (writer_is_full(error) && thread->written_words < n_words && size >= LEAST_WORDS) {
        const uint64_t *words = thread->words + thread->written_words;
        const size_t left = n_words - thread->written_words;
        size_t n = size < left ? size : left;
        uint32_t node = last_node_of(words, &n, left);
        const uint64_t at = state->writer.file.n_bytes;
        struct packed packed;
        if (n == 0)
            break;
        pack_events(state->packer, words, &n, state->several_threads != 0, &packed);
        if (n != 0 && definitions_try(&state->dict, node) == 0 &&
            try_packed(state, thread, &packed) == 0) {
            thread->written_words += (uint32_t)n;
            piece_at = at;
            piece_events = packed.n_events;
        } else {
            error = errno;
            size /= 2;
        }
    }
    /* The END block says why: worth more than the last few events. */
    if (!writer_has_room_for_end(&state->writer) &&
        output_truncate(&state->writer.file, piece_at) == 0) {
        thread->n_written -= piece_events;
        state->writer.n_events -= piece_events;
    }
    writer_fail(&state->writer, first_error);
    return -1;
}

static int write_events(struct capture_state *state, struct capture_thread *thread, size_t n_words)
{
    struct packed packed;
    errno = 0;
    if (definitions_try(&state->dict, UINT32_MAX) != 0)
        return write_what_fits(state, thread, n_words);
    while (thread->written_words < n_words) {
        size_t n = n_words - thread->written_words;
        pack_events(state->packer, thread->words + thread->written_words, &n,
                    state->several_threads != 0, &packed);
        if (n == 0)
            break;
        if (try_packed(state, thread, &packed) != 0)
            return write_what_fits(state, thread, n_words);
        thread->written_words += (uint32_t)n;
    }
    return 0;
}

int thread_flush_locked(struct capture_state *state, struct capture_thread *thread, bool is_owner)
{
    size_t n_words;
    if (thread->slot == NULL)
        return 0;
    n_words = __atomic_load_n(&thread->slot->committed_bytes, __ATOMIC_ACQUIRE) / 8;
    if (state->dict.no_memory)
        state_out_of_memory_locked();
    if (n_words > thread->written_words) {
        if (write_events(state, thread, n_words) != 0)
            return -1;
    }
    if (is_owner) {
        bounded_take_locked(state);
        bounded_checkpoint_if_due_locked(state);
        ring_slot_reset(thread->slot, thread->n_written);
        thread->used = thread->written_words = thread->taken_words = 0;
        thread->seq = THREAD_NO_SEQ; /* blocks say where they begin */
    }
    return 0;
}

void thread_end_locked(struct capture_state *state, struct capture_thread *thread)
{
    if (thread->session == state->session && thread->slot != NULL) {
        thread_take_name_locked(state, thread);
        state->n_lost += thread->n_lost;
        if (thread_flush_locked(state, thread, true) != 0)
            state_give_up_locked();
        /* Giving up has ended the capture, and this thread's part in it. */
        if (thread->session == state->session) {
            ring_file_give(&state->ring, thread->slot);
            thread->slot = NULL;
            unlink_live(state, thread);
        }
    }
    thread_drop_slot(thread);
    thread->session = 0;
    thread->room = 0;
    frames_forget(&thread->frames);
    thread->next = state->free;
    state->free = thread;
}
