/*
 * symbolize_libdw.c - symbolize_file.h with elfutils: DWARF with what is inlined, symbol tables,
 * debug files apart from their objects (by build id and by .gnu_debuglink), and debuginfod.
 */
#include "profile/symbolize_file.h"

#include "profile/demangle.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct module_file {
    Dwfl *dwfl; /* owned */
    Dwfl_Module *module;
    GElf_Addr bias;
};

/* ---- files -------------------------------------------------------------------------------- */

static bool has_build_id(const char *path, const struct rec_module *module)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    const void *id;
    Elf *elf;
    ssize_t n;
    bool is_same;
    if (fd < 0)
        return false;
    elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    n = elf == NULL ? -1 : dwelf_elf_gnu_build_id(elf, &id);
    is_same = n >= 0 && (uint32_t)n == module->build_id_bytes &&
              (n == 0 || memcmp(id, module->build_id, (size_t)n) == 0);
    elf_end(elf);
    close(fd);
    return is_same;
}

/* Whether the file at the module's path is what was loaded. */
static bool is_same_file(const struct rec_module *module, const char *path)
{
    struct stat file;
    if (stat(path, &file) != 0 || !S_ISREG(file.st_mode) || !has_build_id(path, module))
        return false;
    if (module->build_id_bytes != 0 || module->file_bytes == 0)
        return true;
    return (uint64_t)file.st_size == module->file_bytes &&
           (uint64_t)file.st_mtim.tv_sec * 1000000000u + (uint64_t)file.st_mtim.tv_nsec ==
               module->file_mtime_ns;
}

static void hex_of(const struct rec_module *module, char *out)
{
    for (uint32_t i = 0; i < module->build_id_bytes; i++)
        sprintf(out + 2 * i, "%02x", module->build_id[i]);
}

/* A file for the build id from a debuginfod server, in its client's cache; -1: there is none. */
static int ask_server(const struct rec_module *module, const char *what)
{
    typedef void *(*begin_fn)(void);
    typedef int (*find_fn)(void *, const unsigned char *, int, char **);
    typedef void (*end_fn)(void *);
    void *library, *client;
    char name[64] = "debuginfod_find_";
    begin_fn begin;
    find_fn find;
    end_fn end;
    int fd = -1;
    if (getenv("DEBUGINFOD_URLS") == NULL ||
        (library = dlopen("libdebuginfod.so.1", RTLD_LAZY | RTLD_LOCAL)) == NULL)
        return -1;
    begin = (begin_fn)dlsym(library, "debuginfod_begin");
    find = (find_fn)dlsym(library, strcat(name, what));
    end = (end_fn)dlsym(library, "debuginfod_end");
    client = begin == NULL || find == NULL || end == NULL ? NULL : begin();
    if (client != NULL) {
        fd = find(client, module->build_id, (int)module->build_id_bytes, NULL);
        end(client);
    }
    return fd < 0 ? -1 : fd;
}

/* A file that has the module's build id, wherever it is: the object itself, or its debug file. */
static int open_by_build_id(const struct rec_module *module)
{
    static const char *const endings[] = {"", ".debug"};
    char hex[2 * BUILD_ID_MAX_BYTES + 1] = "";
    char path[2 * BUILD_ID_MAX_BYTES + 64];
    int fd = -1;
    if (module->build_id_bytes < 2)
        return -1;
    hex_of(module, hex);
    for (size_t i = 0; i < 2; i++) {
        sprintf(path, "/usr/lib/debug/.build-id/%.2s/%s%s", hex, hex + 2, endings[i]);
        if (has_build_id(path, module))
            return open(path, O_RDONLY | O_CLOEXEC);
    }
    fd = ask_server(module, "executable");
    return fd >= 0 ? fd : ask_server(module, "debuginfo");
}

/* `fd` is taken over; -1: the file is at `path`. */
static struct module_file *open_file(const char *path, int fd)
{
    static char *debuginfo_path; /* NULL: the usual places */
    static const Dwfl_Callbacks callbacks = {
        .find_elf = dwfl_build_id_find_elf,
        .find_debuginfo = dwfl_standard_find_debuginfo,
        .section_address = dwfl_offline_section_address,
        .debuginfo_path = &debuginfo_path,
    };
    struct module_file *file = calloc(1, sizeof *file);
    if (file != NULL)
        file->dwfl = dwfl_begin(&callbacks);
    if (file != NULL && file->dwfl != NULL) {
        file->module = dwfl_report_offline(file->dwfl, path, path, fd);
        dwfl_report_end(file->dwfl, NULL, NULL);
        if (file->module != NULL)
            fd = -1; /* it has it */
        if (file->module != NULL && dwfl_module_getelf(file->module, &file->bias) != NULL)
            return file;
    }
    if (fd >= 0)
        close(fd);
    module_file_close(file);
    return NULL;
}

enum module_verdict module_file_open(const struct rec_module *module, const char *path,
                                     struct module_file **file)
{
    int fd = -1;
    elf_version(EV_CURRENT);
    if (!is_same_file(module, path) && (fd = open_by_build_id(module)) < 0)
        return access(path, F_OK) == 0 ? MODULE_REPLACED : MODULE_MISSING;
    *file = open_file(path, fd);
    return *file == NULL ? MODULE_UNREADABLE : MODULE_FOUND;
}

