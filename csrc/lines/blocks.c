/*
 * blocks.c - see blocks.h.
 *
 * The flow equations that can be had from block counts alone are these (Knuth and Stevenson,
 * "Optimal measurement points for program frequency counts", BIT 13, 1973): edges of the flow graph
 * join the end of one block with the beginning of another; what is joined, however indirectly, is a
 * junction, and what arrives at a junction leaves by it. Each block leads from one junction to
 * another, so a spanning tree of the junctions needs no probes, and the heaviest such tree saves
 * most. All that comes from outside or goes there (calls, returns, handlers, resumptions) meets in
 * the junction OUTSIDE, which has no equation.
 *
 * Blocks that nobody asks about need not be known: then the junctions at their ends are one, and
 * what passes through such a block cancels out. A block that is asked about may go without a probe
 * if it is on no circle of blocks without one.
 */
#include "lines/blocks.h"

#include <stdlib.h>
#include <string.h>

#define OUTSIDE 0u
#define LOOP_WEIGHT 8u
#define MAX_WEIGHT (UINT64_MAX / LOOP_WEIGHT)

/* Ends of blocks while the junctions are being found: 0 is outside, then two a block. */
static uint32_t in_port(uint32_t block)
{
    return 1 + 2 * block;
}

static uint32_t out_port(uint32_t block)
{
    return 2 + 2 * block;
}

/* How much it is worth to spare a block its probe. */
struct rank {
    uint64_t weight; /* how often it is expected to run */
    uint32_t block;
    uint8_t probe;  /* enum instr_probe of the best place */
    bool is_needed; /* somebody asks how often it ran */
};

struct planning {
    const struct instr_list *code;
    struct block_plan *plan;
    struct arena arena; /* of what follows */
    uint8_t *is_leader; /* by instruction */
    uint32_t *block_of; /* by instruction */
    /* Union-find over the ends of blocks, each coarser than the one before: */
    uint32_t *ports;    /* what the flow of control joins */
    uint32_t *merged;   /* and blocks that nobody asks about, alone */
    uint32_t *tree;     /* and all blocks without a probe */
    uint32_t *numbers;  /* of junctions, by port */
    struct rank *ranks; /* by block, later sorted */
    uint8_t *is_needed; /* by block */
    uint8_t *in_tree;   /* by block */
    uint32_t *degrees;  /* by junction: blocks of the tree that are not ordered yet */
    uint32_t *incident; /* by junction: their numbers, combined by exclusive or */
    uint32_t *queue;    /* junctions of degree 1 */
};

static uint32_t find_root(uint32_t *sets, uint32_t member)
{
    while (sets[member] != member) {
        sets[member] = sets[sets[member]];
        member = sets[member];
    }
    return member;
}

/* False if the two were one already. The smaller number stays the root, so outside stays 0. */
static bool join(uint32_t *sets, uint32_t left, uint32_t right)
{
    left = find_root(sets, left);
    right = find_root(sets, right);
    if (left < right)
        sets[right] = left;
    else
        sets[left] = right;
    return left != right;
}

static bool falls_through(const struct instr *instr)
{
    return instr->flow == FLOW_NEXT || instr->flow == FLOW_BRANCH;
}

static bool may_jump(const struct instr *instr)
{
    return instr->flow == FLOW_JUMP || instr->flow == FLOW_BRANCH;
}

static int planning_alloc(struct planning *p, size_t n)
{
    size_t n_ports = 2 * n + 1;
    struct arena *arena = &p->arena;
    p->is_leader = arena_alloc(arena, n + 1);
    p->block_of = arena_alloc(arena, n * sizeof *p->block_of);
    p->ports = arena_alloc(arena, n_ports * sizeof *p->ports);
    p->merged = arena_alloc(arena, n_ports * sizeof *p->merged);
    p->tree = arena_alloc(arena, n_ports * sizeof *p->tree);
    p->numbers = arena_alloc(arena, n_ports * sizeof *p->numbers);
    p->ranks = arena_alloc(arena, n * sizeof *p->ranks);
    p->is_needed = arena_alloc(arena, n);
    p->in_tree = arena_alloc(arena, n);
    p->degrees = arena_alloc(arena, n_ports * sizeof *p->degrees);
    p->incident = arena_alloc(arena, n_ports * sizeof *p->incident);
    p->queue = arena_alloc(arena, n_ports * sizeof *p->queue);
    return p->is_leader && p->block_of && p->ports && p->merged && p->tree && p->numbers &&
                   p->ranks && p->is_needed && p->in_tree && p->degrees && p->incident && p->queue
               ? 0
               : -1;
}

