/* unwind.c - see unwind.h. */
#include "capture/unwind.h"

#include "base/arena.h" /* pages */
#include "base/table.h" /* hash_u64 */

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FIRST_ROOM 128
#define DEEPEST 65536            /* frames; what is further out is left out */
#define PAGE_BYTES 4096          /* or a part of a larger page */
#define STACK_GAP (1u << 20)     /* memory this close on both sides of a stack belongs to it */
#define GUESS_LIMIT (256u << 10) /* of a frame without rule */

#if UNWIND_IS_SUPPORTED

/* ---- memory ------------------------------------------------------------------------------- */

/*
 * Whether an address can be read. The kernel looks at the set before it finds that it does not
 * know what to do with it, so nothing is changed.
 */
static bool page_is_there(uintptr_t address)
{
    return syscall(SYS_rt_sigprocmask, ~0, address & ~(uintptr_t)7, NULL, 8) != -1 ||
           errno != EFAULT;
}

/*
 * Rules come from tables that may be wrong, and a wrong one must not bring the program down: words
 * are read only on pages that were found to be there. Stacks lie in one piece, so this asks the
 * kernel once a page and thread.
 */
static bool can_read(struct unwind_cache *cache, uintptr_t address)
{
    uintptr_t page = address & ~(uintptr_t)(PAGE_BYTES - 1);
    if (likely(address >= cache->readable && address < cache->readable_end))
        return (address & (sizeof(uintptr_t) - 1)) == 0;
    if ((address & (sizeof(uintptr_t) - 1)) != 0 || !page_is_there(address))
        return false;
    if (address >= cache->readable_end && address - cache->readable_end < STACK_GAP) {
        cache->readable_end = page + PAGE_BYTES;
    } else if (address < cache->readable && cache->readable - address < STACK_GAP) {
        cache->readable = page;
    } else { /* another stack */
        cache->readable = page;
        cache->readable_end = page + PAGE_BYTES;
    }
    return true;
}

static uintptr_t word_at(uintptr_t address)
{
    return *(const volatile uintptr_t *)address;
}

/* ---- steps -------------------------------------------------------------------------------- */

static const struct unwind_rule *rule_of(const struct unwind_reader *reader,
                                         struct unwind_cache *cache, uintptr_t ip, bool exact,
                                         struct unwind_rule *unknown)
{
    uint64_t key = (uint64_t)ip << 1 | exact;
    struct unwind_known_rule *known = &cache->rules[hash_u64(key) % UNWIND_RULES];
    if (likely(known->key == key))
        return &known->rule;
    *unknown = reader->learn(ip, exact);
    /* What is not known may be so later, when another object is loaded there. */
    if (unknown->kind == RULE_UNKNOWN)
        return unknown;
    known->key = key;
    known->rule = *unknown;
    return &known->rule;
}

/* Code that was made at run time has no rules, but often a frame pointer. */
static bool step_by_guess(const struct unwind_reader *reader, struct unwind_cache *cache,
                          struct unwind_link *link, struct unwind_state *state)
{
    struct unwind_rule unknown;
    uintptr_t fp = state->fp;
    uintptr_t ra_at = fp + sizeof(uintptr_t);
    uintptr_t ip;
    if (fp < state->sp || fp - state->sp > GUESS_LIMIT || !can_read(cache, fp) ||
        !can_read(cache, ra_at))
        return false;
    ip = UNWIND_STRIP(word_at(ra_at));
    if (ip == 0 || rule_of(reader, cache, ip, false, &unknown)->kind == RULE_UNKNOWN)
        return false;
    link->ra_at = ra_at;
    link->fp_at = fp;
    *state = (struct unwind_state){.ip = ip, .sp = fp + 2 * sizeof fp, .fp = word_at(fp)};
    return true;
}

