/*
 * bundle.h - logs written again: several in one file, one behind the other (`memtrace merge`), or
 * with the names of their native code (`memtrace symbolize`).
 *
 * A log goes in as it is, block by block; what its ring holds becomes blocks of it. A log that was
 * never closed, or is damaged, goes in as far as it can be used.
 */
#ifndef PROFTRACE_PROFILE_BUNDLE_H
#define PROFTRACE_PROFILE_BUNDLE_H

#include "profile/log_reader.h"
#include "profile/stored_symbols.h"

/*
 * Writes the log to a descriptor at its current place, with symbols unless that is NULL; -1 with
 * the reason in *error.
 */
NODISCARD int bundle_write(const struct log_reader *log, const struct stored_symbols *symbols,
                           int fd, struct read_error *error);

#endif
