/* The cached walk against chains that this test makes up and changes, and so knows the truth of. */
#include "interp/frames.h"

#include "base/table.h"
#include "check.h"

#include <string.h>

#define MOST_FRAMES 5000
#define SHIM 3
#define UNITS_AT 16 /* of a fake code object: first_traceable, then the code units */

struct fake_frame {
    uintptr_t code, previous, ip, locals;
    char owner;
};

struct fake_code {
    uint64_t unused; /* but for the table of copies */
    uint32_t first_traceable;
    uint32_t flags;
    uint16_t units[64];
};

static struct fake_frame frames[MOST_FRAMES];
static struct fake_code codes[8];
static struct {
    uint64_t id, generation;
    uint32_t tlbc_generation;
} interp;
static struct {
    uintptr_t current;
    void *interp;
    uintptr_t anchor, anchor_seq;
} state = {.interp = &interp};

/* What interning has seen: node n is (parents[n], places[n]). */
static uint32_t parents[1 << 20], places[1 << 20], n_nodes;
static struct table nodes;
static int n_interned;
static uint64_t last_epoch; /* that a place came with */

static uint32_t intern(uint32_t parent, const struct frame_place *place)
{
    uint32_t code = (uint32_t)((const struct fake_code *)place->code - codes);
    uint32_t at = code << 16 | place->unit << 1 | place->entry;
    uint64_t key = (uint64_t)parent << 32 | at;
    uint32_t node = table_get(&nodes, key);
    n_interned++;
    last_epoch = place->epoch;
    if (node == 0) {
        node = ++n_nodes;
        parents[node] = parent;
        places[node] = at;
        CHECK(table_put(&nodes, key, node) == 0);
    }
    return node;
}

static void *get_state(void)
{
    return &state;
}

static int not_finalizing(void)
{
    return 0;
}

static struct frame_reader reader = {
    .layout =
        {
            .state_interp = sizeof(uintptr_t),
            .frame_code = offsetof(struct fake_frame, code),
            .frame_previous = offsetof(struct fake_frame, previous),
            .frame_ip = offsetof(struct fake_frame, ip),
            .frame_owner = offsetof(struct fake_frame, owner),
            .owner_generator = 1,
            .owner_shim = SHIM,
            .code_flags = offsetof(struct fake_code, flags),
            .code_first_traceable = offsetof(struct fake_code, first_traceable),
            .code_units = UNITS_AT,
        },
    .binding = {.attached_state = get_state,
                .known_state = get_state,
                .is_finalizing = not_finalizing},
    .intern = intern,
};

static void set_ip(struct fake_frame *frame, unsigned unit)
{
    frame->ip = frame->code + UNITS_AT + 2 * (uintptr_t)unit;
}

static void push(struct fake_frame *frame, unsigned code, unsigned unit, char owner)
{
    frame->code = (uintptr_t)&codes[code];
    frame->owner = owner;
    frame->previous = state.current;
    frame->locals = 0;
    set_ip(frame, unit);
    state.current = (uintptr_t)frame;
}

static void pop(void)
{
    state.current = ((struct fake_frame *)state.current)->previous;
}

/* Follows the node from the leaf beside the chain. */
static void check_node(uint32_t node)
{
    uintptr_t at = state.current;
    for (; at != 0; at = ((struct fake_frame *)at)->previous) {
        const struct fake_frame *frame = (const struct fake_frame *)at;
        const struct fake_code *code = (const struct fake_code *)frame->code;
        uint32_t unit = (uint32_t)(frame->ip - frame->code - UNITS_AT) / 2;
        if (frame->owner == SHIM || (frame->owner != 1 && unit < code->first_traceable))
            continue;
        CHECK(node != 0);
        CHECK_EQ(places[node] >> 16, code - codes);
        CHECK_EQ(places[node] >> 1 & 0x7fff, unit);
        node = parents[node];
    }
    CHECK_EQ(node, 0);
}

