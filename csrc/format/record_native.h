/*
 * record_native.h - table records of native stacks: the part of record.h for captures that were
 * made with --native. The same rules hold.
 */
#ifndef PROFTRACE_FORMAT_RECORD_NATIVE_H
#define PROFTRACE_FORMAT_RECORD_NATIVE_H

#include "format/record.h"

#define BUILD_ID_MAX_BYTES 64
#define MODULE_MAX_SEGMENTS 16
#define HYBRID_MAX_BARE 16

enum module_flag {
    MODULE_IS_INTERPRETER = 1, /* holds the interpreter's own code */
    MODULE_IS_EXECUTABLE = 2,  /* the program file itself, not a shared object */
};

/* A loadable part of a module, as its file has it. */
struct rec_segment {
    uint64_t address; /* before relocation */
    uint64_t n_bytes; /* in memory */
    uint32_t flags;   /* PF_R, PF_W, PF_X */
};

/* An object file that was loaded. Loaded again elsewhere, or another file there: another id. */
struct rec_module {
    uint32_t id;
    uint32_t path;       /* string id */
    uint32_t flags;      /* enum module_flag, or-ed */
    uint64_t load_bias;  /* address in the process - address in the file */
    uint64_t file_bytes; /* 0 = the file could not be looked at */
    uint64_t file_mtime_ns;
    uint32_t build_id_bytes; /* 0 = it has none */
    uint8_t build_id[BUILD_ID_MAX_BYTES];
    uint32_t n_segments;
    struct rec_segment segments[MODULE_MAX_SEGMENTS];
};

enum native_flag {
    NATIVE_EXACT = 1,  /* interrupted by a signal: not a return address, but the next instruction */
    NATIVE_EVAL = 2,   /* a run of the interpreter's loop: Python frames belong here */
    NATIVE_SIGNAL = 4, /* the frame that the system put there to return from a signal handler */
};

/* A native stack: its innermost frame and the node of the rest. Node 0 = no native frame. */
struct rec_native_node {
    uint32_t id;
    uint32_t parent;
    uint32_t module;  /* 0 = in no object file: made at run time */
    uint64_t address; /* in the module's file; with module 0 in the process */
    uint32_t flags;   /* enum native_flag, or-ed */
};

/*
 * A Python stack and a native one at the same moment: what events of captures with OPTION_NATIVE
 * name as their node. 0 = neither.
 */
struct rec_hybrid {
    uint32_t id;
    uint32_t python; /* ids of NODE and NATIVE_NODE */
    uint32_t native;
    /*
     * Runs of the interpreter's loop none of whose frames is in the Python stack: one that has not
     * begun yet, or one that is over and destroys its variables. By number, counted from the
     * innermost run (0), ascending. All other runs have an entry frame in the Python stack.
     */
    uint32_t n_bare;
    uint32_t bare[HYBRID_MAX_BARE];
};

/*
 * What stands at an address of a module: the function, and what was inlined there, as n_frames
 * times record_*_symbol_frame, innermost first.
 */
struct rec_symbol {
    uint32_t module;
    uint64_t address; /* of an instruction, not a return address */
    uint32_t n_frames;
};

struct rec_symbol_frame {
    uint32_t name; /* string ids; 0 = not known */
    uint32_t file;
    uint32_t line; /* 0 = not known */
};

void record_put_module(struct put *to, const struct rec_module *rec);
void record_put_native_node(struct put *to, const struct rec_native_node *rec);
void record_put_hybrid(struct put *to, const struct rec_hybrid *rec);
void record_put_symbol(struct put *to, const struct rec_symbol *rec,
                       const struct rec_symbol_frame *frames);

void record_get_module(struct get *payload, struct rec_module *rec);
void record_get_native_node(struct get *payload, struct rec_native_node *rec);
void record_get_hybrid(struct get *payload, struct rec_hybrid *rec);
/* The frames follow in the payload: record_get_symbol_frame, n_frames times. */
void record_get_symbol(struct get *payload, struct rec_symbol *rec);
void record_get_symbol_frame(struct get *payload, struct rec_symbol_frame *frame);

#endif
