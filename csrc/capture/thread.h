/*
 * thread.h - what each recording thread owns: its slot of the ring and its view of the stack.
 *
 * A block is made at a thread's first event and used again after its end, so that thousands of
 * threads cost what the most at one time cost. Functions ending in _locked need the capture lock.
 */
#ifndef PROFTRACE_CAPTURE_THREAD_H
#define PROFTRACE_CAPTURE_THREAD_H

#include "capture/definitions.h"
#include "capture/ring_file.h"
#include "interp/frames.h"

#define THREAD_NAME_BYTES 64
#define THREAD_NO_SEQ UINT64_MAX

/* What whoever started this thread calls it; "" = nobody said. */
extern TLS_FAST char thread_given_name[THREAD_NAME_BYTES];

struct capture_thread {
    uint64_t *words;        /* raw events, behind the slot's head */
    uint32_t used;          /* words of them */
    uint32_t room;          /* words; 0 = every event takes the slow path */
    struct ring_slot *slot; /* NULL = it has none (any more) */
    uint64_t seq;           /* the stream's last stamp; THREAD_NO_SEQ = the next event takes one */
    uint64_t n_written;     /* events of this stream in the log */
    uint32_t written_words; /* of `words`, that are in the log already */
    uint32_t taken_words;   /* of `words`, that bounded.h has seen */
    uint32_t stream;
    uint64_t session; /* capture this slot belongs to */
    uint64_t tid;
    uint64_t start_mono_ns;
    uint64_t n_lost;
    char name[THREAD_NAME_BYTES]; /* in the log already */
    bool aside;                   /* works for us: what it allocates is not the program's */
    bool muted;                   /* frames of our own are still on the stack */
    uintptr_t mute_frame, mute_below, mute_below_ip;
    struct capture_thread *next; /* all live ones, or all free ones */
    struct capture_thread *previous;
    struct native_thread *native; /* owned pages; see native.h */
    struct frame_cache frames;
};

/* Words that a slot holds. */
#define THREAD_ROOM ((RING_SLOT_BYTES - RING_SLOT_HEAD_BYTES) / 8)

struct capture_state;

/* Gives a thread (a new one if NULL) a stream of its own. NULL when there is no memory left. */
struct capture_thread *thread_attach_locked(struct capture_state *state,
                                            struct capture_thread *thread, uint64_t tid);

/*
 * Writes the events that are not in the log yet, behind their definitions. The slot is emptied by
 * its owner only: others leave that alone, since the owner may be adding to it.
 */
NODISCARD int thread_flush_locked(struct capture_state *state, struct capture_thread *thread,
                                  bool is_owner);

/*
 * The capture is over: a thread that may be inside a hook finds out at its next event, and keeps
 * its slot until then.
 */
void thread_detach_locked(struct capture_state *state, struct capture_thread *thread);
/* Gives back the slot that the calling thread has of a capture that is over. */
void thread_drop_slot(struct capture_thread *thread);

/* Writes the rest and keeps the block for the next thread. */
void thread_end_locked(struct capture_state *state, struct capture_thread *thread);

/*
 * Takes the name that the calling thread was given, or the kernel's if it has one of its own; also
 * a later one of the kernel's.
 */
void thread_take_name_locked(struct capture_state *state, struct capture_thread *thread);
void thread_set_name_locked(struct capture_state *state, struct capture_thread *thread,
                            const char *name);

#endif
