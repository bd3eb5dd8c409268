/*
 * symbolize_none.c - symbolize.h without elfutils: function names from the symbol tables of the
 * object files themselves. No lines, nothing inlined, no separate debug files.
 *
 * Files are data: every offset is checked before it is followed.
 */
#include "profile/symbolize.h"

#include "profile/demangle.h"
#include "profile/vec.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h> /* ElfW */
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct function_symbol {
    uint64_t start, n_bytes;
    const char *name; /* in the mapped file */
};

struct opened_module {
    uint32_t id; /* 0 = never asked about */
    uint8_t verdict;
    const uint8_t *bytes; /* mapped, owned */
    size_t n_bytes;
    VEC(struct function_symbol) symbols; /* by start */
};

struct symbolizer {
    VEC(struct opened_module) modules; /* by id */
    VEC(char *) texts;                 /* owned: what was handed out */
};

struct symbolizer *symbolizer_open(void)
{
    return calloc(1, sizeof(struct symbolizer));
}

void symbolizer_close(struct symbolizer *symbolizer)
{
    if (symbolizer == NULL)
        return;
    for (size_t i = 0; i < symbolizer->modules.n; i++) {
        struct opened_module *opened = &symbolizer->modules.items[i];
        if (opened->bytes != NULL)
            munmap((void *)(uintptr_t)opened->bytes, opened->n_bytes);
        vec_release(&opened->symbols);
    }
    for (size_t i = 0; i < symbolizer->texts.n; i++)
        free(symbolizer->texts.items[i]);
    vec_release(&symbolizer->modules);
    vec_release(&symbolizer->texts);
    free(symbolizer);
}

/* ---- files -------------------------------------------------------------------------------- */

static const void *at_offset(const struct opened_module *opened, uint64_t offset, uint64_t n_bytes)
{
    return offset > opened->n_bytes || n_bytes > opened->n_bytes - offset ? NULL
                                                                          : opened->bytes + offset;
}

static const ElfW(Shdr) * sections_of(const struct opened_module *opened, size_t *n)
{
    const ElfW(Ehdr) *header = at_offset(opened, 0, sizeof *header);
    *n = 0;
    if (header == NULL || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) ||
        header->e_shentsize != sizeof(ElfW(Shdr)) || header->e_shoff % sizeof(uint32_t) != 0)
        return NULL;
    *n = header->e_shnum;
    return at_offset(opened, header->e_shoff, *n * sizeof(ElfW(Shdr)));
}

static bool note_matches(const uint8_t *notes, size_t n_bytes, const struct rec_module *module,
                         bool *has_id)
{
    while (n_bytes >= sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)notes;
        uint64_t name_bytes = (note->n_namesz + 3ull) & ~3ull;
        uint64_t total = sizeof *note + name_bytes + ((note->n_descsz + 3ull) & ~3ull);
        if (total > n_bytes)
            return false;
        if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4) {
            *has_id = true;
            return note->n_descsz == module->build_id_bytes &&
                   memcmp(notes + sizeof *note + name_bytes, module->build_id, note->n_descsz) == 0;
        }
        notes += total;
        n_bytes -= total;
    }
    return false;
}

static bool has_build_id(const struct opened_module *opened, const struct rec_module *module)
{
    size_t n;
    const ElfW(Shdr) *sections = sections_of(opened, &n);
    bool has_id = false;
    for (size_t i = 0; sections != NULL && i < n; i++) {
        const uint8_t *notes = at_offset(opened, sections[i].sh_offset, sections[i].sh_size);
        if (sections[i].sh_type == SHT_NOTE && notes != NULL &&
            note_matches(notes, sections[i].sh_size, module, &has_id))
            return true;
    }
    return !has_id && module->build_id_bytes == 0;
}

/* ---- symbols ------------------------------------------------------------------------------ */

static int compare_symbols(const void *a, const void *b)
{
    const struct function_symbol *left = a, *right = b;
    return left->start < right->start ? -1 : left->start > right->start;
}