/* ---- blocks --------------------------------------------------------------------------------- */

static void find_leaders(struct planning *p)
{
    const struct instr_list *code = p->code;
    p->is_leader[0] = 1;
    for (uint32_t i = 0; i < code->n_instrs; i++) {
        const struct instr *instr = &code->instrs[i];
        if (may_jump(instr))
            p->is_leader[instr->target] = 1;
        if (instr->ends_block || instr->flow != FLOW_NEXT)
            p->is_leader[i + 1] = 1;
    }
    for (uint32_t g = 0; g < code->n_guards; g++)
        p->is_leader[code->guards[g].target] = 1;
}

/* The best place for a counter; of equals the first, whose offset is the cheapest to hand over. */
static uint32_t choose_probe(const struct instr_list *code, const struct block *block)
{
    uint32_t best = NO_INSTR;
    for (uint32_t i = block->first; i < block->end; i++)
        if (code->instrs[i].probe != PROBE_NEVER &&
            (best == NO_INSTR || code->instrs[i].probe > code->instrs[best].probe))
            best = i;
    return best;
}

static int make_blocks(struct planning *p, struct arena *arena)
{
    const struct instr_list *code = p->code;
    struct block_plan *plan = p->plan;
    uint32_t n = 0;
    for (uint32_t i = 0; i < code->n_instrs; i++)
        n += p->is_leader[i];
    plan->blocks = arena_alloc(arena, n * sizeof *plan->blocks);
    if (plan->blocks == NULL)
        return -1;
    for (uint32_t i = 0; i < code->n_instrs; i++) {
        if (p->is_leader[i])
            plan->blocks[plan->n_blocks++].first = i;
        plan->blocks[plan->n_blocks - 1].end = i + 1;
        p->block_of[i] = plan->n_blocks - 1;
        if (plan->entry == NO_INSTR && code->instrs[i].enters)
            plan->entry = i;
    }
    for (uint32_t b = 0; b < n; b++)
        plan->blocks[b].probe = choose_probe(code, &plan->blocks[b]);
    return 0;
}

/* `needed` by instruction; NULL: all that can be counted. The entry says how often it was called.
 */
static void find_needed(struct planning *p, const uint8_t *needed)
{
    for (uint32_t i = 0; i < p->code->n_instrs; i++)
        if (i == p->plan->entry || (needed == NULL ? !p->code->instrs[i].uncounted : needed[i]))
            p->is_needed[p->block_of[i]] = 1;
}

static void multiply(uint64_t *weight)
{
    *weight = *weight < MAX_WEIGHT ? *weight * LOOP_WEIGHT : UINT64_MAX;
}

/*
 * How often the blocks are expected to run. What the caller says comes from events of lines, which
 * do not see the iterations of a loop that is wholly on one line.
 */
static void weigh_blocks(struct planning *p, const uint64_t *weights)
{
    const struct instr *instrs = p->code->instrs;
    struct block_plan *plan = p->plan;
    for (uint32_t b = 0; b < plan->n_blocks; b++) {
        uint32_t probe = plan->blocks[b].probe;
        struct rank *rank = &p->ranks[b];
        *rank = (struct rank){.weight = 1,
                              .block = b,
                              .probe = probe == NO_INSTR ? PROBE_NEVER : instrs[probe].probe,
                              .is_needed = p->is_needed[b]};
        if (weights == NULL)
            continue;
        rank->weight = UINT64_MAX;
        /* A line may have other blocks too, which run more often. */
        for (uint32_t i = plan->blocks[b].first; i < plan->blocks[b].end; i++)
            rank->weight = weights[i] < rank->weight ? weights[i] : rank->weight;
        rank->weight = rank->weight < MAX_WEIGHT ? rank->weight + 1 : 1;
    }
    for (uint32_t i = 0; i < p->code->n_instrs; i++) {
        if (!may_jump(&instrs[i]) || instrs[i].target > i)
            continue;
        if (weights == NULL || instrs[i].line == instrs[instrs[i].target].line)
            for (uint32_t b = p->block_of[instrs[i].target]; b <= p->block_of[i]; b++)
                multiply(&p->ranks[b].weight);
    }
}

