/*
 * got_object.h - a loaded object file as the dynamic loader sees it: its symbols, and the slots
 * that hold addresses of functions.
 *
 * Reads the object's own tables in place, so the object must stay loaded meanwhile: all of this is
 * called inside dl_iterate_phdr, which keeps the list of objects as it is. No call allocates.
 */
#ifndef PROFTRACE_CAPTURE_GOT_OBJECT_H
#define PROFTRACE_CAPTURE_GOT_OBJECT_H

#include <link.h> /* dl_phdr_info, ElfW */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One table of relocations. */
struct got_relocations {
    const uint8_t *start;
    size_t n_bytes;
    size_t entry_bytes;
};

struct got_object {
    uintptr_t base;
    const ElfW(Phdr) * segments;
    uint32_t n_segments;
    uintptr_t relro_start, relro_end; /* whole pages that are read-only once it is loaded */
    const ElfW(Sym) * symbols;        /* NULL: it has none */
    const char *texts;
    const uint16_t *versions;  /* of the symbols, or NULL */
    const uint32_t *gnu_hash;  /* or NULL */
    const uint32_t *sysv_hash; /* or NULL */
    struct got_relocations relocations[3];
    bool has_search_path; /* RPATH or RUNPATH: what it loads by name depends on who asks */
    bool has_rpath;       /* the older of the two, which holds for what it needs, too */
    const char *name;     /* its own (DT_SONAME), or NULL */
};

/* False: it has no dynamic section. */
bool got_object_read(const struct dl_phdr_info *info, struct got_object *object);

/* Whether an address is in one of the object's segments with all of these flags (PF_*). */
bool got_object_contains(const struct got_object *object, uintptr_t address, uint32_t flags);

/* The function of this name that the object itself defines, as others find it; or NULL. */
void *got_object_find(const struct got_object *object, const char *name);

/*
 * Calls `see` for each writable slot of a symbol. `is_lazy`: it may hold an address in the
 * object's own procedure table, until the symbol is looked up at the first call.
 */
typedef void got_slot_fn(void **slot, const char *name, bool is_lazy, void *data);
void got_object_each_slot(const struct got_object *object, got_slot_fn *see, void *data);

#endif
