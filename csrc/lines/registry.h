/*
 * registry.h - what is profiled: code objects, their names and source texts, and what the result
 * says about the run.
 *
 * Everything is copied into an arena when it is registered, and published by one store, so that
 * the result can be written at any moment, by a signal handler too, without asking the interpreter.
 * Nothing is ever removed. A code object is known by its address; the caller keeps it alive.
 */
#ifndef PROFTRACE_LINES_REGISTRY_H
#define PROFTRACE_LINES_REGISTRY_H

#include "base/arena.h"
#include "base/compiler.h"
#include "lines/clock.h"
#include "lines/statements.h"

#include <stdbool.h>
#include <stdint.h>

/* Codes whose line numbers spread over more than this are refused: tables are arrays. */
#define CODE_MAX_LINES (1u << 20)
#define SOURCE_MAX_BYTES (32u << 20)

struct lines_text {
    struct lines_text *next;
    uint32_t id;
    uint32_t n_bytes;
    const char *text; /* UTF-8, not terminated */
    uint64_t hash;
    struct lines_text *same_bucket;
};

struct lines_source {
    struct lines_source *next;
    uint32_t id;
    uint32_t file; /* text id */
    const char *text;
    uint32_t n_bytes;
};

struct lines_meta {
    struct lines_meta *next;
    const char *key;
    uint32_t key_bytes;
    const char *value;
    uint32_t value_bytes;
};

/* What a code object and its events took when that was last looked at (slow_code.h). */
struct slow_mark {
    uint64_t cost;
    int64_t taken;
};

/*
 * One code object. The cold regime counts it by LINE events (account.h). A code object that gets
 * another way of counting keeps its place here; `regime` says which one it is in.
 */
struct lines_code {
    struct lines_code *next;
    const void *key;  /* the code object; compared, never followed */
    uint32_t id;      /* from 1, also the index of its tables */
    uint8_t regime;   /* enum line_regime */
    uint8_t reason;   /* enum cold_reason */
    bool is_complete; /* it has its events; until then any thread may see to that */
    uint32_t name;    /* text ids */
    uint32_t qualname;
    uint32_t file;
    uint32_t source;    /* source id or 0 */
    uint32_t def_line;  /* co_firstlineno */
    uint32_t flags;     /* co_flags */
    int32_t first_line; /* the lines that can have events: [first_line, first_line + n_lines) */
    uint32_t n_lines;
    uint32_t n_units;
    const int32_t *line_of_unit; /* by code unit; 0 = none */
    const uint8_t *skip;         /* by code unit: its LINE event does not count (statements.h) */
    const uint8_t *repeat;       /* nor does it here, when its own line was running before */
    const uint8_t *ambiguous;    /* by line: has events that are not simply hits of it */
    const uint8_t *probes;       /* by line: enum probe_kind of its events */
    struct line_search *search;  /* NULL: its events need none (line_search.h) */
    const struct hit_credit *credits;
    uint32_t n_credits;
    struct hot_code *hot;      /* NULL until it was hot once (regime.h) */
    uint64_t events_until_hot; /* 0: as for all; UINT64_MAX: never */
    struct slow_mark slow_mark;
};

/* What the caller knows of a code object; everything is copied. */
struct code_facts {
    const void *key;
    const char *name, *qualname, *file; /* UTF-8 */
    uint32_t name_bytes, qualname_bytes, file_bytes;
    uint32_t source;
    uint32_t def_line;
    uint32_t flags;
    uint32_t n_units;
    const int32_t *line_of_unit;
    const struct hit_rules *rules; /* of its LINE events */
    /* By code unit where a line begins or a loop goes on: enum probe_kind; elsewhere PROBE_KINDS.
       NULL: all are PROBE_LINE. */
    const uint8_t *probes;
    /* By code unit: what the search for its line costs (line_search.h). NULL: none do. */
    const uint32_t *searches;
};

/* The lists, for the result; the heads are read with acquire order. */
struct registry {
    struct lines_text *texts;
    struct lines_source *sources;
    struct lines_meta *metas;
    struct lines_code *codes;
    uint32_t n_codes;
};

extern struct registry lines_registry;

/* Returns the code registered under this address, NULL if there is none. Lock-free. */
NODISCARD struct lines_code *registry_find(const void *key);

/* Returns the code, new or known; NULL when memory is out or its lines are spread too far. */
NODISCARD struct lines_code *registry_add_code(const struct code_facts *facts);

/* Returns the id of a source text, 0 when memory is out or it is too long. */
uint32_t registry_add_source(const char *file, uint32_t file_bytes, const char *text,
                             uint32_t n_bytes);
NODISCARD int registry_add_meta(const char *key, const char *value, uint32_t value_bytes);

/* Copies into the arena, with a NUL behind; NULL when memory is out. */
NODISCARD char *registry_copy(const char *bytes, size_t n_bytes);

/* A forked child is alone: the lock may have been held by a thread that is gone. */
void registry_after_fork(void);

#endif