static void an_unchanged_stack_is_not_interned_again(void)
{
    static struct frame_cache cache;
    uint32_t node;
    state.current = 0;
    for (int i = 0; i < 100; i++)
        push(&frames[i], 0, 5, 0);
    node = frames_current(&reader, &cache);
    check_node(node);
    n_interned = 0;
    CHECK_EQ(frames_current(&reader, &cache), node);
    set_ip(&frames[99], 6);
    check_node(frames_current(&reader, &cache));
    CHECK_EQ(n_interned, 1);
    frames_release(&cache);
}

static void a_frame_in_the_middle_that_moved_on_is_seen(void)
{
    static struct frame_cache cache;
    state.current = 0;
    for (int i = 0; i < 50; i++)
        push(&frames[i], 1, 7, 0);
    check_node(frames_current(&reader, &cache));
    set_ip(&frames[20], 9); /* it returned and called again: the same addresses above it */
    check_node(frames_current(&reader, &cache));
    CHECK(frames_agree(&reader, &cache));
    frames_release(&cache);
}

static unsigned n_hidden;

static void note_hidden(const struct frame_place *place)
{
    CHECK(place->code == (uintptr_t)&codes[2]);
    n_hidden++;
}

static void shims_and_frames_being_set_up_have_no_node(void)
{
    static struct frame_cache cache;
    uint32_t node, below;
    reader.hide = note_hidden;
    codes[2].first_traceable = 4;
    state.current = 0;
    push(&frames[0], 0, 0, SHIM);
    push(&frames[1], 0, 8, 0);
    below = frames_current(&reader, &cache);
    push(&frames[2], 2, 3, 0); /* before its first traceable instruction */
    CHECK_EQ(frames_current(&reader, &cache), below);
    CHECK_EQ(n_hidden, 1); /* told once, then remembered */
    CHECK_EQ(frames_current(&reader, &cache), below);
    CHECK_EQ(n_hidden, 1);
    set_ip(&frames[2], 4);
    node = frames_current(&reader, &cache);
    CHECK(node != below && parents[node] == below);
    CHECK_EQ(places[node] & 1, 0);  /* called from Python */
    CHECK_EQ(places[below] & 1, 1); /* called from C */
    push(&frames[3], 2, 3, 1);      /* a generator's frame is set up by definition */
    CHECK(frames_current(&reader, &cache) != node);
    frames_release(&cache);
    codes[2].first_traceable = 0;
    reader.hide = NULL;
}

static void a_death_of_code_drops_what_was_remembered(void)
{
    static struct frame_cache cache;
    state.current = 0;
    push(&frames[0], 3, 5, 0);
    check_node(frames_current(&reader, &cache));
    n_interned = 0;
    frames_code_died(&reader, 0);
    check_node(frames_current(&reader, &cache));
    CHECK_EQ(n_interned, 1);
    frames_release(&cache);
}

static void what_is_forgotten_is_asked_again_in_the_same_memory(void)
{
    static struct frame_cache cache;
    const struct chain_link *chain;
    state.current = 0;
    for (int i = 0; i < 100; i++)
        push(&frames[i], 0, 5, 0);
    check_node(frames_current(&reader, &cache));
    chain = cache.chain;
    frames_forget(&cache);
    CHECK(cache.chain == chain && cache.depth == 0);
    n_interned = 0;
    check_node(frames_current(&reader, &cache));
    CHECK_EQ(n_interned, 100);
    for (int i = 100; i < 1000; i++)
        push(&frames[i], 0, 5, 0);
    check_node(frames_current(&reader, &cache));
    frames_forget(&cache);
    CHECK(cache.chain == NULL && cache.room == 0);
}

/* A fake code object has its first units where a real one has their number. */
static void die(unsigned code)
{
    const struct fake_code before = codes[code];
    const uint64_t n_units = 64;
    memcpy(codes[code].units, &n_units, sizeof n_units);
    frames_code_died(&reader, (uintptr_t)&codes[code]);
    codes[code] = before;
}