static bool step_by_rule(struct unwind_cache *cache, const struct unwind_rule *rule,
                         struct unwind_link *link, struct unwind_state *state)
{
    uintptr_t base = (rule->kind == RULE_SP ? state->sp : state->fp) + (intptr_t)rule->base_offset;
    uintptr_t fp_at = 0, ra_at;
    uintptr_t ip, fp = state->fp;
    if (rule->kind == RULE_FP_LOADED) {
        if (!can_read(cache, base))
            return false;
        base = word_at(base);
    }
    if (base < state->sp || (base == state->sp && !rule->ra_in_link))
        return false;
    ra_at = base + (intptr_t)rule->ra_offset;
    if (rule->fp_kind != SAVED_NOT) {
        fp_at = (rule->fp_kind == SAVED_AT_BASE ? base : state->fp) + (intptr_t)rule->fp_offset;
        if (!can_read(cache, fp_at))
            return false;
        fp = word_at(fp_at);
    }
    if (!rule->ra_in_link && !can_read(cache, ra_at))
        return false;
    ip = rule->ra_in_link ? state->link : UNWIND_STRIP(word_at(ra_at));
    if (ip == 0)
        return false;
    if (rule->kind != RULE_FP_LOADED && !rule->ra_in_link) {
        link->ra_at = ra_at;
        link->fp_at = fp_at;
    }
    *state = (struct unwind_state){.ip = ip, .sp = base, .fp = fp};
    return true;
}

static bool step_over_signal(struct unwind_cache *cache, struct unwind_link *link,
                             struct unwind_state *state)
{
    uintptr_t sp = state->sp;
    link->is_signal = true;
    if (!can_read(cache, sp & ~(uintptr_t)7) ||
        !can_read(cache, (sp + sizeof(siginfo_t) + sizeof(ucontext_t)) & ~(uintptr_t)7))
        return false;
    unwind_interrupted(sp, state);
    return state->ip != 0;
}

/* Turns a frame into its caller's. False at the root, and where the way is lost. */
static bool step(const struct unwind_reader *reader, struct unwind_cache *cache,
                 struct unwind_link *link, struct unwind_state *state)
{
    struct unwind_rule unknown;
    const struct unwind_rule *rule = rule_of(reader, cache, state->ip, state->exact, &unknown);
    link->ra_at = link->fp_at = 0;
    link->is_signal = false;
    switch (rule->kind) {
    case RULE_END:
        return false;
    case RULE_SIGNAL:
        return step_over_signal(cache, link, state);
    case RULE_UNKNOWN:
        return step_by_guess(reader, cache, link, state);
    default:
        return step_by_rule(cache, rule, link, state);
    }
}

/* ---- the chain ---------------------------------------------------------------------------- */

/* Both lists lie in one piece of memory, the fresh one behind the chain. */
static struct unwind_link *fresh_of(const struct unwind_cache *cache)
{
    return cache->chain + cache->room;
}

static int make_room(struct unwind_cache *cache)
{
    const uint32_t old_room = cache->room;
    const uint32_t room = old_room == 0 ? FIRST_ROOM : old_room * 2;
    struct unwind_link *old = cache->chain;
    struct unwind_link *bigger;
    if (room > DEEPEST)
        return -1;
    bigger = pages_alloc(2 * room * sizeof *bigger);
    if (bigger == NULL)
        return -1;
    if (old_room != 0) {
        memcpy(bigger, old, old_room * sizeof *old);
        memcpy(bigger + room, old + old_room, old_room * sizeof *old);
    }
    /* The old pages last: a signal handler may jump out at any point, see unwind_forget. */
    cache->chain = bigger;
    cache->room = room;
    COMPILER_BARRIER();
    if (old_room != 0)
        pages_free(old, 2 * old_room * sizeof *old);
    return 0;
}

static bool stands_at(const struct unwind_link *link, const struct unwind_state *state)
{
    return link->sp == state->sp && link->ip == state->ip && link->fp == state->fp &&
           link->exact == state->exact && state->link == 0;
}

/*
 * Link k being proven, proves its callers. Returns the link whose caller is not proven; 0 = all
 * are, down to the root.
 */
static uint32_t verify_down(const struct unwind_cache *cache, uint32_t k)
{
    for (const struct unwind_link *link = cache->chain + k; link != cache->chain; link--) {
        if (link->ra_at == 0 || UNWIND_STRIP(word_at(link->ra_at)) != link[-1].ip)
            return (uint32_t)(link - cache->chain);
        if (link->fp_at != 0 ? word_at(link->fp_at) != link[-1].fp : link->fp != link[-1].fp)
            return (uint32_t)(link - cache->chain);
    }
    return 0;
}

static bool add_fresh(struct unwind_cache *cache, uint32_t *n_fresh, const struct unwind_link *link)
{
    if (unlikely(*n_fresh == cache->room) && make_room(cache) != 0)
        return false;
    fresh_of(cache)[(*n_fresh)++] = *link;
    return true;
}

