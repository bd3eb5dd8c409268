/*
 * state.h - the one capture of the process, and its lock.
 *
 * Three groups, each on cache lines of its own: what every event reads, the counter that every
 * event of a threaded program changes, and what the lock guards.
 */
#ifndef PROFTRACE_CAPTURE_STATE_H
#define PROFTRACE_CAPTURE_STATE_H

#include "capture/bounded.h"
#include "capture/capture.h"
#include "capture/definitions.h"
#include "capture/native.h"
#include "capture/ring_file.h"
#include "capture/sampler.h"
#include "capture/settings.h"
#include "capture/signals.h"
#include "capture/thread.h"
#include "capture/usage.h"
#include "capture/writer.h"

#include <pthread.h>

#define LINE_PAIR __attribute__((aligned(128)))

enum attention {
    ATTEND_SAMPLED = 1, /* not every allocation is recorded: see sampler.h */
    ATTEND_DUE = 2,     /* it is time to look at the size of the process: see usage.h */
};

struct capture_state {
    /* Read by every event; constant while recording. */
    int several_threads LINE_PAIR; /* atomic: events carry a seq */
    bool has_native;               /* events name a HYBRID; see native.h */
    uint64_t session;              /* counts the captures of this process */
    uint64_t token;                /* of who started it; a followed child's is its parent's */
    bool verify;                   /* stacks are looked at twice: see verify.h */
    struct frame_reader reader;
    struct sampler sampler;
    uint32_t attention; /* atomic: what an event has to look at besides; enum attention */

    uint64_t last_seq LINE_PAIR; /* atomic */

    pthread_mutex_t lock LINE_PAIR; /* guards all below */
    sigset_t signals_before;        /* of the lock's owner */
    pid_t pid;                      /* of the process that records */
    struct writer writer;
    struct ring_file ring;
    struct definitions dict;
    struct native_state native;
    struct capture_thread *live;
    struct capture_thread *free;
    struct capture_thread *late; /* stream of threads that are past their own end */
    uint32_t n_streams;
    uint64_t n_lost;
    struct packer *packer; /* owned pages */
    struct usage usage;
    struct bounded *bounded; /* owned; NULL: the log holds every event */
    char process_name[64];
    bool quiet;
    int on_value;           /* of capture_on, while this capture records */
    uint64_t exec_n_bytes;  /* of the log before an END block for an exec */
    bool child_waits;       /* a followed child that has recorded nothing yet, and has no log */
    struct settings *again; /* owned pages: what a followed child starts with; NULL = not */
};

extern struct capture_state capture;

/*
 * Signals wait while the lock is held: a handler must not leave it by a jump, nor wait for what its
 * own thread holds.
 */
static inline void state_lock(void)
{
    sigset_t before;
    signals_block(&before);
    pthread_mutex_lock(&capture.lock);
    capture.signals_before = before;
}

static inline void state_unlock(void)
{
    sigset_t before = capture.signals_before;
    pthread_mutex_unlock(&capture.lock);
    signals_allow(&before);
}

/*
 * The lock for what is over in a moment, without a system call: signals are not held back. One that
 * jumps out of it ends the recording, see state_left_by_jump.
 */
struct brief_lock {
    sigset_t before;
    bool careful; /* signals are held back all the same: handlers of this program do jump */
};
void state_lock_briefly(struct brief_lock *brief);
void state_unlock_briefly(const struct brief_lock *brief);

/* A signal handler is about to jump out of the hook that it interrupted. */
void state_left_by_jump(void);

/*
 * The stamp of a stream's event, 0 while the process has one thread; see log-format.md. It is also
 * 0, which stands for the stream's last one, as long as no other stream took one since: then none
 * has an event in between. Why that is enough: a free and the allocation that gets its block are
 * ordered by the allocator, so the second's thread sees the first's stamp and takes a later one.
 */
static inline uint64_t state_stamp(uint64_t *last_of_stream)
{
    if (likely(__atomic_load_n(&capture.several_threads, __ATOMIC_RELAXED) == 0))
        return 0;
    if (likely(__atomic_load_n(&capture.last_seq, __ATOMIC_ACQUIRE) == *last_of_stream))
        return 0;
    return *last_of_stream = __atomic_add_fetch(&capture.last_seq, 1, __ATOMIC_SEQ_CST);
}

/*
 * Whether the caller's memory is that of the process that records: its own threads, and a child of
 * vfork until its exec. Not so in a forked child, whose memory is a copy.
 */
bool state_memory_is_ours(void);

/* With the lock held: whether what the calling thread records belongs to the capture that is on. */
bool state_thread_is_recorded(void);

/* Gives a followed child its log when it has its first event, with the lock held. */
NODISCARD int state_start_child_locked(void);

/* In a forked child: another thread may have been starting or stopping. */
void state_control_after_fork(void);

/* Ends recording for good after a failure (errno, unless the writer has said it), lock held. */
void state_give_up_locked(void);

/* There was no memory for a stack or a thread: says so once, and in the log. Lock held. */
void state_out_of_memory_locked(void);

/* Writes everything of all threads. -1 when writing failed. */
NODISCARD int state_flush_all_locked(void);

/*
 * Before the process ends: writes the rest, the END block, and closes. In a signal handler, or when
 * the program has found something wrong with itself, nothing is asked that takes a lock of
 * malloc's; at an end of its own choice also a followed child is told of that recorded nothing.
 */
void state_finish(void);
void state_finish_suddenly(void);

/*
 * Around an exec: everything is written and the log ends as if the exec succeeded; if it did not,
 * the END block is taken back and recording goes on. False: there is nothing to take back.
 */
bool state_before_exec(void);
void state_exec_failed(void);

#endif
