/*
 * modules.h - the object files that are loaded, and their records in the log.
 *
 * The list is asked of the dynamic loader when an address is in none that are known, and around a
 * dlclose. The loader is never asked with the capture lock held: a thread inside dlopen has the
 * loader's lock and may come here for the other one.
 */
#ifndef PROFTRACE_CAPTURE_MODULES_H
#define PROFTRACE_CAPTURE_MODULES_H

#include "capture/definitions.h"
#include "format/record_native.h"

struct module {
    uint32_t id; /* in the log */
    uint32_t flags;
    bool is_ours; /* the capture library */
    uintptr_t start, end;
    uintptr_t bias;
    const uint8_t *eh_frame_hdr; /* NULL = none */
    uint64_t identity;           /* hash of path and build id */
};

/* How often the loader has changed its list; neither ever goes down. */
struct loader_counts {
    uint64_t n_loads, n_unloads;
};

static inline bool loader_counts_equal(struct loader_counts one, struct loader_counts other)
{
    return one.n_loads == other.n_loads && one.n_unloads == other.n_unloads;
}

struct modules {
    struct module *items; /* owned pages; by address */
    uint32_t n;
    uint32_t room;
    uint32_t n_ids;
    struct loader_counts counts; /* as of the list */
    const void *interpreter;     /* an address in the interpreter's code or data */
};

/* What the loader says; taken without the lock, given to modules_update with it. */
struct modules_snapshot {
    struct seen_module *seen; /* owned pages */
    uint32_t n;
    uint32_t room;
    struct loader_counts counts;
};

/* Starts empty: ids of an earlier capture are not used again. */
void modules_start(struct modules *modules, const void *interpreter);

/* The loader's counts, without a walk over its list. */
struct loader_counts modules_loader_counts(void);

/* -1 when there is no memory left. */
NODISCARD int modules_look(struct modules_snapshot *snapshot);
void modules_forget(struct modules_snapshot *snapshot);

/*
 * With the lock held: takes over a snapshot, and defines what is new. True if something is gone.
 * One that is older than the list is left alone: threads may come here in another order than they
 * asked the loader in.
 */
bool modules_update(struct modules *modules, struct definitions *dict,
                    const struct modules_snapshot *snapshot);

/* With the lock held: the module that an address is in, or NULL. */
const struct module *modules_find(const struct modules *modules, uintptr_t address);

#endif