void module_file_close(struct module_file *file)
{
    if (file != NULL && file->dwfl != NULL)
        dwfl_end(file->dwfl);
    free(file);
}

/* ---- functions and lines ------------------------------------------------------------------ */

static bool is_function(Dwarf_Die *die)
{
    int tag = dwarf_tag(die);
    return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine ||
           tag == DW_TAG_entry_point;
}

static const char *name_of(struct symbolizer *symbolizer, Dwarf_Die *die)
{
    Dwarf_Attribute found;
    Dwarf_Attribute *attribute = dwarf_attr_integrate(die, DW_AT_linkage_name, &found);
    const char *name = attribute == NULL ? NULL : dwarf_formstring(attribute);
    if (name == NULL)
        name = dwarf_diename(die);
    return name == NULL ? NULL : symbolizer_keep(symbolizer, demangle(name));
}

/* A file name of a line table, made absolute. */
static const char *file_text(struct symbolizer *symbolizer, Dwarf_Die *cu, const char *name)
{
    Dwarf_Attribute found;
    Dwarf_Attribute *folder;
    const char *text;
    char *joined;
    if (name == NULL)
        return NULL;
    folder = name[0] == '/' ? NULL : dwarf_attr(cu, DW_AT_comp_dir, &found);
    text = folder == NULL ? NULL : dwarf_formstring(folder);
    if (text == NULL)
        return symbolizer_keep(symbolizer, strdup(name));
    joined = malloc(strlen(text) + strlen(name) + 2);
    if (joined != NULL)
        sprintf(joined, "%s/%s", text, name);
    return symbolizer_keep(symbolizer, joined);
}

/* Where an inlined function was called: the place in the next function out. */
static void call_site(struct symbolizer *symbolizer, Dwarf_Die *cu, Dwarf_Die *die,
                      struct symbol_text *outer)
{
    Dwarf_Attribute found;
    Dwarf_Files *files;
    Dwarf_Word number;
    size_t n_files;
    Dwarf_Attribute *attribute = dwarf_attr(die, DW_AT_call_line, &found);
    if (attribute != NULL && dwarf_formudata(attribute, &number) == 0)
        outer->line = (uint32_t)number;
    attribute = dwarf_attr(die, DW_AT_call_file, &found);
    if (attribute != NULL && dwarf_formudata(attribute, &number) == 0 &&
        dwarf_getsrcfiles(cu, &files, &n_files) == 0 && number < n_files)
        outer->file = file_text(symbolizer, cu, dwarf_filesrc(files, number, NULL, NULL));
}

/* The unit that an address is in; not every compiler writes the table that says so. */
static Dwarf_Die *unit_of(Dwfl_Module *module, Dwarf_Addr address, Dwarf_Addr *bias)
{
    Dwarf_Die *cu = dwfl_module_addrdie(module, address, bias);
    if (cu != NULL)
        return cu;
    while ((cu = dwfl_module_nextcu(module, cu, bias)) != NULL) {
        if (dwarf_haspc(cu, address - *bias) > 0)
            return cu;
    }
    return NULL;
}

/* Whether functions may be defined inside. */
static bool may_hold_functions(Dwarf_Die *die)
{
    int tag = dwarf_tag(die);
    return dwarf_haschildren(die) > 0 &&
           (tag == DW_TAG_namespace || tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
            tag == DW_TAG_union_type || tag == DW_TAG_enumeration_type || tag == DW_TAG_module);
}

#define MOST_DEPTH 64

/*
 * The function around an address, looked for one by one in a unit (or what it is made of). libdw
 * looks into no namespace, and that is where LLVM (so Rust, and C++ by clang) writes functions.
 */
static bool find_function(Dwarf_Die *parent, Dwarf_Addr address, int depth, Dwarf_Die *function)
{
    Dwarf_Die die;
    if (depth == MOST_DEPTH || dwarf_child(parent, &die) != 0)
        return false;
    do {
        if (dwarf_tag(&die) == DW_TAG_subprogram && dwarf_haspc(&die, address) > 0) {
            *function = die;
            return true;
        }
        if (may_hold_functions(&die) && find_function(&die, address, depth + 1, function))
            return true;
    } while (dwarf_siblingof(&die, &die) == 0);
    return false;
}

/* As libdw finds them. */
static unsigned scopes_within(Dwarf_Die *cu, Dwarf_Addr address, Dwarf_Die *functions)
{
    Dwarf_Die *scopes = NULL, *nested = NULL;
    unsigned n = 0;
    int n_nested = 0;
    /* What the first call gives goes on where a function was defined, not where it was called. */
    if (dwarf_getscopes(cu, address, &scopes) > 0)
        n_nested = dwarf_getscopes_die(&scopes[0], &nested);
    for (int i = 0; i < n_nested && n < SYMBOL_MAX_FRAMES; i++) {
        if (!is_function(&nested[i]))
            continue;
        functions[n++] = nested[i];
        if (dwarf_tag(&nested[i]) == DW_TAG_subprogram)
            break;
    }
    free(scopes);
    free(nested);
    return n;
}

