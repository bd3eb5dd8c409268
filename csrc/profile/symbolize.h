/* symbolize.h - functions and lines of native code, from its object files and their debug data. */
#ifndef PROFTRACE_PROFILE_SYMBOLIZE_H
#define PROFTRACE_PROFILE_SYMBOLIZE_H

#include "base/compiler.h"
#include "format/record_native.h"

#define SYMBOL_MAX_FRAMES 32 /* a function and what is inlined at one address */

struct symbol_text {
    const char *name; /* demangled; owned by the symbolizer */
    const char *file; /* NULL = not known */
    uint32_t line;    /* 0 = not known */
};

/* What became of the search for a module's file. */
enum module_verdict {
    MODULE_FOUND,
    MODULE_MISSING,  /* its file is gone, and nothing has its build id */
    MODULE_REPLACED, /* the file at its path is another one, and nothing has its build id */
    MODULE_UNREADABLE,
};

struct symbolizer;

/* NULL when there is no memory left. */
NODISCARD struct symbolizer *symbolizer_open(void);
void symbolizer_close(struct symbolizer *symbolizer);

/* Looks for the file of a module (the same id: the same module). Asked once a module. */
enum module_verdict symbolizer_module(struct symbolizer *symbolizer,
                                      const struct rec_module *module, const char *path);

/*
 * What stands at an address of a module that symbolizer_module was asked about: innermost first,
 * at most SYMBOL_MAX_FRAMES. Returns how many, 0 = not known.
 */
unsigned symbolizer_find(struct symbolizer *symbolizer, const struct rec_module *module,
                         uint64_t address, struct symbol_text *frames);

#endif
