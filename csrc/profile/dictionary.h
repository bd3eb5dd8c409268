/*
 * dictionary.h - the tables of a log: strings, codes, nodes, threads, meta, sources, and the line
 * results. Filled in file order; ids are indices, so that ids which do not count up are refused.
 */
#ifndef PROFTRACE_PROFILE_DICTIONARY_H
#define PROFTRACE_PROFILE_DICTIONARY_H

#include "base/table.h"
#include "format/record_native.h"
#include "profile/vec.h"

struct text {
    const char *bytes; /* borrowed from a payload the dictionary keeps; NULL = not defined */
    uint32_t n_bytes;
};

/* A place in a Python stack; see struct rec_node. */
struct node {
    uint32_t parent; /* always a smaller id */
    uint32_t code;   /* 0 = not defined */
    uint32_t place;  /* unit or, by_line, what a LINE_NODE says of the line */
    bool entry;
    bool by_line;
};

/* What stands at an address of a module, as the capture itself says; see struct rec_symbol. */
struct symbol {
    uint32_t first_frame; /* in symbol_frames, innermost first */
    uint32_t n_frames;
};

struct dictionary {
    VEC(struct text) strings;   /* by id; 0 is "" */
    VEC(struct rec_code) codes; /* by id; 0 is unused; id 0 inside = not defined */
    VEC(struct node) nodes;     /* by id; 0 is the empty stack */
    VEC(struct rec_thread) threads;
    VEC(struct rec_meta) metas;
    VEC(struct rec_source) sources;
    VEC(struct rec_function) functions;
    VEC(struct rec_line) lines;
    VEC(struct rec_call) calls;
    VEC(struct rec_module) modules;           /* by id; 0 is unused; id 0 inside = not defined */
    VEC(struct rec_native_node) native_nodes; /* by id, likewise; 0 is the empty stack */
    VEC(struct rec_hybrid) hybrids;           /* by id, likewise; 0 is the empty stack */
    VEC(struct symbol) symbols;
    VEC(struct rec_symbol_frame) symbol_frames;
    struct table symbol_rows; /* of module and address; see dictionary_symbol */
    struct table thread_rows; /* thread index -> row of `threads`, plus 1 */
    uint64_t n_records;       /* of all kinds, so far */
    VEC(uint8_t *) payloads;  /* owned: what the texts point into */
    size_t taken_bytes;       /* of the last payload: up to its first malformed record */
};

enum take_verdict { TAKE_OK, TAKE_MALFORMED, TAKE_NO_MEMORY };

NODISCARD int dictionary_init(struct dictionary *dict);
void dictionary_release(struct dictionary *dict);

/*
 * Reads the table records of a payload (DICT, LINES, or the ring's dictionary slot) and takes
 * ownership of the buffer (malloc), whatever the verdict. What is already defined is left alone, so
 * that the ring may repeat what the log has; a THREAD may come again with a new name.
 */
NODISCARD enum take_verdict dictionary_take(struct dictionary *dict, uint8_t *payload,
                                            size_t n_bytes);

/* The row of a thread index, added when it is new; UINT32_MAX when there is no memory left. */
NODISCARD uint32_t dictionary_thread_row(struct dictionary *dict, uint32_t index);

/* What the capture says about an address of a module, NULL = nothing. */
const struct symbol *dictionary_symbol(const struct dictionary *dict, uint32_t module,
                                       uint64_t address);

#endif
