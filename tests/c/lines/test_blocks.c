#include "lines/blocks.h"

#include "check.h"

#include <string.h>

#define MAX_INSTRS 40

/* ---- one program, run by hand --------------------------------------------------------------- */

struct machine {
    struct arena arena;
    struct instr instrs[MAX_INSTRS];
    struct instr_guard guards[4];
    struct instr_list list;
    struct block_plan plan;
    int64_t true_counts[MAX_INSTRS];
    int64_t probes[2 * MAX_INSTRS]; /* by unit */
    int64_t losses[MAX_INSTRS];
    int64_t counts[MAX_INSTRS];
    int64_t scratch[4 * MAX_INSTRS + 1];
};

static void place(struct machine *m, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        m->instrs[i].unit = 2 * i;
        m->instrs[i].own_unit = 2 * i + (i % 5 == 3); /* some have a prefix */
    }
    m->list = (struct instr_list){.instrs = m->instrs,
                                  .n_instrs = n,
                                  .guards = m->guards,
                                  .n_guards = m->list.n_guards,
                                  .n_units = 2 * n};
}

static void plan_needed(struct machine *m, const uint8_t *needed, const uint64_t *weights)
{
    CHECK_EQ(blocks_plan(&m->plan, &m->list, needed, weights, &m->arena), 0);
    CHECK(blocks_plan_is_valid(&m->plan));
    CHECK(blocks_scratch_words(&m->plan) <= sizeof m->scratch / sizeof m->scratch[0]);
}

static void plan(struct machine *m, const uint64_t *weights)
{
    plan_needed(m, NULL, weights);
}

static void pass(struct machine *m, uint32_t instr)
{
    m->true_counts[instr]++;
    m->probes[m->instrs[instr].own_unit]++;
}

static void check_counts(struct machine *m)
{
    blocks_derive(&m->plan, m->probes, m->losses, m->counts, m->scratch);
    for (uint32_t i = 0; i < m->list.n_instrs; i++)
        if (blocks_knows(&m->plan, i))
            CHECK_EQ(m->counts[i], m->true_counts[i]);
}

static struct instr next(void)
{
    return (struct instr){.flow = FLOW_NEXT, .probe = PROBE_FREE};
}

static struct instr branch(uint32_t target)
{
    return (struct instr){.flow = FLOW_BRANCH, .target = target, .probe = PROBE_LAST_RESORT};
}

static struct instr jump(uint32_t target)
{
    return (struct instr){.flow = FLOW_JUMP, .target = target, .probe = PROBE_LAST_RESORT};
}

static struct instr leave(void)
{
    return (struct instr){.flow = FLOW_END, .probe = PROBE_FREE};
}

static struct instr resume(void)
{
    return (struct instr){.flow = FLOW_NEXT,
                          .enters = true,
                          .ends_block = true,
                          .probe = PROBE_NEVER,
                          .uncounted = true};
}

static uint32_t probes_between(const struct machine *m, uint32_t first, uint32_t end)
{
    uint32_t n = 0;
    for (uint32_t b = 0; b < m->plan.n_blocks; b++)
        n += m->plan.blocks[b].probe >= first && m->plan.blocks[b].probe < end;
    return n;
}

static void a_straight_block_has_one_probe_and_its_exceptions_count(void)
{
    struct machine m = {0};
    m.instrs[0] = next();
    m.instrs[0].probe = PROBE_SLOWS;
    m.instrs[1] = next();
    m.instrs[2] = next();
    m.instrs[3] = leave();
    place(&m, 4);
    plan(&m, NULL);
    CHECK_EQ(m.plan.n_probes, 1);
    CHECK_EQ(m.plan.blocks[0].probe, 1); /* the first that costs nothing */
    for (int call = 0; call < 5; call++)
        for (uint32_t i = 0; i < 4; i++) {
            pass(&m, i);
            if (call == (int)i) { /* each instruction raises once */
                m.losses[i]++;
                break;
            }
        }
    check_counts(&m);
    CHECK_EQ(m.counts[0], 5);
    CHECK_EQ(m.counts[3], 2);
    arena_release(&m.arena);
}

