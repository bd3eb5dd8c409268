/* verify.c - see verify.h. */
#include "capture/verify.h"

#include "base/arena.h" /* pages */
#include "capture/notice.h"
#include "capture/state.h"
#include "interp/text.h"

#include <stdio.h> /* snprintf */

#define FIRST_NODES 4096
#define WHOLE_EVERY 16 /* events between two walks through frame objects */
#define MOST_DETAILS 5 /* differences that are described on stderr */
#define NAME_BYTES 200

static struct rec_node *nodes; /* owned pages: by id */
static uint32_t n_room;
static uint64_t n_stacks, n_differences, n_turns; /* atomic */

/* ---- what nodes mean ---------------------------------------------------------------------- */

static void keep_node(const struct rec_node *node)
{
    if (node->id >= n_room) {
        uint32_t room = n_room == 0 ? FIRST_NODES : n_room * 2;
        struct rec_node *bigger =
            pages_grow(nodes, n_room * sizeof nodes[0], room * sizeof nodes[0]);
        if (bigger == NULL) { /* nothing can be said of this node, so no more is said at all */
            capture.verify = false;
            return;
        }
        nodes = bigger;
        n_room = room;
    }
    nodes[node->id] = *node;
}

void verify_start_locked(bool on)
{
    capture.verify = on;
    capture.dict.on_node = on ? keep_node : NULL;
    n_stacks = n_differences = n_turns = 0;
}

/* ---- one stack ---------------------------------------------------------------------------- */

struct comparison {
    uint32_t node; /* what is left of the recorded stack */
    bool differs;
    bool is_whole;
    uint32_t depth; /* frames that were alike */
};

static void describe(const struct comparison *at, const struct seen_frame *view, uint32_t code)
{
    char line[NAME_BYTES + 160], name[NAME_BYTES] = "the end of the stack";
    struct code_view facts;
    uint32_t unit = at->node == 0 ? 0 : nodes[at->node].unit;
    if (view != NULL) {
        code_read(&capture.reader.layout, view->code, &facts);
        name[text_copy_utf8(&capture.reader.layout, facts.qualname, name, sizeof name - 1)] = 0;
    }
    snprintf(line, sizeof line,
             "frame %u (%s walk): code %u unit %u were recorded, but there is code %u unit %d,",
             at->depth, at->is_whole ? "whole" : "own", at->node == 0 ? 0 : nodes[at->node].code,
             unit, code, view == NULL ? 0 : view->unit);
    notice_write(line, name, "");
}

static void differ(struct comparison *at, const struct seen_frame *view, uint32_t code)
{
    at->differs = true;
    if (__atomic_load_n(&n_differences, __ATOMIC_RELAXED) < MOST_DETAILS)
        describe(at, view, code);
}

/* Compares the frame with the leaf of what is left. */
static bool compare(void *context, const struct seen_frame *view)
{
    struct comparison *at = context;
    uint32_t unit = view->unit < 0 ? 0 : (uint32_t)view->unit;
    uint32_t code;
    state_lock();
    code = definitions_code(&capture.dict, view->code);
    if (at->node == 0 || nodes[at->node].code != code || nodes[at->node].unit != unit)
        differ(at, view, code);
    else
        at->node = nodes[at->node].parent;
    state_unlock();
    at->depth++;
    return !at->differs;
}

/* The frames one by one, each asked about itself. Without the GIL only memory can be asked. */
static void compare_chain(const struct frame_reader *reader, struct comparison *at, bool attached)
{
    const struct interp_layout *layout = &reader->layout;
    uintptr_t frame = frames_top(reader);
    for (; frame != 0 && !at->differs; frame = frames_below(reader, frame)) {
        struct seen_frame view;
        uint8_t owner = read_u8(frame + layout->frame_owner);
        if (owner >= layout->owner_shim)
            continue;
        if (attached)
            reader->binding.view.frame(frame, &view);
        else
            frames_view(reader, frame, &view);
        if (owner != layout->owner_generator && view.unit < view.first_traceable)
            continue;
        compare(at, &view);
    }
}

/*
 * Whether objects may be created now: pymalloc must not be in the middle of something. It calls
 * malloc in its middle never, but the other functions it does.
 */
static bool may_create(const struct frame_reader *reader, enum event_kind kind)
{
    return kind == EVENT_MALLOC && reader->binding.view.whole != NULL &&
           !reader->binding.is_finalizing() &&
           __atomic_add_fetch(&n_turns, 1, __ATOMIC_RELAXED) % WHOLE_EVERY == 0;
}

void verify_stack(uint32_t node, enum event_kind kind)
{
    const struct frame_reader *reader = &capture.reader;
    struct comparison at = {.node = node};
    bool attached = reader->binding.attached_state() != NULL;
    if (attached && may_create(reader, kind)) {
        at.is_whole = true;
        reader->binding.view.whole(compare, &at);
    } else {
        compare_chain(reader, &at, attached);
    }
    if (!at.differs && at.node != 0)
        differ(&at, NULL, 0);
    __atomic_add_fetch(&n_stacks, 1, __ATOMIC_RELAXED);
    if (at.differs)
        __atomic_add_fetch(&n_differences, 1, __ATOMIC_RELAXED);
}

void verify_counts(struct verify_counts *counts)
{
    counts->n_stacks = __atomic_load_n(&n_stacks, __ATOMIC_RELAXED);
    counts->n_differences = __atomic_load_n(&n_differences, __ATOMIC_RELAXED);
}

void verify_report_locked(void)
{
    struct verify_counts counts;
    char line[100];
    if (!capture.verify)
        return;
    verify_counts(&counts);
    snprintf(line, sizeof line, "%llu stacks, %llu differences",
             (unsigned long long)counts.n_stacks, (unsigned long long)counts.n_differences);
    notice_write("verified", line, "");
}
