/* pymalloc.c - see pymalloc.h. */
#include "interp/pymalloc.h"

#include "base/peek.h"
#include "interp/layout.h" /* read_u32 */

#define WORD sizeof(uintptr_t)
#define SIZE_CLASSES 32u /* of 16 bytes each */
#define N_HEADS 64u      /* two words a class; the list's head starts two words before them */
#define SEARCH_BYTES (512u << 10)
#define CLASS_BYTES 16u

/* struct arena_object; the array of them and its length follow the heads. */
#define ARENAS_AT (N_HEADS * WORD)
#define N_ARENAS_AT (ARENAS_AT + WORD)
#define ARENA_OBJECT_BYTES 48u
#define MOST_ARENAS (1u << 20)
/* struct pool_header: count, then from the 32nd byte on arenaindex and size class, both u32. */
#define POOL_CLASS_AT 36u

static bool is_head(uintptr_t word, uintptr_t at, unsigned i)
{
    return word == at + (i & ~1u) * WORD - 2 * WORD;
}

/* Whether a list begins with a pool of its class. */
static bool is_pool(struct peek *peek, uintptr_t pool, unsigned size_class)
{
    uint32_t found;
    return pool % 4096 == 0 && pool != 0 &&
           peek_bytes(peek, pool + POOL_CLASS_AT, &found, sizeof found) && found == size_class;
}

/* Whether the heads of all lists are at this address. */
static bool heads_are_at(struct peek *peek, uintptr_t at)
{
    uintptr_t words[N_HEADS];
    if (at % WORD != 0 || at < 65536 || !peek_bytes(peek, at, words, sizeof words))
        return false;
    for (unsigned i = 0; i < N_HEADS; i += 2) {
        const bool empty = is_head(words[i], at, i) && is_head(words[i + 1], at, i);
        if (!empty && !is_pool(peek, words[i], i / 2))
            return false;
    }
    return true;
}

/*
 * In the interpreter's state itself (3.12), or where a word of it points to. Most words are sorted
 * out by the first head: it is empty, or leads to a pool of the smallest class.
 */
struct pymalloc_place pymalloc_find(uintptr_t interp)
{
    static struct peek state, there;
    uintptr_t last = 0, word;
    peek_forget(&state);
    peek_forget(&there);
    for (uintptr_t at = interp; at < interp + SEARCH_BYTES; at += WORD) {
        if (!peek_word(&state, at, &word))
            break;
        if ((word == at - 2 * WORD || word % 4096 == 0) && heads_are_at(&there, at))
            return (struct pymalloc_place){.interp = interp, .tables = at};
        if (word != last && heads_are_at(&there, word))
            return (struct pymalloc_place){.interp = interp, .tables = word, .noted_at = at};
        last = word;
    }
    return (struct pymalloc_place){.interp = interp};
}

/* An interpreter that was made after another one has ended often lies at the same address. */
bool pymalloc_is_there(const struct pymalloc_place *place, uintptr_t interp)
{
    static struct peek state;
    uintptr_t word;
    if (place->interp != interp)
        return false;
    peek_forget(&state);
    return place->noted_at == 0 ||
           (peek_word(&state, place->noted_at, &word) && word == place->tables);
}

static uint64_t used_in_pools(uintptr_t first, uintptr_t end, uint64_t pool_bytes)
{
    uint64_t used = 0;
    for (uintptr_t pool = first; pool + pool_bytes <= end; pool += pool_bytes) {
        const uint32_t count = read_u32(pool), size_class = read_u32(pool + POOL_CLASS_AT);
        if (size_class < SIZE_CLASSES)
            used += (uint64_t)count * (size_class + 1) * CLASS_BYTES;
    }
    return used;
}

/*
 * The array of arenas may just have been moved to a larger one, in the middle of which this is
 * called: until CPython has noted where to, it lies in memory that was given back.
 */
bool pymalloc_read(uintptr_t tables, uint64_t arena_bytes, struct pymalloc_view *view)
{
    static struct peek peek;
    uintptr_t arenas;
    uint32_t n;
    const uint64_t pool_bytes = arena_bytes / 64;
    *view = (struct pymalloc_view){0};
    peek_forget(&peek);
    if (!peek_word(&peek, tables + ARENAS_AT, &arenas) ||
        !peek_bytes(&peek, tables + N_ARENAS_AT, &n, sizeof n))
        return false;
    if (n > MOST_ARENAS || (n != 0 && arenas % WORD != 0) || pool_bytes < 4096)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        uintptr_t object[2], start, next, first; /* all of it, what of it has been in use */
        if (!peek_bytes(&peek, arenas + i * (uintptr_t)ARENA_OBJECT_BYTES, object, sizeof object))
            return false;
        start = object[0];
        next = object[1];
        first = (start + pool_bytes - 1) & ~(uintptr_t)(pool_bytes - 1);
        if (start == 0)
            continue; /* not in use */
        if (start % 4096 != 0 || next < start || next > start + arena_bytes)
            return false;
        view->arenas++;
        view->touched_bytes += next - start;
        view->used_bytes += used_in_pools(first, next, pool_bytes);
    }
    return view->used_bytes <= view->touched_bytes;
}