/* ---- junctions ------------------------------------------------------------------------------ */

static void join_ports(struct planning *p)
{
    const struct instr_list *code = p->code;
    const struct block_plan *plan = p->plan;
    uint32_t n_blocks = plan->n_blocks;
    for (uint32_t port = 0; port < 2 * n_blocks + 1; port++)
        p->ports[port] = port;
    join(p->ports, in_port(0), OUTSIDE);
    for (uint32_t g = 0; g < code->n_guards; g++)
        join(p->ports, in_port(p->block_of[code->guards[g].target]), OUTSIDE);
    for (uint32_t b = 0; b < n_blocks; b++) {
        const struct instr *last = &code->instrs[plan->blocks[b].end - 1];
        if (last->flow == FLOW_END || last->loses_count ||
            (falls_through(last) && b + 1 == n_blocks))
            join(p->ports, out_port(b), OUTSIDE);
        if (falls_through(last) && b + 1 < n_blocks)
            join(p->ports, out_port(b), in_port(b + 1));
        if (may_jump(last))
            join(p->ports, out_port(b), in_port(p->block_of[last->target]));
    }
}

/* Numbers the junctions; outside is 0. */
static void number_junctions(struct planning *p)
{
    struct block_plan *plan = p->plan;
    plan->n_junctions = 0;
    for (uint32_t port = 0; port < 2 * plan->n_blocks + 1; port++)
        if (find_root(p->merged, port) == port)
            p->numbers[port] = plan->n_junctions++;
    for (uint32_t b = 0; b < plan->n_blocks; b++) {
        plan->blocks[b].in = p->numbers[find_root(p->merged, in_port(b))];
        plan->blocks[b].out = p->numbers[find_root(p->merged, out_port(b))];
    }
}

/* ---- the tree ------------------------------------------------------------------------------- */

/*
 * First those that can have no probe (of them, those that nobody asks about), then the heavy ones,
 * then those whose probe costs more.
 */
static int compare_ranks(const void *left, const void *right)
{
    const struct rank *l = left, *r = right;
    if ((l->probe == PROBE_NEVER) != (r->probe == PROBE_NEVER))
        return l->probe == PROBE_NEVER ? -1 : 1;
    if (l->probe == PROBE_NEVER && l->is_needed != r->is_needed)
        return l->is_needed ? 1 : -1;
    if (l->weight != r->weight)
        return l->weight > r->weight ? -1 : 1;
    if (l->probe != r->probe)
        return l->probe < r->probe ? -1 : 1;
    return l->block < r->block ? -1 : l->block > r->block;
}

/* Takes the probe from a block if that can be; false if it has to keep it. */
static bool spare(struct planning *p, uint32_t b)
{
    struct block *block = &p->plan->blocks[b];
    bool connects = join(p->tree, in_port(b), out_port(b));
    if (p->is_needed[b]) {
        p->in_tree[b] = connects;
        p->plan->n_steps += connects;
        return connects;
    }
    /* It may close a circle, as long as no block on it is asked about. */
    if (!connects && find_root(p->merged, in_port(b)) != find_root(p->merged, out_port(b)))
        return false;
    join(p->merged, in_port(b), out_port(b));
    block->is_unknown = true;
    return true;
}

/*
 * Chooses the blocks that go without a probe, heaviest first. False if there is one that should be
 * known, can have no probe and does not follow from others: then it is asked about no more, and
 * all begins again.
 */
