/*
 * code_facts.h - describes code objects to lines/: bytecode as control flow and stack effects.
 *
 * What the opcodes of the running interpreter are is read from its own `opcode` module; there is no
 * version table here. All functions need the GIL (or an attached thread state).
 */
#ifndef PROFTRACE_PYTHON_CODE_FACTS_H
#define PROFTRACE_PYTHON_CODE_FACTS_H

#include "python/compat.h"

#include "lines/registry.h"
#include "lines/statements.h"

/* Reads the opcode tables. -1 with an exception set. */
NODISCARD int code_facts_prepare(void);

/*
 * Analyses a code object and registers it. `source` is an id of registry_add_source or 0. Returns
 * the registered code, or NULL with an exception set (ValueError when it cannot be profiled).
 */
NODISCARD struct lines_code *code_facts_register(PyCodeObject *code, uint32_t source);

/* A code object in the words of statements.h. */
struct code_reading {
    struct instr_list list;
    const struct hit_rules *rules;
    void *owned; /* what both point into; NULL = nothing to release */
};

/* Reads a code object; it need not be registered. -1 with an exception set. */
NODISCARD int code_facts_read(struct code_reading *read, PyCodeObject *code);
void code_facts_release(struct code_reading *read);

#endif