static void only_what_stood_in_dead_code_is_asked_again(void)
{
    static struct frame_cache cache;
    state.current = 0;
    push(&frames[0], 2, 5, 0);
    push(&frames[1], 3, 5, 0);
    push(&frames[2], 2, 7, 0);
    check_node(frames_current(&reader, &cache));
    n_interned = 0;
    die(4);
    check_node(frames_current(&reader, &cache));
    CHECK_EQ(n_interned, 0);
    die(3);
    check_node(frames_current(&reader, &cache));
    CHECK_EQ(n_interned, 1);
    for (int i = 0; i < 5; i++)
        die(4);
    die(2);
    check_node(frames_current(&reader, &cache));
    CHECK_EQ(n_interned, 3);
    for (int i = 0; i < 200; i++) /* more than anybody keeps */
        die(4);
    check_node(frames_current(&reader, &cache));
    CHECK_EQ(n_interned, 6);
    frames_release(&cache);
}

/* Interns the one frame there is; returns how often that took a question. */
static int ask(struct frame_cache *cache)
{
    n_interned = 0;
    check_node(frames_current(&reader, cache));
    return n_interned;
}

static void code_of_other_interpreters_dies_unseen(void)
{
    static struct frame_cache cache;
    uint64_t first;
    state.current = 0;
    push(&frames[0], 3, 5, 0);
    CHECK_EQ(ask(&cache), 1);
    CHECK_EQ(last_epoch, 0); /* deaths are told of one by one */
    interp.id = 1;
    CHECK_EQ(ask(&cache), 1);
    first = last_epoch;
    CHECK_EQ(ask(&cache), 1); /* nothing may be remembered */
    CHECK(first != 0 && last_epoch != 0 && last_epoch != first);
    interp.id = 0;
    CHECK_EQ(ask(&cache), 1);
    CHECK_EQ(last_epoch, 0);
    CHECK_EQ(ask(&cache), 0);
    frames_release(&cache);
}

static void a_generation_tells_of_deaths_in_its_interpreter(void)
{
    static struct frame_cache cache;
    uint64_t first, other;
    reader.layout.generation = sizeof(uint64_t);
    state.current = 0;
    push(&frames[0], 3, 5, 0);
    CHECK_EQ(ask(&cache), 1);
    CHECK_EQ(ask(&cache), 0);
    first = last_epoch;
    interp.generation++;
    CHECK_EQ(ask(&cache), 1);
    CHECK(last_epoch != first);
    first = last_epoch;
    interp.id = 1; /* of the same generation by chance */
    CHECK_EQ(ask(&cache), 1);
    other = last_epoch;
    CHECK(other != first);
    CHECK_EQ(ask(&cache), 0);
    interp.id = 0;
    CHECK_EQ(ask(&cache), 1);
    CHECK_EQ(last_epoch, first);
    frames_release(&cache);
    reader.layout.generation = 0;
}

/* Frame 0 runs a copy of its code's units, as each thread does without the GIL. */
static void copies_of_bytecode_are_places_of_one_code(void)
{
    static struct frame_cache cache;
    static uint16_t copy[64];
    uintptr_t table[] = {2, (uintptr_t)codes[4].units, (uintptr_t)copy};
    struct {
        struct fake_frame frame;
        int32_t index;
    } copied = {.index = 1};
    uint32_t node;
    reader.layout.frame_tlbc = sizeof(struct fake_frame);
    reader.layout.code_tlbc = 0;
    reader.layout.tlbc_generation = offsetof(__typeof__(interp), tlbc_generation);
    reader.layout.generation = sizeof(uint64_t);
    codes[4].unused = (uintptr_t)table;
    codes[4].first_traceable = 2;
    state.current = 0;
    push(&copied.frame, 4, 0, 0);
    copied.frame.ip = (uintptr_t)(copy + 7);
    node = frames_current(&reader, &cache);
    CHECK_EQ(places[node] >> 1 & 0x7fff, 7);
    copied.frame.ip = (uintptr_t)(copy + 1); /* before the first traceable one */
    CHECK_EQ(frames_current(&reader, &cache), 0);
    copied.frame.ip = (uintptr_t)(copy + 7);
    CHECK_EQ(frames_current(&reader, &cache), node);
    n_interned = 0;
    interp.tlbc_generation++; /* the copy's address may be that of another code's */
    CHECK_EQ(frames_current(&reader, &cache), node);
    CHECK_EQ(n_interned, 1);
    copied.index = 0;
    set_ip(&copied.frame, 9);
    CHECK_EQ(places[frames_current(&reader, &cache)] >> 1 & 0x7fff, 9);
    frames_release(&cache);
    reader.layout.frame_tlbc = reader.layout.tlbc_generation = reader.layout.generation = 0;
    codes[4].first_traceable = 0;
}

