/* modules.c - see modules.h. */
#include "capture/modules.h"

#include "base/arena.h" /* pages */
#include "base/table.h" /* hash_u64 */

#include <link.h> /* dl_iterate_phdr */
#include <string.h>
#include <sys/auxv.h> /* getauxval */
#include <sys/stat.h>
#include <unistd.h>

#define FIRST_ROOM 64

/* An object as the loader has it; all of it copied, since it may be unloaded at any moment. */
struct seen_module {
    struct module module;
    struct rec_module record;
    char path[512];
};

void modules_start(struct modules *modules, const void *interpreter)
{
    modules->n = modules->n_ids = 0;
    modules->counts = (struct loader_counts){0};
    modules->interpreter = interpreter;
}

/* ---- what the loader says ----------------------------------------------------------------- */

static struct loader_counts counts_of(const struct dl_phdr_info *info)
{
    return (struct loader_counts){info->dlpi_adds, info->dlpi_subs};
}

static int first_counts(struct dl_phdr_info *info, size_t n_bytes, void *data)
{
    (void)n_bytes;
    *(struct loader_counts *)data = counts_of(info);
    return 1;
}

struct loader_counts modules_loader_counts(void)
{
    struct loader_counts counts = {0};
    dl_iterate_phdr(first_counts, &counts);
    return counts;
}

static void find_build_id(struct rec_module *record, const uint8_t *notes, size_t n_bytes)
{
    static const uint32_t gnu_build_id = 3;
    while (n_bytes >= sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)notes;
        size_t name_bytes = (note->n_namesz + 3ul) & ~3ul;
        size_t total = sizeof *note + name_bytes + ((note->n_descsz + 3ul) & ~3ul);
        const uint8_t *name = notes + sizeof *note;
        if (total > n_bytes)
            return;
        if (note->n_type == gnu_build_id && note->n_namesz == 4 && memcmp(name, "GNU", 4) == 0 &&
            note->n_descsz <= BUILD_ID_MAX_BYTES) {
            record->build_id_bytes = note->n_descsz;
            memcpy(record->build_id, name + name_bytes, note->n_descsz);
            return;
        }
        notes += total;
        n_bytes -= total;
    }
}

static void see_segments(struct seen_module *seen, const struct dl_phdr_info *info)
{
    struct rec_module *record = &seen->record;
    seen->module.start = UINTPTR_MAX;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t at = info->dlpi_addr + header->p_vaddr;
        if (header->p_type == PT_NOTE && record->build_id_bytes == 0)
            find_build_id(record, (const uint8_t *)at, header->p_memsz);
        if (header->p_type == PT_GNU_EH_FRAME)
            seen->module.eh_frame_hdr = (const uint8_t *)at;
        if (header->p_type != PT_LOAD)
            continue;
        if (at < seen->module.start)
            seen->module.start = at;
        if (at + header->p_memsz > seen->module.end)
            seen->module.end = at + header->p_memsz;
        if (record->n_segments < MODULE_MAX_SEGMENTS)
            record->segments[record->n_segments++] =
                (struct rec_segment){header->p_vaddr, header->p_memsz, header->p_flags};
    }
}

static void see_path(struct seen_module *seen, const char *name, bool is_first)
{
    if (name[0] == '\0' && is_first) {
        ssize_t n = readlink("/proc/self/exe", seen->path, sizeof seen->path - 1);
        seen->path[n < 0 ? 0 : n] = '\0';
        seen->record.flags |= MODULE_IS_EXECUTABLE;
        if (n > 0)
            return;
        name = (const char *)getauxval(AT_EXECFN); /* there is no /proc */
        if (name == NULL)
            return;
    }
    strncpy(seen->path, name, sizeof seen->path - 1);
}

/* Not the file's size and time: it may be replaced while it is loaded. */
static uint64_t identity_of(const struct seen_module *seen)
{
    uint64_t hash = seen->module.bias;
    for (const char *at = seen->path; *at != '\0'; at++)
        hash = hash_u64(hash ^ (uint8_t)*at);
    for (uint32_t i = 0; i < seen->record.build_id_bytes; i++)
        hash = hash_u64(hash ^ seen->record.build_id[i]);
    return hash;
}

static int see_module(struct dl_phdr_info *info, size_t n_bytes, void *data)
{
    struct modules_snapshot *snapshot = data;
    struct seen_module *seen;
    (void)n_bytes;
    snapshot->counts = counts_of(info);
    if (snapshot->n == snapshot->room) {
        uint32_t room = snapshot->room * 2;
        seen = pages_grow(snapshot->seen, snapshot->room * sizeof *seen, room * sizeof *seen);
        if (seen == NULL)
            return -1;
        snapshot->seen = seen;
        snapshot->room = room;
    }
    seen = &snapshot->seen[snapshot->n];
    memset(seen, 0, sizeof *seen);
    seen->module.bias = seen->record.load_bias = info->dlpi_addr;
    see_segments(seen, info);
    if (seen->module.end == 0)
        return 0;
    see_path(seen, info->dlpi_name, snapshot->n == 0);
    snapshot->n++;
    return 0;
}

