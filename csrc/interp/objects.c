/* objects.c - see objects.h. */
#include "interp/objects.h"

#include "base/arena.h" /* pages */

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define MOST_CODES 8192u
#define LINE_ROOM 8192u /* a path has at most 4096 bytes */
#define MOST_HEADERS 64u

static struct object_list *published;

/* One line of /proc/self/maps. */
struct mapping {
    uintptr_t start, end;
    uint64_t offset;
    uint64_t device, inode;
    bool is_executable;
    bool is_vdso;
};

struct scan {
    struct peek *peek;
    struct object_list *list;
    struct mapping first; /* of the object that is being passed: where its file begins */
};

static uint64_t take_number(const char **text, unsigned base)
{
    uint64_t value = 0;
    for (;; (*text)++) {
        char c = **text;
        unsigned digit;
        if (c >= '0' && c <= '9')
            digit = (unsigned)(c - '0');
        else if (c >= 'a' && c <= 'f' && base == 16)
            digit = (unsigned)(c - 'a') + 10;
        else
            return value;
        value = value * base + digit;
    }
}

static bool take_char(const char **text, char wanted)
{
    if (**text != wanted)
        return false;
    (*text)++;
    return true;
}

/* start-end perms offset major:minor inode  path */
static bool parse_line(const char *text, struct mapping *mapping)
{
    uint64_t major;
    mapping->start = take_number(&text, 16);
    if (!take_char(&text, '-'))
        return false;
    mapping->end = take_number(&text, 16);
    if (!take_char(&text, ' ') || strlen(text) < 5)
        return false;
    mapping->is_executable = text[2] == 'x';
    text += 5;
    mapping->offset = take_number(&text, 16);
    if (!take_char(&text, ' '))
        return false;
    major = take_number(&text, 16);
    if (!take_char(&text, ':'))
        return false;
    mapping->device = major << 32 | take_number(&text, 16);
    if (!take_char(&text, ' '))
        return false;
    mapping->inode = take_number(&text, 10);
    text += strspn(text, " ");
    mapping->is_vdso = strcmp(text, "[vdso]") == 0;
    return true;
}

/* Returns the address of an object's .eh_frame_hdr, 0 if it has none; `base` is its first byte. */
static uintptr_t find_index(struct peek *peek, uintptr_t base)
{
    Elf64_Ehdr header;
    uintptr_t bias = 0, index = 0;
    bool has_bias = false;
    if (!peek_bytes(peek, base, &header, sizeof header) ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_phnum > MOST_HEADERS)
        return 0;
    for (unsigned i = 0; i < header.e_phnum; i++) {
        Elf64_Phdr program;
        if (!peek_bytes(peek, base + header.e_phoff + i * sizeof program, &program, sizeof program))
            return 0;
        if (program.p_type == PT_LOAD && program.p_offset == 0) {
            bias = base - program.p_vaddr;
            has_bias = true;
        } else if (program.p_type == PT_GNU_EH_FRAME) {
            index = program.p_vaddr;
        }
    }
    return has_bias && index != 0 ? bias + index : 0;
}

static void add_mapping(struct scan *scan, const struct mapping *mapping)
{
    bool same_file = mapping->inode != 0 && mapping->inode == scan->first.inode &&
                     mapping->device == scan->first.device;
    uintptr_t index;
    if (mapping->is_vdso || (mapping->inode != 0 && mapping->offset == 0))
        scan->first = *mapping;
    else if (!same_file)
        return;
    if (!mapping->is_executable || scan->list->n == MOST_CODES)
        return;
    index = find_index(scan->peek, scan->first.start);
    if (index != 0)
        scan->list->codes[scan->list->n++] =
            (struct object_code){mapping->start, mapping->end, index};
}

/* Feeds whole lines to add_mapping; a longer one than there is room for is passed over. */
static int scan_file(struct scan *scan, int fd, char *text)
{
    size_t n_held = 0;
    ssize_t n;
    while ((n = read(fd, text + n_held, LINE_ROOM - n_held)) > 0) {
        char *line = text, *newline;
        size_t left = n_held + (size_t)n;
        while ((newline = memchr(line, '\n', left)) != NULL) {
            struct mapping mapping;
            *newline = 0;
            if (parse_line(line, &mapping))
                add_mapping(scan, &mapping);
            left -= (size_t)(newline + 1 - line);
            line = newline + 1;
        }
        n_held = left == LINE_ROOM ? 0 : left;
        memmove(text, line, n_held);
    }
    return n < 0 ? -1 : 0;
}

static size_t list_bytes(size_t n_codes)
{
    return sizeof(struct object_list) + n_codes * sizeof(struct object_code);
}

/* Publishes a copy that is no larger than need be. */
static int publish(const struct object_list *list)
{
    struct object_list *copy = pages_alloc(list_bytes(list->n));
    if (copy == NULL)
        return -1;
    memcpy(copy, list, list_bytes(list->n));
    copy->generation = published == NULL ? 1 : published->generation + 1;
    __atomic_store_n(&published, copy, __ATOMIC_RELEASE);
    return 0;
}

int objects_read(void)
{
    size_t n_bytes = sizeof(struct peek) + LINE_ROOM + list_bytes(MOST_CODES);
    struct scan scan = {.peek = pages_alloc(n_bytes)};
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    int result = -1;
    if (fd < 0 || scan.peek == NULL)
        goto done;
    scan.list = (struct object_list *)(scan.peek + 1);
    result = scan_file(&scan, fd, (char *)scan.list + list_bytes(MOST_CODES));
    if (result == 0 && scan.list->n != 0)
        result = publish(scan.list);
done:
    if (fd >= 0)
        close(fd);
    if (scan.peek != NULL)
        pages_free(scan.peek, n_bytes);
    return result;
}

const struct object_list *objects_list(void)
{
    return __atomic_load_n(&published, __ATOMIC_ACQUIRE);
}

const struct object_code *objects_find(const struct object_list *list, uintptr_t at)
{
    uint32_t low = 0, high = list == NULL ? 0 : list->n;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (at < list->codes[middle].start)
            high = middle;
        else if (at >= list->codes[middle].end)
            low = middle + 1;
        else
            return &list->codes[middle];
    }
    return NULL;
}