/*
 * Goes out from `state` until it meets the chain of before, and on from where that has changed.
 * Returns how many links from the root stay; the rest is in `fresh`.
 */
static uint32_t follow(const struct unwind_reader *reader, struct unwind_cache *cache,
                       struct unwind_state state, uint32_t *n_fresh)
{
    uint32_t top = cache->depth; /* links from here up are not on the way any more */
    *n_fresh = 0;
    for (;;) {
        struct unwind_link link = {
            .ip = state.ip, .sp = state.sp, .fp = state.fp, .exact = state.exact};
        uint32_t unproven;
        while (top > 0 && cache->chain[top - 1].sp < state.sp)
            top--;
        if (top > 0 && stands_at(&cache->chain[top - 1], &state)) {
            unproven = verify_down(cache, top - 1);
            if (unproven == 0)
                return top;
            for (; top > unproven + 1; top--) {
                if (!add_fresh(cache, n_fresh, &cache->chain[top - 1]))
                    return 0;
            }
            link = cache->chain[--top];
            state = (struct unwind_state){
                .ip = link.ip, .sp = link.sp, .fp = link.fp, .exact = link.exact};
        }
        bool goes_on = step(reader, cache, &link, &state);
        if (!add_fresh(cache, n_fresh, &link) || !goes_on)
            return 0;
    }
}

/* Gives the links from `from` up their nodes. */
static uint32_t intern_from(const struct unwind_reader *reader, struct unwind_cache *cache,
                            uint32_t from, void *data)
{
    uint32_t node = from == 0 ? 0 : cache->chain[from - 1].node;
    for (uint32_t i = from; i < cache->depth; i++) {
        struct unwind_link *link = &cache->chain[i];
        uint64_t key = (uint64_t)link->ip << 1 | link->exact;
        struct unwind_known_node *known =
            &cache->nodes[hash_u64(key + node * 0x9e3779b97f4a7c15ull) % UNWIND_NODES];
        if (unlikely(known->key != key || known->parent != node)) {
            struct unwind_frame frame = {.ip = link->ip,
                                         .exact = link->exact,
                                         .is_signal = link->is_signal,
                                         .sp = link->sp,
                                         .end = i == 0 ? 0 : link[-1].sp};
            uint32_t parent = node;
            node = reader->intern(parent, &frame, data);
            *known = (struct unwind_known_node){key, parent, node};
        } else {
            node = known->node;
        }
        link->node = node;
    }
    return node;
}

uint32_t unwind_current(const struct unwind_reader *reader, struct unwind_cache *cache,
                        const struct unwind_state *from, void *data)
{
    uint32_t n_fresh;
    uint32_t kept = follow(reader, cache, *from, &n_fresh);
    if (likely(n_fresh == 0))
        return kept == 0 ? 0 : cache->chain[kept - 1].node;
    while (kept + n_fresh > cache->room) {
        if (make_room(cache) != 0) {
            cache->depth = 0;
            return 0;
        }
    }
    for (uint32_t i = 0; i < n_fresh; i++)
        cache->chain[kept + i] = fresh_of(cache)[n_fresh - 1 - i];
    cache->depth = kept + n_fresh;
    return intern_from(reader, cache, kept, data);
}

#else

uint32_t unwind_current(const struct unwind_reader *reader, struct unwind_cache *cache,
                        const struct unwind_state *from, void *data)
{
    (void)reader;
    (void)cache;
    (void)from;
    (void)data;
    return 0;
}

#endif

void unwind_forget(struct unwind_cache *cache)
{
    cache->depth = 0;
    cache->readable = cache->readable_end = 0;
    memset(cache->rules, 0, sizeof cache->rules);
    memset(cache->nodes, 0, sizeof cache->nodes);
}

bool unwind_agrees(const struct unwind_reader *reader, struct unwind_cache *cache,
                   const struct unwind_state *from, void *data)
{
    struct unwind_cache *fresh = pages_alloc(sizeof *fresh);
    uint32_t cached = unwind_current(reader, cache, from, data);
    bool agree = fresh != NULL && unwind_current(reader, fresh, from, data) == cached;
    if (fresh == NULL)
        return false;
    if (fresh->room != 0)
        pages_free(fresh->chain, 2 * fresh->room * sizeof *fresh->chain);
    pages_free(fresh, sizeof *fresh);
    return agree;
}
