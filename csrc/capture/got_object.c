/* got_object.c - see got_object.h. */
#include "capture/got_object.h"

#include "capture/got_arch.h"

#include <string.h>
#include <unistd.h>

#define HIDDEN_VERSION 0x8000u /* an older version of a symbol: only those linked to it find it */

/* ---- the dynamic section ------------------------------------------------------------------ */

/* Some loaders have made the addresses in there absolute, others leave them as in the file. */
static uintptr_t address_of(const struct got_object *object, uintptr_t value)
{
    return value < object->base ? object->base + value : value;
}

struct table_sizes {
    size_t plt_bytes, rel_bytes, rela_bytes;
    size_t n_without_symbol; /* entries at the start of the table, if the linker put them there */
    uintptr_t plt, rel, rela, plt_kind, name;
};

static void see_entry(struct got_object *object, struct table_sizes *sizes, const ElfW(Dyn) * entry)
{
    const uintptr_t address = address_of(object, entry->d_un.d_ptr);
    switch (entry->d_tag) {
    case DT_SYMTAB:
        object->symbols = (const ElfW(Sym) *)address;
        break;
    case DT_STRTAB:
        object->texts = (const char *)address;
        break;
    case DT_VERSYM:
        object->versions = (const uint16_t *)address;
        break;
    case DT_GNU_HASH:
        object->gnu_hash = (const uint32_t *)address;
        break;
    case DT_HASH:
        object->sysv_hash = (const uint32_t *)address;
        break;
    case DT_JMPREL:
        sizes->plt = address;
        break;
    case DT_PLTRELSZ:
        sizes->plt_bytes = entry->d_un.d_val;
        break;
    case DT_PLTREL:
        sizes->plt_kind = entry->d_un.d_val;
        break;
    case DT_REL:
        sizes->rel = address;
        break;
    case DT_RELSZ:
        sizes->rel_bytes = entry->d_un.d_val;
        break;
    case DT_RELA:
        sizes->rela = address;
        break;
    case DT_RELACOUNT:
        sizes->n_without_symbol = entry->d_un.d_val;
        break;
    case DT_RELASZ:
        sizes->rela_bytes = entry->d_un.d_val;
        break;
    case DT_SONAME:
        sizes->name = entry->d_un.d_val;
        break;
    case DT_RPATH:
        object->has_rpath = object->has_search_path = true;
        break;
    case DT_RUNPATH:
        object->has_search_path = true;
        break;
    default:
        break;
    }
}

/* Most entries of a large library are of no symbol: addresses within itself. */
static struct got_relocations without_first(const struct table_sizes *sizes)
{
    const size_t n_bytes = sizes->n_without_symbol * sizeof(ElfW(Rela));
    const size_t skipped = n_bytes <= sizes->rela_bytes ? n_bytes : 0;
    return (struct got_relocations){(const uint8_t *)sizes->rela + skipped,
                                    sizes->rela_bytes - skipped, sizeof(ElfW(Rela))};
}

static void take_tables(struct got_object *object, const struct table_sizes *sizes)
{
    const size_t plt_entry = sizes->plt_kind == DT_RELA ? sizeof(ElfW(Rela)) : sizeof(ElfW(Rel));
    if (sizes->plt != 0)
        object->relocations[0] =
            (struct got_relocations){(const uint8_t *)sizes->plt, sizes->plt_bytes, plt_entry};
    if (sizes->rela != 0)
        object->relocations[1] = without_first(sizes);
    if (sizes->rel != 0)
        object->relocations[2] = (struct got_relocations){(const uint8_t *)sizes->rel,
                                                          sizes->rel_bytes, sizeof(ElfW(Rel))};
    if (sizes->name != 0 && object->texts != NULL)
        object->name = object->texts + sizes->name;
}

bool got_object_read(const struct dl_phdr_info *info, struct got_object *object)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    struct table_sizes sizes = {0};
    const ElfW(Dyn) *entry = NULL;
    *object = (struct got_object){
        .base = info->dlpi_addr, .segments = info->dlpi_phdr, .n_segments = info->dlpi_phnum};
    for (uint32_t i = 0; i < object->n_segments; i++) {
        const ElfW(Phdr) *segment = &object->segments[i];
        const uintptr_t start = object->base + segment->p_vaddr;
        if (segment->p_type == PT_DYNAMIC)
            entry = (const ElfW(Dyn) *)start;
        if (segment->p_type == PT_GNU_RELRO) {
            object->relro_start = start & ~(page - 1);
            object->relro_end = (start + segment->p_memsz) & ~(page - 1);
        }
    }
    if (entry == NULL)
        return false;
    for (; entry->d_tag != DT_NULL; entry++)
        see_entry(object, &sizes, entry);
    if (object->symbols == NULL || object->texts == NULL)
        return false;
    take_tables(object, &sizes);
    return true;
}

