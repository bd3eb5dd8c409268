/*
 * stored_symbols.h - the names and lines of all native code of a log as table records, so that they
 * can be put into it: what `memtrace symbolize` does.
 */
#ifndef PROFTRACE_PROFILE_STORED_SYMBOLS_H
#define PROFTRACE_PROFILE_STORED_SYMBOLS_H

#include "profile/log_reader.h"
#include "profile/symbolize.h"

/* Records of one block. */
struct symbol_block {
    uint8_t *bytes; /* owned */
    size_t n_bytes;
    uint32_t n_records;
};

struct stored_symbols {
    VEC(struct symbol_block) blocks;
    VEC(uint8_t) verdicts; /* by module id: enum module_verdict, plus 1; 0 = not asked */
    uint64_t n_addresses;  /* that the log has no names for */
    uint64_t n_found;
};

/* Looks up what the log does not know yet. -1 when there is no memory left. Release in any case. */
NODISCARD int stored_symbols_find(struct stored_symbols *stored, const struct dictionary *dict);
void stored_symbols_release(struct stored_symbols *stored);

#endif