static void a_thread_without_frames_has_node_0(void)
{
    static struct frame_cache cache;
    state.current = 0;
    CHECK_EQ(frames_current(&reader, &cache), 0);
    push(&frames[0], 0, 5, 0);
    CHECK(frames_current(&reader, &cache) != 0);
    pop();
    CHECK_EQ(frames_current(&reader, &cache), 0);
    frames_release(&cache);
}

static uint64_t random_next(void)
{
    static uint64_t seed = 20240607;
    seed = hash_u64(seed + 0x9e3779b97f4a7c15ull);
    return seed;
}

/* Calls, returns, exceptions through many frames, generators entered from elsewhere. */
static void every_walk_tells_the_truth(void)
{
    static struct frame_cache cache;
    uint32_t depth = 0;
    state.current = 0;
    for (int step = 0; step < 60000; step++) {
        uint64_t dice = random_next();
        uint32_t n = dice >> 8 & 7;
        if (dice % 100 < 50) {
            for (; n > 0 && depth < 300; n--)
                push(&frames[depth++], random_next() & 7, random_next() & 31,
                     random_next() % 9 == 0 ? SHIM : 0);
        } else {
            n = dice % 100 == 99 ? depth : n; /* an exception unwinds everything */
            for (; n > 0 && depth > 0; n--, depth--)
                pop();
        }
        if (depth > 0) {
            struct fake_frame *any =
                &frames[random_next() % 5 == 0 ? random_next() % depth : depth - 1];
            set_ip(any, random_next() & 31);
        }
        check_node(frames_current(&reader, &cache));
        if (step % 50 == 0)
            CHECK(frames_agree(&reader, &cache));
    }
    frames_release(&cache);
}

static void use_anchor(bool on)
{
    reader.layout.state_anchor = on ? offsetof(__typeof__(state), anchor) : 0;
    reader.layout.state_anchor_seq = on ? offsetof(__typeof__(state), anchor_seq) : 0;
    state.anchor = state.anchor_seq = 0;
}

/* What 3.15 does when it pops a frame for good. */
static void pop_telling(void)
{
    uintptr_t frame = state.current;
    pop();
    if (state.anchor == frame) {
        state.anchor = state.current;
        state.anchor_seq++;
    }
}

/* The three kinds of frames lie in memory of their own, so no address is both. */
static struct fake_frame shims[400], generators[16];

static void push_any(uint32_t depth)
{
    uint64_t dice = random_next();
    struct fake_frame *generator = &generators[dice >> 8 & 15];
    unsigned code = random_next() & 7, unit = random_next() & 31;
    if (dice % 8 == 0)
        push(&shims[depth], 0, 0, SHIM);
    else if (dice % 8 == 1 && generator->owner == 0) /* it does not run yet */
        push(generator, code, unit, 1);
    else
        push(&frames[depth], code, unit, 0);
}

static void pop_any(void)
{
    struct fake_frame *frame = (struct fake_frame *)state.current;
    bool told = frame->owner != SHIM && (frame->owner != 1 || random_next() % 2);
    /* What makes a generator gives its frame away before its first traceable instruction. */
    if (frame->owner == 0 && frame->ip < frame->code + UNITS_AT + 2 * 4 &&
        frame->code == (uintptr_t)&codes[5])
        told = random_next() % 2;
    if (frame->code == (uintptr_t)&codes[6]) /* and a generator expression later */
        told = random_next() % 2;
    if (told)
        pop_telling();
    else
        pop();
    frame->owner = 0;
}

