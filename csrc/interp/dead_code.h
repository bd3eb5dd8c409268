/*
 * dead_code.h - what a thread forgets when code objects die, before 3.14.
 *
 * Its memory goes by addresses of instructions, which may be another code object's afterwards. The
 * last deaths are kept with their addresses, so that a thread drops what stood there and no more:
 * a module that has been imported would else cost the whole stack below it. Whoever reports deaths
 * holds the GIL; without one nothing is known but their number.
 */
#ifndef PROFTRACE_INTERP_DEAD_CODE_H
#define PROFTRACE_INTERP_DEAD_CODE_H

#include "interp/frames.h"

/* Set in an epoch that is not another walk's: nothing may be remembered of such walks. */
#define EPOCH_UNWATCHED (1ull << 63)

/* Forgets the code that died since the cache's epoch. False: it is not known what did. */
NODISCARD bool dead_code_forget(const struct frame_reader *reader, struct frame_cache *cache,
                                uint64_t epoch);

#endif
