/*
 * compact.h - a log without its older part: what a checkpoint has made superfluous.
 */
#ifndef PROFTRACE_CAPTURE_COMPACT_H
#define PROFTRACE_CAPTURE_COMPACT_H

#include "capture/writer.h"

/*
 * Puts a new file in the log's place, in one step: its header, the tables of before `from`, and all
 * from there on. *moved_by: how much lower that stands now. -1: the log is as it was.
 */
NODISCARD int compact_log(struct writer *writer, uint64_t from, uint64_t *moved_by);

#endif
