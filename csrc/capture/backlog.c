/* backlog.c - see backlog.h. */
#include "capture/backlog.h"

#include "base/arena.h" /* pages */

#ifdef __SSE2__
#include <emmintrin.h> /* _mm_stream_si64 */
#endif

#define BACKLOG_WORDS ((size_t)1 << 17) /* 1 MiB */

int backlog_start(struct backlog *backlog)
{
    *backlog = (struct backlog){.words = pages_alloc(BACKLOG_WORDS * sizeof(uint64_t))};
    return backlog->words == NULL ? -1 : 0;
}

void backlog_release(struct backlog *backlog)
{
    pages_free(backlog->words, BACKLOG_WORDS * sizeof(uint64_t));
    *backlog = (struct backlog){0};
}

/* Past the caches, where that can be said: nobody looks at it soon. */
static void store(uint64_t *to, uint64_t word)
{
#if defined(__SSE2__) && defined(__x86_64__)
    _mm_stream_si64((long long *)to, (long long)word);
#else
    *to = word;
#endif
}

bool backlog_add(struct backlog *backlog, uint32_t stream, const uint64_t *words, size_t n_words)
{
    uint64_t *to = backlog->words + backlog->n;
    if (backlog->n + 1 + n_words > BACKLOG_WORDS)
        return false;
    store(to++, (uint64_t)stream << 32 | n_words);
    for (size_t i = 0; i < n_words; i++)
        store(to++, words[i]);
    backlog->n += 1 + n_words;
    return true;
}

bool backlog_next(struct backlog *backlog, struct backlog_run *run)
{
    const uint64_t *head = backlog->words + backlog->at;
    if (backlog->at >= backlog->n) {
        backlog->at = backlog->n = 0;
        return false;
    }
    *run = (struct backlog_run){(uint32_t)(*head >> 32), (uint32_t)*head, head + 1};
    backlog->at += 1 + run->n_words;
    return true;
}
