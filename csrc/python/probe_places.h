/*
 * probe_places.h - where a block counter may stand and what it costs there: the part of the
 * opcodes of the running interpreter that lines/blocks.h has to know. Needs the GIL.
 */
#ifndef PROFTRACE_PYTHON_PROBE_PLACES_H
#define PROFTRACE_PYTHON_PROBE_PLACES_H

#include "python/compat.h"

#include "lines/statements.h"

/* Reads the tables of the module `opcode`. -1 with an exception set. */
NODISCARD int probe_places_prepare(PyObject *opcode_module);

/*
 * Fills in what the counting of blocks needs: resumes, uncounted, ends_block, loses_count, may_stop
 * and probe. All else is there already; `bytecode` is what the instructions were read from.
 */
void probe_places_mark(struct instr *instrs, uint32_t n_instrs, const uint8_t *bytecode);

#endif
