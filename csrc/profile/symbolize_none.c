/*
 * symbolize_none.c - symbolize_file.h without elfutils: function names from the symbol tables of
 * the object files themselves. No lines, nothing inlined, no separate debug files.
 *
 * Files are data: every offset is checked before it is followed.
 */
#include "profile/symbolize_file.h"

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

struct module_file {
    const uint8_t *bytes; /* mapped, owned */
    size_t n_bytes;
    VEC(struct function_symbol) symbols; /* by start */
};

/* ---- files -------------------------------------------------------------------------------- */

static const void *at_offset(const struct module_file *file, uint64_t offset, uint64_t n_bytes)
{
    return offset > file->n_bytes || n_bytes > file->n_bytes - offset ? NULL : file->bytes + offset;
}

static const ElfW(Shdr) * sections_of(const struct module_file *file, size_t *n)
{
    const ElfW(Ehdr) *header = at_offset(file, 0, sizeof *header);
    *n = 0;
    if (header == NULL || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) ||
        header->e_shentsize != sizeof(ElfW(Shdr)) || header->e_shoff % sizeof(uint32_t) != 0)
        return NULL;
    *n = header->e_shnum;
    return at_offset(file, header->e_shoff, *n * sizeof(ElfW(Shdr)));
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

static bool has_build_id(const struct module_file *file, const struct rec_module *module)
{
    size_t n;
    const ElfW(Shdr) *sections = sections_of(file, &n);
    bool has_id = false;
    for (size_t i = 0; sections != NULL && i < n; i++) {
        const uint8_t *notes = at_offset(file, sections[i].sh_offset, sections[i].sh_size);
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

static int add_symbols(struct module_file *file, const ElfW(Shdr) * table, const ElfW(Shdr) * names)
{
    const ElfW(Sym) *symbols = at_offset(file, table->sh_offset, table->sh_size);
    const char *text = at_offset(file, names->sh_offset, names->sh_size);
    if (symbols == NULL || text == NULL || names->sh_size == 0 ||
        text[names->sh_size - 1] != '\0' || table->sh_offset % sizeof(uint32_t) != 0)
        return 0;
    for (size_t i = 0; i < table->sh_size / sizeof *symbols; i++) {
        struct function_symbol *added;
        if (ELF64_ST_TYPE(symbols[i].st_info) != STT_FUNC || symbols[i].st_shndx == SHN_UNDEF ||
            symbols[i].st_name >= names->sh_size)
            continue;
        added = vec_add(&file->symbols);
        if (added == NULL)
            return -1;
        *added = (struct function_symbol){symbols[i].st_value, symbols[i].st_size,
                                          text + symbols[i].st_name};
    }
    return 0;
}

/* The full table where the file has it, else the one for the dynamic linker. */
static int read_symbols(struct module_file *file)
{
    static const uint32_t kinds[] = {SHT_SYMTAB, SHT_DYNSYM};
    size_t n;
    const ElfW(Shdr) *sections = sections_of(file, &n);
    for (size_t kind = 0; kind < 2 && file->symbols.n == 0; kind++) {
        for (size_t i = 0; sections != NULL && i < n; i++) {
            if (sections[i].sh_type == kinds[kind] && sections[i].sh_link < n &&
                add_symbols(file, &sections[i], &sections[sections[i].sh_link]) != 0)
                return -1;
        }
    }
    if (file->symbols.n != 0)
        qsort(file->symbols.items, file->symbols.n, sizeof *file->symbols.items, compare_symbols);
    return 0;
}

static enum module_verdict map_file(struct module_file *file, const char *path)
{
    struct stat status;
    void *bytes;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe would wait for ever */
    if (fd < 0)
        return MODULE_MISSING;
    bytes = fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0
                ? MAP_FAILED
                : mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (bytes == MAP_FAILED)
        return MODULE_UNREADABLE;
    file->bytes = bytes;
    file->n_bytes = (size_t)status.st_size;
    return MODULE_FOUND;
}

enum module_verdict module_file_open(const struct rec_module *module, const char *path,
                                     struct module_file **file)
{
    struct module_file *opened = calloc(1, sizeof *opened);
    enum module_verdict verdict = opened == NULL ? MODULE_UNREADABLE : map_file(opened, path);
    if (verdict == MODULE_FOUND && !has_build_id(opened, module))
        verdict = MODULE_REPLACED;
    if (verdict == MODULE_FOUND && read_symbols(opened) != 0)
        verdict = MODULE_UNREADABLE;
    if (verdict == MODULE_FOUND)
        *file = opened;
    else
        module_file_close(opened);
    return verdict;
}

void module_file_close(struct module_file *file)
{
    if (file == NULL)
        return;
    if (file->bytes != NULL)
        munmap((void *)(uintptr_t)file->bytes, file->n_bytes);
    vec_release(&file->symbols);
    free(file);
}

unsigned module_file_find(const struct module_file *file, struct symbolizer *symbolizer,
                          uint64_t address, struct symbol_text *frames)
{
    const struct function_symbol *found;
    size_t low = 0, high = file->symbols.n;
    while (low < high) { /* the first that begins behind it */
        size_t middle = low + (high - low) / 2;
        if (file->symbols.items[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return 0;
    found = &file->symbols.items[low - 1];
    if (address - found->start >= (found->n_bytes == 0 ? 4096 : found->n_bytes))
        return 0;
    frames[0] = (struct symbol_text){.name = symbolizer_keep(symbolizer, demangle(found->name))};
    return frames[0].name == NULL ? 0 : 1;
}
