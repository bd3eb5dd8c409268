/* state_word.c - see state_word.h. */
#include "python/state_word.h"

#include "base/compiler.h"
#include "python/compat.h"

#include <link.h> /* dl_iterate_phdr */
#include <stdint.h>

/* Memory that every thread has beside its thread pointer, however small its stack. */
#define FARTHEST 4096

struct search {
    uintptr_t runtime;
    uintptr_t state;
    const uintptr_t *word;
    size_t n_found;
};

static const ElfW(Phdr) * find_header(const struct dl_phdr_info *info, uint32_t type, uintptr_t in)
{
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        const uintptr_t start = info->dlpi_addr + header->p_vaddr;
        if (header->p_type == type && (in == 0 || (in >= start && in < start + header->p_memsz)))
            return header;
    }
    return NULL;
}

static int search_object(struct dl_phdr_info *info, size_t n_bytes, void *context)
{
    struct search *search = context;
    const ElfW(Phdr) * block;
    const uintptr_t *words;
    (void)n_bytes;
    if (find_header(info, PT_LOAD, search->runtime) == NULL)
        return 0;
    block = find_header(info, PT_TLS, 0);
    words = info->dlpi_tls_data;
    if (block == NULL || words == NULL)
        return 1;
    for (size_t i = 0; i < block->p_memsz / sizeof words[0]; i++) {
        if (words[i] == search->state) {
            search->word = &words[i];
            search->n_found++;
        }
    }
    return 1;
}

ptrdiff_t state_word_offset(const void *runtime)
{
    struct search search = {.runtime = (uintptr_t)runtime,
                            .state = (uintptr_t)compat_attached_state()};
    ptrdiff_t offset;
    if (search.state == 0 || THREAD_POINTER() == 0)
        return 0;
    (void)dl_iterate_phdr(search_object, &search);
    if (search.n_found != 1)
        return 0;
    offset = (ptrdiff_t)((uintptr_t)search.word - THREAD_POINTER());
    return offset > -FARTHEST && offset < FARTHEST ? offset : 0;
}
