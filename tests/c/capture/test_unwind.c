/* The native stack beside the C library's own backtrace, and the rules it is read by. */
#include "capture/unwind.h"
#include "check.h"

#include <execinfo.h>
#include <link.h> /* dl_iterate_phdr */
#include <signal.h>
#include <string.h>

#define MOST 512

/* ---- a reader that keeps what it is given -------------------------------------------------- */

/* Nodes are places in a list: parent and address. */
static struct {
    uint32_t parent;
    uintptr_t ip;
    bool is_signal;
} nodes[100000];
static uint32_t n_nodes;

struct lookup {
    uintptr_t at;
    const uint8_t *header;
};

static int find_header(struct dl_phdr_info *info, size_t n_bytes, void *data)
{
    struct lookup *lookup = data;
    const uint8_t *header = NULL;
    bool is_inside = false;
    (void)n_bytes;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_GNU_EH_FRAME)
            header = (const uint8_t *)start;
        if (part->p_type == PT_LOAD && lookup->at >= start && lookup->at < start + part->p_memsz)
            is_inside = true;
    }
    if (is_inside)
        lookup->header = header;
    return is_inside;
}

static struct unwind_rule learn(uintptr_t ip, bool exact)
{
    struct lookup lookup = {.at = ip};
    uintptr_t start, end;
    dl_iterate_phdr(find_header, &lookup);
    return unwind_rule_read(lookup.header, exact ? ip : ip - 1, &start, &end);
}

static uint32_t intern(uint32_t parent, const struct unwind_frame *frame, void *data)
{
    (void)data;
    for (uint32_t i = 1; i <= n_nodes; i++) {
        if (nodes[i].parent == parent && nodes[i].ip == frame->ip)
            return i;
    }
    n_nodes++;
    nodes[n_nodes].parent = parent;
    nodes[n_nodes].ip = frame->ip;
    nodes[n_nodes].is_signal = frame->is_signal;
    return n_nodes;
}

static const struct unwind_reader reader = {learn, intern};
static struct unwind_cache cache;

static NOINLINE uint32_t node_here(void)
{
    struct unwind_state here;
    UNWIND_CALLER(&here);
    return unwind_current(&reader, &cache, &here, NULL);
}

static size_t stack_of(uint32_t node, uintptr_t *ips)
{
    size_t n = 0;
    for (; node != 0 && n < MOST; node = nodes[node].parent)
        ips[n++] = nodes[node].ip;
    return n;
}

/*
 * The innermost addresses may differ: the two calls stand at different instructions of the function
 * that makes both. A sanitizer puts a function of its own in front of backtrace.
 */
static void check_same(uint32_t node, void *const *want, size_t n_want)
{
    uintptr_t got[MOST];
    size_t n_got = stack_of(node, got);
    size_t n_extra = n_want - n_got;
    CHECK(n_extra <= 1);
    for (size_t i = 1; i < n_got; i++)
        CHECK(got[i] == (uintptr_t)want[i + n_extra]);
    CHECK(got[0] - (uintptr_t)want[n_extra] < 4096);
}

#define CHECK_STACK()                                            \
    do {                                                         \
        void *wanted_stack[MOST];                                \
        int n_wanted = backtrace(wanted_stack, MOST);            \
        check_same(node_here(), wanted_stack, (size_t)n_wanted); \
    } while (0)

/* ---- stacks of many shapes ----------------------------------------------------------------- */

static volatile unsigned sink;

static NOINLINE void leaf(void)
{
    CHECK_STACK();
    sink++;
}

/* Without a frame of fixed size the compiler needs a frame pointer. */
static NOINLINE void with_room(unsigned n_bytes, unsigned depth)
{
    volatile char *room = __builtin_alloca(n_bytes + 1);
    room[n_bytes] = 1;
    if (depth != 0)
        with_room(n_bytes / 2 + depth, depth - 1);
    else
        leaf();
    sink += (unsigned)room[n_bytes];
}

/* An aligned local makes the compiler align the stack, and leave its way back there. */
static NOINLINE void with_alignment(unsigned depth)
{
    _Alignas(64) volatile char room[64];
    room[0] = 1;
    if (depth != 0)
        with_alignment(depth - 1);
    else
        leaf();
    sink += (unsigned)room[0];
}