static void an_anchor_tells_the_truth_too(void)
{
    static struct frame_cache cache;
    uint32_t depth = 0;
    use_anchor(true);
    codes[5].first_traceable = 4;
    codes[6].flags = 0x20;
    state.current = 0;
    for (int step = 0; step < 200000; step++) {
        uint64_t dice = random_next();
        uint32_t n = dice >> 8 & 3;
        if (dice % 100 < 50) {
            for (; n > 0 && depth < 100; n--)
                push_any(depth++);
        } else {
            n = dice % 1000 == 999 ? depth : n;
            for (; n > 0 && depth > 0; n--, depth--)
                pop_any();
        }
        if (depth > 0) { /* only the top runs; what calls waits where it is */
            struct fake_frame *top = (struct fake_frame *)state.current;
            bool is_set_up = top->ip >= top->code + UNITS_AT + 2 * 4;
            if (top->owner != SHIM)
                set_ip(top, is_set_up ? 4 + random_next() % 28 : random_next() & 31);
        }
        if (dice >> 20 & 1)
            check_node(frames_current(&reader, &cache));
    }
    frames_release(&cache);
    codes[5].first_traceable = 0;
    codes[6].flags = 0;
    use_anchor(false);
}

static void below_the_anchor_nothing_is_read(void)
{
    static struct frame_cache cache;
    uint32_t node;
    use_anchor(true);
    state.current = 0;
    for (int i = 0; i < 50; i++)
        push(&frames[i], 1, 7, 0);
    node = frames_current(&reader, &cache);
    check_node(node);
    CHECK_EQ(state.anchor, (uintptr_t)&frames[49]);
    set_ip(&frames[20], 9); /* which cannot be while frame 49 lives */
    CHECK_EQ(frames_current(&reader, &cache), node);
    set_ip(&frames[20], 7);
    pop_telling();
    set_ip(&frames[48], 8);
    n_interned = 0;
    CHECK(frames_current(&reader, &cache) != node);
    CHECK_EQ(n_interned, 1);
    set_ip(&frames[20], 9);
    state.anchor = (uintptr_t)&frames[3]; /* a profiler of another process uses the word */
    check_node(frames_current(&reader, &cache));
    frames_release(&cache);
    use_anchor(false);
}

/* Two chains under one thread state, as greenlets switch them. */
static void a_switched_chain_is_walked_anew(void)
{
    static struct frame_cache cache;
    uintptr_t tops[2];
    for (int chain = 0; chain < 2; chain++) {
        state.current = 0;
        for (int i = 0; i < 40; i++)
            push(&frames[chain * 100 + i], (unsigned)chain, (unsigned)i, 0);
        tops[chain] = state.current;
    }
    for (int turn = 0; turn < 20; turn++) {
        state.current = tops[turn % 2];
        check_node(frames_current(&reader, &cache));
    }
    frames_release(&cache);
}

static void depth_is_bounded_by_memory_only(void)
{
    static struct frame_cache cache;
    state.current = 0;
    for (int i = 0; i < MOST_FRAMES; i++) {
        push(&frames[i], 0, 5, 0);
        if (i % 100 == 0)
            check_node(frames_current(&reader, &cache));
    }
    check_node(frames_current(&reader, &cache));
    CHECK_EQ(cache.depth, MOST_FRAMES);
    frames_release(&cache);
}

/* ---- marks -------------------------------------------------------------------------------- */

static const int none;
static struct fake_frame generators[16];

static void with_marks(bool marks)
{
    reader.layout.frame_locals = marks ? offsetof(struct fake_frame, locals) : 0;
    reader.binding.none = marks ? &none : NULL;
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        codes[i].flags = i != 7; /* code 7 is that of a module */
}

