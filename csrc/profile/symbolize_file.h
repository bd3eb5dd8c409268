/*
 * symbolize_file.h - the file of one module, behind symbolize.h.
 *
 * An implementation is chosen when this is built: symbolize_libdw.c knows DWARF, separate debug
 * files and debuginfod; symbolize_none.c knows the symbol tables of ELF files.
 */
#ifndef PROFTRACE_PROFILE_SYMBOLIZE_FILE_H
#define PROFTRACE_PROFILE_SYMBOLIZE_FILE_H

#include "profile/symbolize.h"

struct module_file; /* the implementation's */

/*
 * Looks for the file of a module, whose path begins with '/'. *file stays NULL unless there is
 * something to look into, which is so with MODULE_FOUND only; it is owned by the caller then.
 */
enum module_verdict module_file_open(const struct rec_module *module, const char *path,
                                     struct module_file **file);
void module_file_close(struct module_file *file); /* NULL is fine */

/* As symbolizer_find. The texts of `frames` are kept by the symbolizer: see symbolizer_keep. */
unsigned module_file_find(const struct module_file *file, struct symbolizer *symbolizer,
                          uint64_t address, struct symbol_text *frames);

/* Takes over a text from malloc until the symbolizer is closed; NULL stays NULL. */
const char *symbolizer_keep(struct symbolizer *symbolizer, char *text);

#endif