/* RESUME; head: branch to end; body; back to head; end. */
static void a_loop_needs_the_probe_of_its_body_only(void)
{
    struct machine m = {0};
    m.instrs[0] = resume();
    m.instrs[1] = next();
    m.instrs[2] = next();
    m.instrs[3] = branch(6);
    m.instrs[4] = next();
    m.instrs[5] = jump(2);
    m.instrs[6] = leave();
    place(&m, 7);
    plan(&m, NULL);
    CHECK_EQ(m.plan.entry, 0);
    CHECK_EQ(m.plan.n_probes, 2);
    CHECK_EQ(probes_between(&m, 2, 4), 0); /* the head runs more often than what it leads to */
    for (int call = 0; call < 3; call++) {
        m.true_counts[0]++;
        pass(&m, 1);
        for (int i = 0; i < 4; i++) {
            pass(&m, 2);
            pass(&m, 3);
            if (i == 3)
                break;
            pass(&m, 4);
            pass(&m, 5);
        }
        pass(&m, 6);
    }
    check_counts(&m);
    CHECK_EQ(m.counts[0], 3);
    CHECK_EQ(m.counts[2], 12);
    CHECK_EQ(m.counts[4], 9);
    arena_release(&m.arena);
}

static void weights_say_which_arm_is_spared(void)
{
    for (uint32_t heavy = 3; heavy <= 5; heavy += 2) {
        uint64_t weights[8] = {0};
        struct machine m = {0};
        m.instrs[0] = resume();
        m.instrs[1] = next();
        m.instrs[2] = branch(5);
        m.instrs[3] = next();
        m.instrs[4] = jump(6);
        m.instrs[5] = next();
        m.instrs[6] = leave();
        place(&m, 7);
        weights[heavy] = 1000;
        plan(&m, weights);
        CHECK_EQ(probes_between(&m, heavy, heavy + 1), 0);
        CHECK_EQ(probes_between(&m, 8 - heavy, 8 - heavy + 1), 1);
        arena_release(&m.arena);
    }
}

static void frames_that_come_and_stay_are_losses(void)
{
    struct machine m = {0};
    m.instrs[0] = resume();
    m.instrs[1] = next();
    m.instrs[2] = next();
    m.instrs[3] = leave();
    place(&m, 4);
    plan(&m, NULL);
    m.losses[2]--; /* it stood at 2, which had been counted elsewhere, and went on */
    pass(&m, 3);
    m.losses[1]++; /* it still stands at 1 */
    m.true_counts[0]++;
    pass(&m, 1);
    check_counts(&m);
    CHECK_EQ(m.counts[2], 0);
    CHECK_EQ(m.counts[3], 1);
    arena_release(&m.arena);
}

static void empty_code_has_an_empty_plan(void)
{
    struct machine m = {0};
    place(&m, 0);
    plan(&m, NULL);
    CHECK_EQ(m.plan.n_probes, 0);
    CHECK(!blocks_knows(&m.plan, 0));
    check_counts(&m);
}

/* ---- random programs ------------------------------------------------------------------------ */

static uint64_t random_state = 88172645463325252u;

static uint32_t random_below(uint32_t limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 33) % limit;
}

static struct instr random_instr(uint32_t n)
{
    struct instr instr = {.probe = (uint8_t)(1 + random_below(3)),
                          .line = (int32_t)random_below(4)};
    switch (random_below(10)) {
    case 0:
    case 1:
        instr.flow = FLOW_BRANCH;
        break;
    case 2:
        instr.flow = FLOW_JUMP;
        break;
    case 3:
        instr.flow = random_below(3) == 0 ? FLOW_END : FLOW_NEXT;
        break;
    case 4:
        instr.flow = FLOW_NEXT;
        instr.ends_block = true;
        instr.loses_count = random_below(2) == 0;
        break;
    default:
        instr.flow = FLOW_NEXT;
    }
    instr.target = random_below(n);
    if (random_below(6) == 0) {
        instr.probe = PROBE_NEVER;
        instr.uncounted = true;
    }
    return instr;
}

static void make_random(struct machine *m)
{
    uint32_t n = 3 + random_below(MAX_INSTRS - 3);
    for (uint32_t i = 0; i < n; i++)
        m->instrs[i] = random_instr(n);
    m->instrs[random_below(2)] = resume();
    m->list.n_guards = random_below(4);
    for (uint32_t g = 0; g < m->list.n_guards; g++) {
        uint32_t start = random_below(n);
        m->guards[g] = (struct instr_guard){
            .start = start, .end = start + 1 + random_below(n - start), .target = random_below(n)};
    }
    place(m, n);
}