static void only_frames_of_functions_are_marked(void)
{
    static struct frame_cache cache;
    const uintptr_t dict = 4096;
    state.current = 0;
    push(&frames[0], 0, 5, SHIM);
    push(&frames[1], 7, 5, 0);
    frames[1].locals = dict;
    push(&frames[2], 7, 5, 0);
    push(&frames[3], 0, 5, 0);
    push(&frames[4], 0, 5, 1);
    push(&frames[5], 0, 5, 0);
    frames[5].locals = dict;
    check_node(frames_current(&reader, &cache));
    CHECK_EQ(frames[0].locals, 0);
    CHECK_EQ(frames[1].locals, dict);
    CHECK_EQ(frames[2].locals, 0);
    CHECK_EQ(frames[3].locals, (uintptr_t)&none);
    CHECK_EQ(frames[4].locals, 0);
    CHECK_EQ(frames[5].locals, dict);
    frames_release(&cache);
}

static void a_new_activation_at_an_old_address_is_seen(void)
{
    static struct frame_cache cache;
    state.current = 0;
    for (int round = 0; round < 6; round++) {
        while (state.current > (uintptr_t)&frames[19])
            pop();
        if (round == 0)
            for (int i = 0; i < 20; i++)
                push(&frames[i], 1, 7, 0);
        set_ip(&frames[19], 8 + (unsigned)round % 2); /* the call below is another one */
        for (int i = 20; i < 60; i++)
            push(&frames[i], 2, 7, 0);
        check_node(frames_current(&reader, &cache));
        n_interned = 0;
        check_node(frames_current(&reader, &cache));
        CHECK_EQ(n_interned, 0);
    }
    frames_release(&cache);
}

/* One thread of Python: frames only ever move at the top. A generator keeps its place and frame. */
struct fake_thread {
    struct fake_frame *stack; /* its own */
    struct fake_frame *shims; /* those of C code lie elsewhere */
    uint32_t n, n_shims;
};

static void call(struct fake_thread *thread)
{
    unsigned code = random_next() & 7;
    if (random_next() % 10 == 0) /* C code calls back */
        push(&thread->shims[thread->n_shims++], 0, 0, SHIM);
    push(&thread->stack[thread->n++], code, random_next() & 31, 0);
    if (code == 7 && random_next() % 2)
        thread->stack[thread->n - 1].locals = 4096;
}

static void resume(void)
{
    struct fake_frame *frame = &generators[random_next() % 16];
    for (uintptr_t at = state.current; at != 0; at = ((struct fake_frame *)at)->previous) {
        if (at == (uintptr_t)frame)
            return; /* it runs already */
    }
    if (frame->code == 0) { /* copied from the frame of a function, which may be marked */
        frame->code = (uintptr_t)&codes[1];
        frame->owner = 1;
        frame->locals = random_next() % 2 ? (uintptr_t)&none : 0;
        set_ip(frame, random_next() & 31);
    }
    frame->previous = state.current;
    state.current = (uintptr_t)frame;
}

static void leave(struct fake_thread *thread)
{
    struct fake_frame *frame = (struct fake_frame *)state.current;
    if (frame == NULL)
        return;
    pop();
    if (frame->owner == 1) {
        frame->previous = 0;
        return;
    }
    if (frame->owner == SHIM)
        thread->n_shims--;
    else
        thread->n--;
    if (state.current != 0 && ((struct fake_frame *)state.current)->owner == SHIM) {
        pop();
        thread->n_shims--;
    }
}

static void step_once(struct fake_thread *thread)
{
    uint64_t dice = random_next() % 100;
    struct fake_frame *top;
    if (dice < 38 && thread->n < 400)
        call(thread);
    else if (dice < 50)
        resume();
    else if (dice < 92)
        leave(thread);
    else if (dice == 99)
        for (uint64_t i = random_next() % 40; i > 0; i--)
            leave(thread);
    top = (struct fake_frame *)state.current;
    if (top != NULL && top->owner != SHIM && random_next() % 2)
        set_ip(top, random_next() & 31);
}