static int add_symbols(struct opened_module *opened, const ElfW(Shdr) * table,
                       const ElfW(Shdr) * names)
{
    const ElfW(Sym) *symbols = at_offset(opened, table->sh_offset, table->sh_size);
    const char *text = at_offset(opened, names->sh_offset, names->sh_size);
    if (symbols == NULL || text == NULL || names->sh_size == 0 ||
        text[names->sh_size - 1] != '\0' || table->sh_offset % sizeof(uint32_t) != 0)
        return 0;
    for (size_t i = 0; i < table->sh_size / sizeof *symbols; i++) {
        struct function_symbol *added;
        if (ELF64_ST_TYPE(symbols[i].st_info) != STT_FUNC || symbols[i].st_shndx == SHN_UNDEF ||
            symbols[i].st_name >= names->sh_size)
            continue;
        added = vec_add(&opened->symbols);
        if (added == NULL)
            return -1;
        *added = (struct function_symbol){symbols[i].st_value, symbols[i].st_size,
                                          text + symbols[i].st_name};
    }
    return 0;
}

/* The full table where the file has it, else the one for the dynamic linker. */
static int read_symbols(struct opened_module *opened)
{
    static const uint32_t kinds[] = {SHT_SYMTAB, SHT_DYNSYM};
    size_t n;
    const ElfW(Shdr) *sections = sections_of(opened, &n);
    for (size_t kind = 0; kind < 2 && opened->symbols.n == 0; kind++) {
        for (size_t i = 0; sections != NULL && i < n; i++) {
            if (sections[i].sh_type == kinds[kind] && sections[i].sh_link < n &&
                add_symbols(opened, &sections[i], &sections[sections[i].sh_link]) != 0)
                return -1;
        }
    }
    if (opened->symbols.n != 0)
        qsort(opened->symbols.items, opened->symbols.n, sizeof *opened->symbols.items,
              compare_symbols);
    return 0;
}

static enum module_verdict open_file(struct opened_module *opened, const struct rec_module *module,
                                     const char *path)
{
    struct stat file;
    void *bytes;
    int fd;
    if (path[0] != '/')
        return MODULE_FOUND;                            /* the kernel's own object has no file */
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe would wait for ever */
    if (fd < 0)
        return MODULE_MISSING;
    bytes = fstat(fd, &file) != 0 || !S_ISREG(file.st_mode) || file.st_size == 0
                ? MAP_FAILED
                : mmap(NULL, (size_t)file.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (bytes == MAP_FAILED)
        return MODULE_UNREADABLE;
    opened->bytes = bytes;
    opened->n_bytes = (size_t)file.st_size;
    if (!has_build_id(opened, module))
        return MODULE_REPLACED;
    return read_symbols(opened) == 0 ? MODULE_FOUND : MODULE_UNREADABLE;
}

enum module_verdict symbolizer_module(struct symbolizer *symbolizer,
                                      const struct rec_module *module, const char *path)
{
    struct opened_module *opened;
    if (vec_reserve(&symbolizer->modules, module->id + 1ul) != 0)
        return MODULE_UNREADABLE;
    if (symbolizer->modules.n <= module->id)
        symbolizer->modules.n = module->id + 1ul;
    opened = &symbolizer->modules.items[module->id];
    if (opened->id == 0) {
        opened->id = module->id;
        opened->verdict = (uint8_t)open_file(opened, module, path);
    }
    return opened->verdict;
}

unsigned symbolizer_find(struct symbolizer *symbolizer, const struct rec_module *module,
                         uint64_t address, struct symbol_text *frames)
{
    const struct opened_module *opened;
    const struct function_symbol *found;
    char **slot;
    size_t low = 0, high;
    if (module->id >= symbolizer->modules.n)
        return 0;
    opened = &symbolizer->modules.items[module->id];
    high = opened->symbols.n;
    while (low < high) { /* the first that begins behind it */
        size_t middle = low + (high - low) / 2;
        if (opened->symbols.items[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return 0;
    found = &opened->symbols.items[low - 1];
    if (address - found->start >= (found->n_bytes == 0 ? 4096 : found->n_bytes))
        return 0;
    slot = vec_add(&symbolizer->texts);
    if (slot == NULL || (*slot = demangle(found->name)) == NULL)
        return 0;
    frames[0] = (struct symbol_text){.name = *slot};
    return 1;
}
