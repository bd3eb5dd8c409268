/*
 * definitions.h - ids for texts, code objects and stacks, and the table records that define them.
 *
 * Records are put into the ring's dictionary slot at once, so that a killed process leaves no id
 * without its definition, and go to the log before the first events that may use them. Code is
 * known by content: what is created again from the same source gets its old id back. All functions
 * are called with the capture lock held.
 */
#ifndef PROFTRACE_CAPTURE_DEFINITIONS_H
#define PROFTRACE_CAPTURE_DEFINITIONS_H

#include "base/table.h"
#include "capture/writer.h"
#include "format/ring.h"
#include "interp/frames.h"
#include "interp/locations.h"

struct definitions {
    struct writer *writer;              /* borrowed */
    const struct interp_layout *layout; /* borrowed */
    struct ring_slot *slot;             /* borrowed: head and records that are not in the log */
    size_t slot_bytes;
    uint32_t n_pending;
    uint32_t n_sent;     /* the first of them are in the log all the same: the disk took no more */
    uint64_t sent_bytes; /* where they end */
    uint64_t n_written;
    struct table strings; /* hash of the text -> id */
    struct table codes;   /* hash of the content -> id */
    struct table code_at; /* address -> id, for code that is alive */
    struct table places;  /* code:32 | unit:31 | entry:1 -> place, and place -> its line */
    struct table nodes;   /* parent:32 | place:32 -> id */
    uint32_t n_strings, n_codes, n_places, n_nodes;
    bool no_memory;                /* something could not be defined for want of it */
    uint64_t epoch;                /* of code_at, where deaths are not reported one by one */
    bool code_at_lacks;            /* not all that was asked for while it lives is in there */
    struct location_search search; /* in the table of code that is alive */
    void (*on_node)(const struct rec_node *node); /* is told of new nodes, if not NULL */
    char *text;                                   /* owned pages: a text while it is looked up */
    size_t text_bytes;
    uint8_t *gathered; /* owned pages: a block's records, their nodes in columns */
    size_t gathered_bytes;
};

/* Starts empty; what an earlier capture of this process left is dropped. */
void definitions_start(struct definitions *dict, struct writer *writer,
                       const struct interp_layout *layout, struct ring_slot *slot,
                       size_t slot_bytes);

/* Gives back the tables. What is defined afterwards is dropped. */
void definitions_release(struct definitions *dict);

/* Continues in another slot; nothing may be pending. */
void definitions_move(struct definitions *dict, struct ring_slot *slot, size_t slot_bytes);

/* The id of a text, 0 for "". Also 0 when there is no memory left. */
uint32_t definitions_string(struct definitions *dict, const char *text, size_t n_bytes);

/* The node of a place on top of parent; parent itself when there is no memory left. */
uint32_t definitions_node(struct definitions *dict, uint32_t parent,
                          const struct frame_place *place);

/* The id of a code object by what it says now, whatever is remembered of its address. 0: none. */
uint32_t definitions_code(struct definitions *dict, uintptr_t code);

/* A place of this code object is remembered elsewhere, without a node of its own. */
void definitions_hide(struct definitions *dict, const struct frame_place *place);

/*
 * The code object at this address is dead: the address may be used again. False: no place of it
 * was ever asked for.
 */
NODISCARD bool definitions_code_died(struct definitions *dict, uintptr_t code);

void definitions_thread(struct definitions *dict, const struct rec_thread *thread);
void definitions_meta(struct definitions *dict, const char *key, const char *value);

/*
 * A record of at most n_bytes from elsewhere: put into what open returns, unless that is bad, then
 * close. Nothing else may be defined in between.
 */
NODISCARD struct put definitions_open(struct definitions *dict, size_t n_bytes);
void definitions_close(struct definitions *dict, const struct put *to, size_t n_bytes);

/* Writes what is pending as a block. -1 when writing fails. */
NODISCARD int definitions_flush(struct definitions *dict);

/*
 * Writes what is pending, up to this node if less than all is wanted (UINT32_MAX: all). -1 with
 * errno set: nothing has changed, and less may be tried.
 */
NODISCARD int definitions_try(struct definitions *dict, uint32_t last_node);

#endif