static bool grow_tree(struct planning *p)
{
    struct block_plan *plan = p->plan;
    size_t n_ports = 2 * (size_t)plan->n_blocks + 1;
    plan->n_steps = 0;
    memset(p->in_tree, 0, plan->n_blocks);
    memcpy(p->tree, p->ports, n_ports * sizeof *p->tree);
    memcpy(p->merged, p->ports, n_ports * sizeof *p->merged);
    for (uint32_t b = 0; b < plan->n_blocks; b++)
        plan->blocks[b].is_unknown = false;
    for (uint32_t k = 0; k < plan->n_blocks; k++) {
        uint32_t b = p->ranks[k].block;
        if (!spare(p, b) && p->ranks[k].probe == PROBE_NEVER) {
            p->is_needed[b] = 0;
            p->ranks[k].is_needed = false;
            return false;
        }
    }
    return true;
}

/* A block of the tree has been ordered, or is about to be (`by` is 1 or -1). */
static void add_incidence(struct planning *p, uint32_t junction, uint32_t block, int by)
{
    p->degrees[junction] += (uint32_t)by;
    p->incident[junction] ^= block;
}

/* Leaves of the tree first: at each, everything but its one block is known by then. */
static int order_steps(struct planning *p, struct arena *arena)
{
    struct block_plan *plan = p->plan;
    uint32_t n_queued = 0, n_ordered = 0;
    plan->steps = arena_alloc(arena, (plan->n_steps + 1) * sizeof *plan->steps);
    if (plan->steps == NULL)
        return -1;
    for (uint32_t b = 0; b < plan->n_blocks; b++)
        if (p->in_tree[b]) {
            add_incidence(p, plan->blocks[b].in, b, 1);
            add_incidence(p, plan->blocks[b].out, b, 1);
        }
    for (uint32_t j = 0; j < plan->n_junctions; j++)
        if (j != OUTSIDE && p->degrees[j] == 1)
            p->queue[n_queued++] = j;
    for (uint32_t k = 0; k < n_queued; k++) {
        uint32_t junction = p->queue[k];
        uint32_t b = p->incident[junction];
        uint32_t other;
        if (p->degrees[junction] != 1) /* the last block of a tree has two leaves */
            continue;
        other = plan->blocks[b].in == junction ? plan->blocks[b].out : plan->blocks[b].in;
        plan->steps[n_ordered++] = (struct block_step){b, junction};
        add_incidence(p, junction, b, -1);
        add_incidence(p, other, b, -1);
        if (other != OUTSIDE && p->degrees[other] == 1)
            p->queue[n_queued++] = other;
    }
    return 0;
}

static int choose_probes(struct planning *p, struct arena *arena)
{
    struct block_plan *plan = p->plan;
    join_ports(p);
    do
        qsort(p->ranks, plan->n_blocks, sizeof *p->ranks, compare_ranks);
    while (!grow_tree(p));
    number_junctions(p);
    if (order_steps(p, arena) < 0)
        return -1;
    for (uint32_t b = 0; b < plan->n_blocks; b++) {
        if (p->in_tree[b] || plan->blocks[b].is_unknown)
            plan->blocks[b].probe = NO_INSTR;
        plan->n_probes += plan->blocks[b].probe != NO_INSTR;
    }
    return 0;
}

static int index_units(struct block_plan *plan, const struct instr_list *code, struct arena *arena)
{
    plan->instr_of_unit = arena_alloc(arena, (code->n_units + 1) * sizeof *plan->instr_of_unit);
    plan->own_unit = arena_alloc(arena, code->n_instrs * sizeof *plan->own_unit);
    if (plan->instr_of_unit == NULL || plan->own_unit == NULL)
        return -1;
    for (uint32_t i = 0; i < code->n_instrs; i++) {
        uint32_t end = i + 1 < code->n_instrs ? code->instrs[i + 1].unit : code->n_units;
        plan->own_unit[i] = code->instrs[i].own_unit;
        for (uint32_t unit = code->instrs[i].unit; unit < end; unit++)
            plan->instr_of_unit[unit] = i;
    }
    return 0;
}