static bool find_child_at(Dwarf_Die *parent, Dwarf_Addr address, Dwarf_Die *child)
{
    if (dwarf_child(parent, child) != 0)
        return false;
    do {
        int tag = dwarf_tag(child);
        if ((tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block) &&
            dwarf_haspc(child, address) > 0)
            return true;
    } while (dwarf_siblingof(child, child) == 0);
    return false;
}

/* The function, and in front of it what was inlined there. */
static unsigned scopes_of_function(const Dwarf_Die *function, Dwarf_Addr address,
                                   Dwarf_Die *functions)
{
    Dwarf_Die die = *function, child;
    unsigned n = 0;
    functions[n++] = die;
    for (int depth = 0; depth < MOST_DEPTH && find_child_at(&die, address, &child); depth++) {
        die = child;
        if (dwarf_tag(&die) != DW_TAG_inlined_subroutine)
            continue;
        if (n == SYMBOL_MAX_FRAMES) /* the outermost ones go */
            n--;
        memmove(functions + 1, functions, n * sizeof *functions);
        functions[0] = die;
        n++;
    }
    return n;
}

/* The functions that an address is in, as they were inlined into each other; innermost first. */
static unsigned find_scopes(Dwarf_Die *cu, Dwarf_Addr address, Dwarf_Die *functions)
{
    Dwarf_Die function;
    unsigned n = scopes_within(cu, address, functions);
    if (n == 0 && find_function(cu, address, 0, &function))
        n = scopes_of_function(&function, address, functions);
    return n;
}

/*
 * Where the functions of a unit are described: with -gsplit-dwarf not in the object, but in a .dwo
 * or .dwp beside it, which libdw finds (the latter from elfutils 0.191 on).
 */
static Dwarf_Die *functions_of(Dwarf_Die *cu, Dwarf_Die *split)
{
    uint8_t type;
    if (dwarf_cu_info(cu->cu, NULL, &type, NULL, split, NULL, NULL, NULL) == 0 &&
        type == DW_UT_skeleton && split->cu != NULL)
        return split;
    return cu;
}

/* The place in the source; the lines are in the object, wherever the functions are. */
static void find_line(struct symbolizer *symbolizer, const struct module_file *file,
                      Dwarf_Addr address, Dwarf_Die *cu, struct symbol_text *frame)
{
    int number = 0;
    Dwfl_Line *line = dwfl_module_getsrc(file->module, address);
    if (line != NULL) {
        const char *path = dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL);
        frame->file = file_text(symbolizer, cu, path);
        frame->line = number < 0 ? 0 : (uint32_t)number;
    }
}

static unsigned find_in_dwarf(struct symbolizer *symbolizer, const struct module_file *file,
                              Dwarf_Addr address, struct symbol_text *frames)
{
    Dwarf_Die functions[SYMBOL_MAX_FRAMES];
    Dwarf_Addr bias;
    Dwarf_Die split;
    unsigned n;
    Dwarf_Die *cu = unit_of(file->module, address, &bias);
    n = cu == NULL ? 0 : find_scopes(functions_of(cu, &split), address - bias, functions);
    if (n == 0)
        return 0;
    memset(frames, 0, n * sizeof *frames);
    find_line(symbolizer, file, address, cu, &frames[0]);
    for (unsigned i = 0; i < n; i++) {
        frames[i].name = name_of(symbolizer, &functions[i]);
        if (i + 1 < n)
            call_site(symbolizer, cu, &functions[i], &frames[i + 1]);
    }
    return n;
}

static unsigned find_in_symbols(struct symbolizer *symbolizer, const struct module_file *file,
                                Dwarf_Addr address, struct symbol_text *frame)
{
    GElf_Off offset;
    GElf_Sym symbol;
    Dwarf_Addr bias;
    Dwarf_Die *cu;
    const char *name =
        dwfl_module_addrinfo(file->module, address, &offset, &symbol, NULL, NULL, NULL);
    if (name == NULL || name[0] == '\0' || (symbol.st_size != 0 && offset >= symbol.st_size))
        return 0;
    *frame = (struct symbol_text){.name = symbolizer_keep(symbolizer, demangle(name))};
    cu = unit_of(file->module, address, &bias);
    if (cu != NULL)
        find_line(symbolizer, file, address, cu, frame);
    return frame->name == NULL ? 0 : 1;
}

unsigned module_file_find(const struct module_file *file, struct symbolizer *symbolizer,
                          uint64_t address, struct symbol_text *frames)
{
    struct symbol_text symbol;
    unsigned n = find_in_dwarf(symbolizer, file, address + file->bias, frames);
    if (n != 0 && frames[n - 1].name != NULL)
        return n;
    if (find_in_symbols(symbolizer, file, address + file->bias, &symbol) == 0)
        return 0;
    if (n == 0)
        frames[n++] = symbol;
    else
        frames[n - 1].name = symbol.name;
    return n;
}