/* What was opened by a relative path is found again from elsewhere. Without realpath's malloc. */
static void make_absolute(struct seen_module *seen)
{
    char path[sizeof seen->path];
    const char *name = seen->path;
    size_t n;
    if (name[0] == '/' || strchr(name, '/') == NULL || getcwd(path, sizeof path) == NULL)
        return;
    while (name[0] == '.' && name[1] == '/')
        name += 2;
    n = strlen(path);
    if (n + strlen(name) + 2 > sizeof path)
        return;
    path[n] = '/';
    strcpy(path + n + 1, name);
    /* Elsewhere, if the program has changed its folder since. */
    if (access(path, F_OK) == 0)
        strcpy(seen->path, path);
}

int modules_look(struct modules_snapshot *snapshot)
{
    int failed;
    *snapshot = (struct modules_snapshot){.room = FIRST_ROOM};
    snapshot->seen = pages_alloc(FIRST_ROOM * sizeof *snapshot->seen);
    if (snapshot->seen == NULL)
        return -1;
    failed = dl_iterate_phdr(see_module, snapshot);
    for (uint32_t i = 0; i < snapshot->n; i++) {
        struct seen_module *seen = &snapshot->seen[i];
        struct stat file;
        make_absolute(seen);
        if (seen->path[0] == '/' && stat(seen->path, &file) == 0) {
            seen->record.file_bytes = (uint64_t)file.st_size;
            seen->record.file_mtime_ns =
                (uint64_t)file.st_mtim.tv_sec * 1000000000u + (uint64_t)file.st_mtim.tv_nsec;
        }
        seen->module.identity = identity_of(seen);
    }
    if (failed)
        modules_forget(snapshot);
    return failed;
}

void modules_forget(struct modules_snapshot *snapshot)
{
    pages_free(snapshot->seen, snapshot->room * sizeof *snapshot->seen);
    *snapshot = (struct modules_snapshot){0};
}

/* ---- the list ----------------------------------------------------------------------------- */

static bool holds(const struct module *module, const void *address)
{
    return (uintptr_t)address >= module->start && (uintptr_t)address < module->end;
}

static const struct module *known_as(const struct modules *modules, const struct module *module)
{
    const struct module *known = modules_find(modules, module->start);
    return known != NULL && known->identity == module->identity && known->end == module->end ? known
                                                                                             : NULL;
}

static void define(struct modules *modules, struct definitions *dict, struct seen_module *seen)
{
    struct put to;
    const size_t n_bytes = sizeof(struct rec_module) * 2;
    seen->module.id = seen->record.id = ++modules->n_ids;
    seen->module.is_ours = holds(&seen->module, (const void *)(uintptr_t)modules_start);
    if (modules->interpreter != NULL && holds(&seen->module, modules->interpreter))
        seen->record.flags |= MODULE_IS_INTERPRETER;
    seen->module.flags = seen->record.flags;
    seen->record.path = definitions_string(dict, seen->path, strlen(seen->path));
    to = definitions_open(dict, n_bytes);
    if (to.bad)
        return;
    record_put_module(&to, &seen->record);
    definitions_close(dict, &to, n_bytes);
}

static void insert_sorted(struct module *items, uint32_t n, const struct module *module)
{
    while (n != 0 && items[n - 1].start > module->start) {
        items[n] = items[n - 1];
        n--;
    }
    items[n] = *module;
}

bool modules_update(struct modules *modules, struct definitions *dict,
                    const struct modules_snapshot *snapshot)
{
    uint32_t n_kept = 0;
    struct module *items;
    bool is_gone;
    if (snapshot->counts.n_loads < modules->counts.n_loads ||
        snapshot->counts.n_unloads < modules->counts.n_unloads)
        return false;
    items = pages_alloc(snapshot->n * sizeof *items);
    if (items == NULL)
        return false;
    for (uint32_t i = 0; i < snapshot->n; i++) {
        struct seen_module *seen = &snapshot->seen[i];
        const struct module *known = known_as(modules, &seen->module);
        if (known != NULL)
            n_kept++;
        else
            define(modules, dict, seen);
        insert_sorted(items, i, known != NULL ? known : &seen->module);
    }
    is_gone = n_kept < modules->n;
    if (modules->items != NULL)
        pages_free(modules->items, modules->room * sizeof *items);
    modules->items = items;
    modules->n = modules->room = snapshot->n;
    modules->counts = snapshot->counts;
    return is_gone;
}

const struct module *modules_find(const struct modules *modules, uintptr_t address)
{
    uint32_t low = 0, high = modules->n;
    while (low < high) { /* the first that begins behind it */
        uint32_t middle = low + (high - low) / 2;
        if (modules->items[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || address >= modules->items[low - 1].end)
        return NULL;
    return &modules->items[low - 1];
}
