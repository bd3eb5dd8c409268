/*
 * log_checkpoint.h - the checkpoint from which a bounded log goes on; its state is read before the
 * events that come behind it.
 */
#ifndef PROFTRACE_PROFILE_LOG_CHECKPOINT_H
#define PROFTRACE_PROFILE_LOG_CHECKPOINT_H

#include "profile/log_reader.h"
#include "profile/stacks.h"

/* The payload of a CHECKPOINT block (malloc), which is taken over. Only until one is complete. */
NODISCARD enum take_verdict log_checkpoint_take(struct log_reader *log, uint8_t *records,
                                                size_t n_bytes);

/* Reads the complete checkpoint into an empty history and gives its memory back. */
NODISCARD enum checkpoint_verdict
log_checkpoint_load(struct log_reader *log, const struct stacks *stacks, struct history *history);
void log_checkpoint_release(struct log_checkpoint *checkpoint);

#endif
