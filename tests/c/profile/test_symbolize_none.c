/* Names without elfutils: from the symbol table of this program itself. */
#include "profile/symbolize.h"

#include "check.h"
#include "test_path.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h> /* dl_iterate_phdr */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char own_path[PATH_MAX];
static struct rec_module own = {.id = 1};

static int see_own(struct dl_phdr_info *info, size_t n_bytes, void *unused)
{
    (void)n_bytes;
    (void)unused;
    own.load_bias = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        const uint8_t *at = (const uint8_t *)(info->dlpi_addr + header->p_vaddr);
        const uint8_t *end = at + header->p_memsz;
        while (header->p_type == PT_NOTE && at < end) {
            const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)(const void *)at;
            const uint8_t *text = at + sizeof *note + ((note->n_namesz + 3u) & ~3u);
            if (note->n_type == NT_GNU_BUILD_ID && memcmp(at + sizeof *note, "GNU", 4) == 0) {
                own.build_id_bytes = note->n_descsz;
                memcpy(own.build_id, text, note->n_descsz);
            }
            at = text + ((note->n_descsz + 3u) & ~3u);
        }
    }
    return 1;
}

static uint64_t in_file(const void *at)
{
    return (uintptr_t)at - own.load_bias;
}

static void a_function_is_found_from_start_to_end(void)
{
    struct symbolizer *symbolizer = symbolizer_open();
    struct symbol_text frames[SYMBOL_MAX_FRAMES];
    CHECK_EQ(symbolizer_module(symbolizer, &own, own_path), MODULE_FOUND);
    CHECK_EQ(symbolizer_find(symbolizer, &own, in_file((void *)see_own), frames), 1);
    CHECK(strcmp(frames[0].name, "see_own") == 0);
    CHECK(frames[0].file == NULL);
    CHECK_EQ(frames[0].line, 0);
    CHECK_EQ(symbolizer_find(symbolizer, &own, in_file((uint8_t *)see_own + 5), frames), 1);
    CHECK(strcmp(frames[0].name, "see_own") == 0);
    CHECK_EQ(symbolizer_find(symbolizer, &own, 1, frames), 0);
    CHECK_EQ(symbolizer_find(symbolizer, &own, UINT64_MAX, frames), 0);
    symbolizer_close(symbolizer);
}

static void another_file_gives_no_names(void)
{
    struct symbolizer *symbolizer = symbolizer_open();
    struct symbol_text frames[SYMBOL_MAX_FRAMES];
    struct rec_module other = own;
    CHECK(own.build_id_bytes != 0);
    other.build_id[0] ^= 1;
    CHECK_EQ(symbolizer_module(symbolizer, &other, own_path), MODULE_REPLACED);
    CHECK_EQ(symbolizer_find(symbolizer, &other, in_file((void *)see_own), frames), 0);
    other.id = 2;
    CHECK_EQ(symbolizer_module(symbolizer, &other, "/nowhere/lib.so"), MODULE_MISSING);
    other.id = 3;
    CHECK_EQ(symbolizer_module(symbolizer, &other, "/dev/null"), MODULE_UNREADABLE);
    other.id = 4;
    CHECK_EQ(symbolizer_module(symbolizer, &other, "linux-vdso.so.1"), MODULE_FOUND);
    other.id = 5; /* nobody asked about this one */
    CHECK_EQ(symbolizer_find(symbolizer, &other, 0, frames), 0);
    symbolizer_close(symbolizer);
}

/* Cuts and flips a copy of this program: every number in it is one that may be wrong. */
static void a_damaged_file_is_survived(void)
{
    static uint8_t bytes[1 << 22];
    const char *path = test_path("elf");
    int from = open(own_path, O_RDONLY), to = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    ssize_t n = read(from, bytes, sizeof bytes);
    struct rec_module module = {.id = 1};
    struct symbol_text frames[SYMBOL_MAX_FRAMES];
    CHECK(n > 4096 && n < (ssize_t)sizeof bytes);
    for (size_t round = 0; round < 400; round++) {
        struct symbolizer *symbolizer = symbolizer_open();
        /* The header and the sections, which stand at the end. */
        size_t at = round < 64 ? round : (size_t)n - (round - 63) * 7;
        uint8_t before = bytes[at];
        bytes[at] ^= (uint8_t)(0xff >> round % 3);
        CHECK(pwrite(to, bytes, (size_t)n, 0) == n);
        CHECK(ftruncate(to, round % 5 == 4 ? n - (ssize_t)round : n) == 0);
        (void)symbolizer_module(symbolizer, &module, path);
        for (uint64_t address = 0; address < 0x4000; address += 64)
            (void)symbolizer_find(symbolizer, &module, address, frames);
        bytes[at] = before;
        symbolizer_close(symbolizer);
    }
    close(from);
    close(to);
}

int main(void)
{
    ssize_t n = readlink("/proc/self/exe", own_path, sizeof own_path - 1);
    CHECK(n > 0);
    dl_iterate_phdr(see_own, NULL);
    a_function_is_found_from_start_to_end();
    another_file_gives_no_names();
    a_damaged_file_is_survived();
    return 0;
}