/* Where an exception at an instruction leads; NO_INSTR: out of the frame. */
static uint32_t handler_of(const struct machine *m, uint32_t at)
{
    for (uint32_t g = 0; g < m->list.n_guards; g++)
        if (at >= m->guards[g].start && at < m->guards[g].end)
            return m->guards[g].target;
    return NO_INSTR;
}

/* Where execution goes on behind an instruction; NO_INSTR: nowhere in this frame. */
static uint32_t successor_of(const struct machine *m, uint32_t at)
{
    const struct instr *instr = &m->instrs[at];
    bool jumps = instr->flow == FLOW_JUMP || (instr->flow == FLOW_BRANCH && random_below(2));
    if (instr->flow == FLOW_END || (instr->loses_count && random_below(2)))
        return NO_INSTR;
    if (jumps)
        return instr->target;
    return at + 1 < m->list.n_instrs ? at + 1 : NO_INSTR;
}

static void run_random_frame(struct machine *m)
{
    uint32_t at = 0;
    if (random_below(4) == 0) { /* it was running when counting began */
        uint32_t stood_at = random_below(m->list.n_instrs);
        at = successor_of(m, stood_at);
        if (!m->instrs[stood_at].loses_count && m->instrs[stood_at].flow != FLOW_END)
            m->losses[stood_at]--;
    }
    for (int steps = 0; at != NO_INSTR; steps++) {
        pass(m, at);
        if (random_below(15) == 0) { /* an exception */
            m->losses[at]++;
            at = handler_of(m, at);
        } else if (steps > 60 || random_below(40) == 0) { /* it is still running at the end */
            m->losses[at]++;
            at = NO_INSTR;
        } else {
            at = successor_of(m, at);
        }
    }
}

/* What is asked about is known, unless no plan could have known it. */
static void check_needed(const struct machine *m, const uint8_t *needed)
{
    struct machine all = *m;
    plan(&all, NULL);
    for (uint32_t i = 0; i < m->list.n_instrs; i++)
        if (needed[i] && blocks_knows(&all.plan, i))
            CHECK(blocks_knows(&m->plan, i));
}

static void questions_save_probes(void)
{
    uint32_t n_all = 0, n_asked = 0;
    for (int round = 0; round < 10000; round++) {
        static struct machine m;
        uint8_t needed[MAX_INSTRS];
        memset(&m, 0, sizeof m);
        make_random(&m);
        for (uint32_t i = 0; i < MAX_INSTRS; i++)
            needed[i] = random_below(4) == 0 && m.instrs[i].probe != PROBE_NEVER;
        plan(&m, NULL);
        n_all += m.plan.n_probes;
        plan_needed(&m, needed, NULL);
        n_asked += m.plan.n_probes;
        for (int frame = 0; frame < 12; frame++)
            run_random_frame(&m);
        check_counts(&m);
        check_needed(&m, needed);
        arena_release(&m.arena);
    }
    CHECK(n_asked < n_all * 3 / 4);
}

static void every_random_program_is_counted_exactly(void)
{
    uint32_t n_blocks = 0, n_probes = 0, n_unknown = 0;
    for (int round = 0; round < 20000; round++) {
        static struct machine m;
        uint64_t weights[MAX_INSTRS];
        memset(&m, 0, sizeof m);
        make_random(&m);
        for (uint32_t i = 0; i < MAX_INSTRS; i++)
            weights[i] = random_below(1000);
        plan(&m, round % 2 ? weights : NULL);
        for (int frame = 0; frame < 12; frame++)
            run_random_frame(&m);
        check_counts(&m);
        n_blocks += m.plan.n_blocks;
        n_probes += m.plan.n_probes;
        for (uint32_t b = 0; b < m.plan.n_blocks; b++)
            n_unknown += m.plan.blocks[b].is_unknown;
        arena_release(&m.arena);
    }
    CHECK(n_probes < n_blocks * 3 / 4); /* it is worth it */
    CHECK(n_unknown < n_blocks / 6);    /* and says something */
}

int main(void)
{
    a_straight_block_has_one_probe_and_its_exceptions_count();
    a_loop_needs_the_probe_of_its_body_only();
    weights_say_which_arm_is_spared();
    frames_that_come_and_stay_are_losses();
    empty_code_has_an_empty_plan();
    every_random_program_is_counted_exactly();
    questions_save_probes();
    return 0;
}