/* Two greenlets in turn; walks come at any moment, often with many calls and returns between. */
static void every_walk_with_marks_tells_the_truth(void)
{
    static struct frame_cache cache;
    struct fake_thread threads[2] = {{frames, frames + 1000, 0, 0},
                                     {frames + 2000, frames + 3000, 0, 0}};
    struct fake_thread *thread = &threads[0];
    memset(generators, 0, sizeof generators);
    state.current = 0;
    for (int step = 0; step < 200000; step++) {
        /* No switch while a generator runs: two threads would run it. */
        if (step % 1000 == 0) {
            while (state.current != 0)
                leave(thread);
            thread = &threads[step / 1000 % 2];
        }
        step_once(thread);
        if (random_next() % 3 == 0)
            check_node(frames_current(&reader, &cache));
        if (step % 500 == 0)
            CHECK(frames_agree(&reader, &cache));
    }
    frames_release(&cache);
}

/* Calls and returns by the hundred between two walks, also of frames that wait at another place. */
static void far_moves_on_a_deep_stack_tell_the_truth(void)
{
    static struct frame_cache cache;
    uint32_t depth = 0;
    state.current = 0;
    for (int step = 0; step < 1500; step++) {
        uint64_t dice = random_next();
        uint32_t n = 1 + (dice >> 8) % (dice % 3 == 0 ? 400 : 30);
        if (dice % 100 < 55) {
            for (; n > 0 && depth < 2000; n--)
                push(&frames[depth++], random_next() & 3, random_next() & 31,
                     random_next() % 30 == 0 ? SHIM : 0);
        } else {
            for (; n > 0 && depth > 0; n--, depth--)
                pop();
        }
        if (depth > 0) /* only what runs moves */
            set_ip(&frames[depth - 1], random_next() & 31);
        check_node(frames_current(&reader, &cache));
        if (step % 50 == 0)
            CHECK(frames_agree(&reader, &cache));
    }
    frames_release(&cache);
}

static void many_calls_and_returns_read_nothing_far_below(void)
{
    static struct frame_cache cache;
    uint32_t node;
    state.current = 0;
    for (int i = 0; i < 1000; i++)
        push(&frames[i], 1, 7, 0);
    node = frames_current(&reader, &cache);
    set_ip(&frames[20], 9); /* which cannot be while frame 21 is the same activation */
    for (int i = 1000; i < 1100; i++)
        push(&frames[i], 1, 7, 0);
    n_interned = 0;
    CHECK(frames_current(&reader, &cache) != node);
    CHECK_EQ(n_interned, 100);
    CHECK_EQ(cache.depth, 1100);
    for (int i = 0; i < 100; i++)
        pop();
    CHECK_EQ(frames_current(&reader, &cache), node);
    CHECK_EQ(n_interned, 100);
    frames_release(&cache);
}

int main(void)
{
    an_unchanged_stack_is_not_interned_again();
    a_frame_in_the_middle_that_moved_on_is_seen();
    shims_and_frames_being_set_up_have_no_node();
    a_death_of_code_drops_what_was_remembered();
    what_is_forgotten_is_asked_again_in_the_same_memory();
    only_what_stood_in_dead_code_is_asked_again();
    code_of_other_interpreters_dies_unseen();
    a_generation_tells_of_deaths_in_its_interpreter();
    copies_of_bytecode_are_places_of_one_code();
    a_thread_without_frames_has_node_0();
    every_walk_tells_the_truth();
    an_anchor_tells_the_truth_too();
    below_the_anchor_nothing_is_read();
    a_switched_chain_is_walked_anew();
    depth_is_bounded_by_memory_only();
    far_moves_on_a_deep_stack_tell_the_truth();
    with_marks(true);
    an_unchanged_stack_is_not_interned_again();
    a_death_of_code_drops_what_was_remembered();
    a_thread_without_frames_has_node_0();
    a_switched_chain_is_walked_anew();
    depth_is_bounded_by_memory_only();
    only_frames_of_functions_are_marked();
    a_new_activation_at_an_old_address_is_seen();
    every_walk_with_marks_tells_the_truth();
    far_moves_on_a_deep_stack_tell_the_truth();
    many_calls_and_returns_read_nothing_far_below();
    CHECK(n_nodes < 1 << 20);
    table_release(&nodes);
    return 0;
}