static NOINLINE void recurse(unsigned depth, unsigned shape)
{
    if (depth == 0)
        leaf();
    else if (shape % 3 == 0)
        with_room(shape % 7 * 100, shape % 4);
    else if (shape % 3 == 1)
        with_alignment(shape % 3);
    else
        recurse(depth - 1, shape / 3);
    sink++;
}

static void stacks_are_those_of_backtrace(void)
{
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned shape = 0; shape < 200; shape++) {
            recurse(shape % 50, shape);
            CHECK_STACK();
        }
    }
}

static void what_changed_below_is_seen(void)
{
    uintptr_t ips[MOST];
    uint32_t first, second, again;
    /* Two calls from two lines: the same frames above, another return address below. */
    first = node_here();
    second = node_here();
    CHECK(first != second);
    CHECK(stack_of(first, ips) > 2);
    for (int i = 0; i < 2; i++) {
        again = node_here();
        CHECK(i == 0 || again == cache.chain[cache.depth - 1].node);
    }
}

static void a_fresh_walk_agrees(void)
{
    struct unwind_state here;
    for (int i = 0; i < 100; i++) {
        UNWIND_CALLER(&here);
        CHECK(unwind_agrees(&reader, &cache, &here, NULL));
        recurse((unsigned)i % 5, (unsigned)i);
    }
}

/* ---- signals -------------------------------------------------------------------------------- */

static unsigned n_handled;

static void handle(int number)
{
    void *want[MOST];
    int n_want = backtrace(want, MOST);
    uint32_t node = node_here();
    (void)number;
    check_same(node, want, (size_t)n_want);
    CHECK(nodes[nodes[node].parent].is_signal);
    n_handled++;
}

static NOINLINE void raise_one(void)
{
    raise(SIGUSR1);
    sink++;
}

static void a_handler_stands_on_what_it_interrupted(void)
{
    static char other_stack[1 << 16];
    const stack_t alternate = {.ss_sp = other_stack, .ss_size = sizeof other_stack};
    struct sigaction action = {.sa_handler = handle};
    sigaction(SIGUSR1, &action, NULL);
    for (int i = 0; i < 10; i++)
        raise_one();
    CHECK(sigaltstack(&alternate, NULL) == 0);
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR1, &action, NULL);
    for (int i = 0; i < 10; i++)
        raise_one();
    CHECK_EQ(n_handled, 20);
}

/* ---- what must not be believed -------------------------------------------------------------- */

static struct unwind_rule wild_rule;

static struct unwind_rule learn_wild(uintptr_t ip, bool exact)
{
    (void)ip;
    (void)exact;
    return wild_rule;
}

static void a_rule_that_leads_nowhere_ends_the_walk(void)
{
    static const struct unwind_reader wild = {learn_wild, intern};
    static struct unwind_cache wild_cache;
    const struct unwind_rule rules[] = {
        {.kind = RULE_SP, .base_offset = 1 << 30, .ra_offset = -8},
        {.kind = RULE_SP, .base_offset = 12, .ra_offset = -8},
        {.kind = RULE_SP, .base_offset = -16, .ra_offset = -8},
        {.kind = RULE_FP, .base_offset = 16, .ra_offset = -8},
        {.kind = RULE_FP_LOADED, .base_offset = 1 << 30, .ra_offset = -8},
        {.kind = RULE_SP,
         .base_offset = 16,
         .ra_offset = -8,
         .fp_kind = SAVED_AT_FP,
         .fp_offset = INT32_MAX},
        {.kind = RULE_UNKNOWN},
        {.kind = RULE_END},
    };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        struct unwind_state here;
        uintptr_t ips[MOST];
        UNWIND_CALLER(&here);
        here.fp = i * 8; /* nobody's */
        wild_rule = rules[i];
        unwind_forget(&wild_cache);
        CHECK_EQ(stack_of(unwind_current(&wild, &wild_cache, &here, NULL), ips), 1);
        CHECK(ips[0] == here.ip);
    }
}

int main(void)
{
    void *first[1];
    CHECK(backtrace(first, 1) == 1); /* it loads a library at its first call */
    stacks_are_those_of_backtrace();
    what_changed_below_is_seen();
    a_fresh_walk_agrees();
    a_handler_stands_on_what_it_interrupted();
    a_rule_that_leads_nowhere_ends_the_walk();
    return 0;
}
