/*
 * bounded.h - captures of bounded size: sums by site are kept in the process, and the log holds a
 * checkpoint of them and the events since then.
 *
 * Every event still goes through the log and its ring, so that SIGKILL loses nothing; what is in a
 * checkpoint is dropped from the log, all of it (--aggregate) or what is older than the last events
 * up to a size (--ring). Events are applied in the order of their seqs, as the reader would. All
 * functions are called with the capture lock held.
 */
#ifndef PROFTRACE_CAPTURE_BOUNDED_H
#define PROFTRACE_CAPTURE_BOUNDED_H

#include "base/compiler.h"

#include <stdint.h>

struct capture_state;
struct capture_options;
struct bounded;

/* For a new capture; *bounded becomes NULL when nothing is to be bounded. -1 without memory. */
NODISCARD int bounded_start_locked(struct bounded **bounded, const struct capture_options *options);

/* Takes what all threads have committed; called before a thread's slot is emptied. */
void bounded_take_locked(struct capture_state *state);

/* Writes a checkpoint and drops what is not needed any more, if it is time for that. */
void bounded_checkpoint_if_due_locked(struct capture_state *state);

/* At the end of a capture, when all is written: the last checkpoint. */
void bounded_finish_locked(struct capture_state *state);

/* Gives the memory back. */
void bounded_release(struct bounded **bounded);

#endif