bool got_object_contains(const struct got_object *object, uintptr_t address, uint32_t flags)
{
    for (uint32_t i = 0; i < object->n_segments; i++) {
        const ElfW(Phdr) *segment = &object->segments[i];
        if (segment->p_type == PT_LOAD && (segment->p_flags & flags) == flags &&
            address - (object->base + segment->p_vaddr) < segment->p_memsz)
            return true;
    }
    return false;
}

/* ---- symbols ------------------------------------------------------------------------------ */

static bool is_definition(const struct got_object *object, uint32_t index, const char *name)
{
    const ElfW(Sym) *symbol = &object->symbols[index];
    const unsigned kind = symbol->st_info & 0xf;
    if (symbol->st_shndx == SHN_UNDEF || symbol->st_value == 0 ||
        (kind != STT_FUNC && kind != STT_NOTYPE))
        return false;
    if (object->versions != NULL && (object->versions[index] & HIDDEN_VERSION) != 0)
        return false;
    return strcmp(object->texts + symbol->st_name, name) == 0;
}

/* Index of a definition, or 0. Layout: the GNU extension of the ELF standard. */
static uint32_t find_by_gnu_hash(const struct got_object *object, const char *name)
{
    const uint32_t *table = object->gnu_hash;
    const uint32_t n_buckets = table[0], first = table[1], n_bloom = table[2];
    const uint32_t *buckets = table + 4 + n_bloom * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    const uint32_t *chains = buckets + n_buckets;
    uint32_t hash = 5381, index;
    for (const char *at = name; *at != '\0'; at++)
        hash = hash * 33 + (uint8_t)*at;
    index = n_buckets == 0 ? 0 : buckets[hash % n_buckets];
    if (index < first)
        return 0;
    for (;; index++) {
        const uint32_t chain = chains[index - first];
        if ((chain | 1) == (hash | 1) && is_definition(object, index, name))
            return index;
        if (chain & 1)
            return 0;
    }
}

static uint32_t find_by_sysv_hash(const struct got_object *object, const char *name)
{
    const uint32_t n_buckets = object->sysv_hash[0];
    const uint32_t *buckets = object->sysv_hash + 2;
    const uint32_t *chains = buckets + n_buckets;
    uint32_t hash = 0;
    for (const char *at = name; *at != '\0'; at++) {
        hash = (hash << 4) + (uint8_t)*at;
        hash = (hash ^ (hash >> 24 & 0xf0)) & 0x0fffffff;
    }
    for (uint32_t index = n_buckets == 0 ? 0 : buckets[hash % n_buckets]; index != 0;
         index = chains[index]) {
        if (is_definition(object, index, name))
            return index;
    }
    return 0;
}

void *got_object_find(const struct got_object *object, const char *name)
{
    uint32_t index = 0;
    if (object->gnu_hash != NULL)
        index = find_by_gnu_hash(object, name);
    else if (object->sysv_hash != NULL)
        index = find_by_sysv_hash(object, name);
    return index == 0 ? NULL : (void *)(object->base + object->symbols[index].st_value);
}

/* ---- slots -------------------------------------------------------------------------------- */

/* A slot that adds something to its symbol's address is none of a function. */
static bool has_addend(const uint8_t *entry, size_t entry_bytes)
{
    return entry_bytes == sizeof(ElfW(Rela)) && ((const ElfW(Rela) *)entry)->r_addend != 0;
}

static void each_slot_in(const struct got_object *object, const struct got_relocations *table,
                         got_slot_fn *see, void *data)
{
    for (size_t at = 0; at + table->entry_bytes <= table->n_bytes; at += table->entry_bytes) {
        const ElfW(Rel) *entry = (const ElfW(Rel) *)(table->start + at);
        const uint32_t symbol = (uint32_t)GOT_R_SYM(entry->r_info);
        const uint32_t type = (uint32_t)GOT_R_TYPE(entry->r_info);
        const uintptr_t slot = object->base + entry->r_offset;
        bool is_lazy;
        if (symbol == 0 || !got_is_slot(type, &is_lazy) || slot % sizeof(void *) != 0 ||
            (got_adds_addend(type) && has_addend(table->start + at, table->entry_bytes)))
            continue;
        see((void **)slot, object->texts + object->symbols[symbol].st_name, is_lazy, data);
    }
}

void got_object_each_slot(const struct got_object *object, got_slot_fn *see, void *data)
{
    for (size_t i = 0; i < 3; i++) {
        if (object->relocations[i].entry_bytes != 0)
            each_slot_in(object, &object->relocations[i], see, data);
    }
}
