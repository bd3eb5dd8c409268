/* thread.c - see thread.h. */
#include "capture/state.h"

#include "base/arena.h" /* pages */
#include "base/ticks.h" /* mono_now_ns */
#include "format/pack.h"

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
    if (!shared)
        writer_add_option(&state->writer, OPTION_NO_RING);
    frames_release(&thread->frames);
    thread->stream = ++state->n_streams;
    if (state->n_streams > 1)
        __atomic_store_n(&state->several_threads, 1, __ATOMIC_SEQ_CST);
    thread->slot = slot;
    thread->words = (uint64_t *)((uint8_t *)slot + RING_SLOT_HEAD_BYTES);
    thread->used = thread->written_words = 0;
    thread->n_written = thread->n_lost = 0;
    thread->session = state->session;
    thread->tid = tid;
    thread->start_mono_ns = mono_now_ns();
    thread->name[0] = '\0';
    thread->muted = false;
    thread->room = THREAD_ROOM;
    link_live(state, thread);
    definitions_thread(&state->dict, &(struct rec_thread){.index = thread->stream,
                                                          .tid = tid,
                                                          .start_mono_ns = thread->start_mono_ns});
    return thread;
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
    if (thread->name[0] == '\0' && thread_given_name[0] != '\0')
        thread_set_name_locked(state, thread, thread_given_name);
    /* A thread that was never named has the name of the one that started it. */
    if (prctl(PR_GET_NAME, name) != 0 || strcmp(name, state->process_name) == 0)
        return;
    /* The kernel's is the same, but cut. */
    if (name[0] != '\0' && strncmp(thread->name, name, strlen(name)) != 0)
        thread_set_name_locked(state, thread, name);
}

/* ---- writing ------------------------------------------------------------------------------ */

static int write_packed(struct capture_state *state, struct capture_thread *thread,
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
    if (writer_block(&state->writer, &block, packed->payload, packed->n_bytes) != 0)
        return -1;
    thread->n_written += packed->n_events;
    state->writer.n_events += packed->n_events;
    return 0;
}

static int write_events(struct capture_state *state, struct capture_thread *thread, size_t n_words)
{
    struct packed packed;
    if (state->packer == NULL && (state->packer = pages_alloc(packer_bytes())) == NULL)
        return -1;
    if (definitions_flush(&state->dict) != 0)
        return -1;
    for (size_t at = thread->written_words, n; at < n_words; at += n) {
        n = n_words - at;
        pack_events(state->packer, thread->words + at, &n, state->several_threads != 0, &packed);
        if (n == 0)
            break;
        if (write_packed(state, thread, &packed) != 0)
            return -1;
    }
    return 0;
}

int thread_flush_locked(struct capture_state *state, struct capture_thread *thread, bool is_owner)
{
    size_t n_words;
    if (thread->slot == NULL)
        return 0;
    n_words = __atomic_load_n(&thread->slot->committed_bytes, __ATOMIC_ACQUIRE) / 8;
    if (n_words > thread->written_words) {
        if (write_events(state, thread, n_words) != 0)
            return -1;
        thread->written_words = (uint32_t)n_words;
    }
    if (is_owner) {
        ring_slot_reset(thread->slot, thread->n_written);
        thread->used = thread->written_words = 0;
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
        ring_file_give(&state->ring, thread->slot);
        unlink_live(state, thread);
    }
    thread->slot = NULL;
    thread->room = 0;
    frames_release(&thread->frames);
    thread->next = state->free;
    state->free = thread;
}
