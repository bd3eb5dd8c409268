/* symbolize.c - see symbolize.h: which files were looked into, and what was found there. */
#include "profile/symbolize.h"

#include "profile/symbolize_file.h"
#include "profile/vec.h"

struct opened_module {
    uint32_t id; /* 0 = never asked about */
    uint8_t verdict;
    struct module_file *file; /* owned; NULL = there is nothing to look into */
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
    for (size_t i = 0; i < symbolizer->modules.n; i++)
        module_file_close(symbolizer->modules.items[i].file);
    for (size_t i = 0; i < symbolizer->texts.n; i++)
        free(symbolizer->texts.items[i]);
    vec_release(&symbolizer->modules);
    vec_release(&symbolizer->texts);
    free(symbolizer);
}

const char *symbolizer_keep(struct symbolizer *symbolizer, char *text)
{
    char **slot = text == NULL ? NULL : vec_add(&symbolizer->texts);
    if (slot == NULL) {
        free(text);
        return NULL;
    }
    *slot = text;
    return text;
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
        /* The kernel's own object has no file. */
        opened->verdict =
            path[0] != '/' ? MODULE_FOUND : (uint8_t)module_file_open(module, path, &opened->file);
    }
    return opened->verdict;
}

unsigned symbolizer_find(struct symbolizer *symbolizer, const struct rec_module *module,
                         uint64_t address, struct symbol_text *frames)
{
    const struct module_file *file =
        module->id < symbolizer->modules.n ? symbolizer->modules.items[module->id].file : NULL;
    return file == NULL ? 0 : module_file_find(file, symbolizer, address, frames);
}
