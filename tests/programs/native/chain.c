/* A library whose call chain is known: outer > middle (inlined) > inner > malloc. */
#include <stdlib.h>

typedef int (*callback_fn)(int);

static __attribute__((noinline)) void *inner(size_t n)
{
    char *block = malloc(n); /* INNER */
    if (block != NULL)
        block[0] = 1;
    return block;
}

static inline __attribute__((always_inline)) void *middle(size_t n)
{
    char *block = inner(n + 1); /* MIDDLE */
    if (block != NULL)
        block[1] = 2; /* so that the call is no jump */
    return block;
}

void *outer(size_t n)
{
    char *block = middle(n + 1); /* OUTER */
    if (block != NULL)
        block[2] = 3;
    return block;
}

/* Calls back, and looks at the result, so that its frame stays. */
int call_back(callback_fn callback, int value)
{
    return callback(value) + 1; /* CALLBACK */
}
