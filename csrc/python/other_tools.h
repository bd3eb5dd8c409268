/*
 * other_tools.h - tools beside us: they take INSTRUCTION events away from us without a word, as
 * soon as they share any event of a code object (gh-157900), so hot code has to turn cold before.
 */
#ifndef PROFTRACE_PYTHON_OTHER_TOOLS_H
#define PROFTRACE_PYTHON_OTHER_TOOLS_H

#include "python/compat.h"

#include "base/compiler.h"
#include "format/record.h" /* enum cold_reason */

/*
 * Puts functions in the place of those by which a tool announces itself (sys.settrace,
 * sys.setprofile, sys.monitoring.use_tool_id): they call `arrives` first, and so does the import of
 * greenlet. -1 with an exception set.
 */
NODISCARD int other_tools_watch(void (*arrives)(enum cold_reason reason));

/* Puts the real functions back; other_tools_watch may be called again. */
void other_tools_ignore(void);

/*
 * Whether another tool has an id, a thread a trace or profile function, or the program greenlets:
 * COLD_TOOL, COLD_TRACE, COLD_STACKS or COLD_JIT; COLD_UNASKED if nothing is in the way. Needs the
 * GIL; no exception is left.
 */
NODISCARD enum cold_reason other_tools_find(int our_tool_id);

#endif
