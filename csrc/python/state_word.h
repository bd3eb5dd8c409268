/*
 * state_word.h - where the interpreter keeps the thread state of a thread that holds the GIL: a
 * thread-local word that only its own functions know by name. A call of such a function costs as
 * much as the rest of a short stack walk.
 */
#ifndef PROFTRACE_PYTHON_STATE_WORD_H
#define PROFTRACE_PYTHON_STATE_WORD_H

#include <stddef.h>

/*
 * How far from the thread pointer that word is, 0 = not known: it is looked for among the
 * thread-local words of the object that has `runtime`, where it must be the only one with this
 * thread's state. With the GIL held. Each thread has to see once that its own word agrees.
 */
ptrdiff_t state_word_offset(const void *runtime);

#endif