int blocks_plan(struct block_plan *plan, const struct instr_list *code, const uint8_t *needed,
                const uint64_t *weights, struct arena *arena)
{
    struct planning p = {.code = code, .plan = plan};
    int result = -1;
    *plan = (struct block_plan){
        .n_instrs = code->n_instrs, .n_units = code->n_units, .entry = NO_INSTR};
    if (code->n_instrs == 0)
        return 0;
    if (planning_alloc(&p, code->n_instrs) < 0)
        goto done;
    find_leaders(&p);
    if (make_blocks(&p, arena) < 0 || index_units(plan, code, arena) < 0)
        goto done;
    find_needed(&p, needed);
    weigh_blocks(&p, weights);
    result = choose_probes(&p, arena);
done:
    arena_release(&p.arena);
    return result;
}

/* ---- derivation ----------------------------------------------------------------------------- */

static const struct block *find_block(const struct block_plan *plan, uint32_t instr)
{
    uint32_t low = 0, high = plan->n_blocks;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (plan->blocks[middle].first <= instr)
            low = middle;
        else
            high = middle;
    }
    return &plan->blocks[low];
}

bool blocks_knows(const struct block_plan *plan, uint32_t instr)
{
    return instr < plan->n_instrs && !find_block(plan, instr)->is_unknown;
}

static int64_t losses_between(const int64_t *losses, uint32_t first, uint32_t end)
{
    int64_t sum = 0;
    for (uint32_t i = first; i < end; i++)
        sum += losses[i];
    return sum;
}

/* A block is known: its ends' junctions learn what arrived and what left. */
static void balance(const struct block *block, const int64_t *losses, int64_t began,
                    int64_t *surplus)
{
    surplus[block->in] -= began;
    surplus[block->out] += began - losses_between(losses, block->first, block->end);
}

void blocks_derive(const struct block_plan *plan, const int64_t *probes, const int64_t *losses,
                   int64_t *counts, int64_t *scratch)
{
    int64_t *began = scratch;                    /* by block */
    int64_t *surplus = scratch + plan->n_blocks; /* by junction: arrived, not yet gone on */
    memset(scratch, 0, blocks_scratch_words(plan) * sizeof *scratch);
    for (uint32_t b = 0; b < plan->n_blocks; b++) {
        const struct block *block = &plan->blocks[b];
        if (block->is_unknown) /* both ends are one junction: what began and what went on cancel out
                                */
            balance(block, losses, 0, surplus);
        if (block->probe == NO_INSTR)
            continue;
        began[b] = probes[plan->own_unit[block->probe]] +
                   losses_between(losses, block->first, block->probe);
        balance(block, losses, began[b], surplus);
    }
    for (uint32_t s = 0; s < plan->n_steps; s++) {
        const struct block *block = &plan->blocks[plan->steps[s].block];
        uint32_t junction = plan->steps[s].junction;
        if (block->in == junction)
            began[plan->steps[s].block] = surplus[junction];
        else
            began[plan->steps[s].block] =
                losses_between(losses, block->first, block->end) - surplus[junction];
        balance(block, losses, began[plan->steps[s].block], surplus);
    }
    for (uint32_t b = 0; b < plan->n_blocks; b++) {
        const struct block *block = &plan->blocks[b];
        int64_t count = began[b];
        for (uint32_t i = block->first; i < block->end; i++) {
            counts[i] = count;
            count -= block->is_unknown ? 0 : losses[i];
        }
    }
}

bool blocks_plan_is_valid(const struct block_plan *plan)
{
    uint32_t n_probes = 0, n_unknown = 0;
    for (uint32_t b = 0; b < plan->n_blocks; b++) {
        const struct block *block = &plan->blocks[b];
        uint32_t end = b + 1 < plan->n_blocks ? plan->blocks[b + 1].first : plan->n_instrs;
        if (block->end != end || block->first >= block->end || block->in >= plan->n_junctions ||
            block->out >= plan->n_junctions)
            return false;
        if (block->probe != NO_INSTR && (block->probe < block->first || block->probe >= block->end))
            return false;
        n_probes += block->probe != NO_INSTR;
        n_unknown += block->is_unknown;
    }
    for (uint32_t s = 0; s < plan->n_steps; s++)
        if (plan->steps[s].junction == OUTSIDE)
            return false;
    return n_probes == plan->n_probes && n_probes + n_unknown + plan->n_steps == plan->n_blocks;
}
