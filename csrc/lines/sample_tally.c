/* sample_tally.c - see sample_tally.h. */
#include "lines/sample_tally.h"

#include "base/table.h" /* hash_u64 */

#define FIRST_TABLES 64u
#define FIRST_EDGE_SLOTS 64u

struct sample_tally *sample_tallies;

void tally_publish(struct sample_tally *tally)
{
    tally->next = __atomic_load_n(&sample_tallies, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&sample_tallies, &tally->next, tally, false,
                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
}

/* Grows by copying; the old array stays where it is for a result that is being written. */
static int reserve_table(struct sample_tally *tally, uint32_t id)
{
    struct sample_table **tables;
    uint32_t n = tally->n_tables == 0 ? FIRST_TABLES : tally->n_tables;
    if (id < tally->n_tables)
        return 0;
    while (n <= id)
        n *= 2;
    tables = arena_alloc(&tally->arena, n * sizeof *tables);
    if (tables == NULL)
        return -1;
    for (uint32_t i = 0; i < tally->n_tables; i++)
        tables[i] = tally->tables[i];
    __atomic_store_n(&tally->tables, tables, __ATOMIC_RELEASE);
    __atomic_store_n(&tally->n_tables, n, __ATOMIC_RELEASE);
    return 0;
}

/* Returns the tally's table of a code object, NULL when memory is out. */
static struct sample_table *table_of(struct sample_tally *tally, const struct lines_code *code)
{
    struct sample_table *table;
    if (likely(code->id < tally->n_tables && tally->tables[code->id] != NULL))
        return tally->tables[code->id];
    if (reserve_table(tally, code->id) < 0)
        return NULL;
    table = arena_alloc(&tally->arena, sizeof *table + code->n_lines * sizeof table->lines[0]);
    if (table == NULL)
        return NULL;
    table->code = code;
    __atomic_store_n(&tally->tables[code->id], table, __ATOMIC_RELEASE);
    return table;
}

static struct sample_line *line_of(struct sample_tally *tally, const struct sample_place *place)
{
    struct sample_table *table = table_of(tally, place->code);
    return table == NULL ? NULL : &table->lines[place->line];
}

/* ---- calls ---------------------------------------------------------------------------------- */

static uint32_t edge_hash(const struct sample_edge *edge)
{
    return (uint32_t)hash_u64(((uint64_t)edge->caller << 32 | edge->line) * 31 + edge->callee);
}

/* Returns the slot of an edge, or the free one where it belongs. */
static struct sample_edge *find_edge(struct sample_edge *slots, uint32_t n_slots,
                                     const struct sample_edge *wanted)
{
    for (uint32_t i = edge_hash(wanted) % n_slots;; i = (i + 1) % n_slots) {
        struct sample_edge *edge = &slots[i];
        if (edge->callee == 0 || (edge->callee == wanted->callee &&
                                  edge->caller == wanted->caller && edge->line == wanted->line))
            return edge;
    }
}

static int reserve_edge(struct sample_tally *tally)
{
    uint32_t n_slots = tally->n_edge_slots == 0 ? FIRST_EDGE_SLOTS : tally->n_edge_slots * 2;
    struct sample_edge *slots;
    if ((tally->n_edges + 1) * 2 <= tally->n_edge_slots)
        return 0;
    slots = arena_alloc(&tally->arena, n_slots * sizeof *slots);
    if (slots == NULL)
        return -1;
    for (uint32_t i = 0; i < tally->n_edge_slots; i++)
        if (tally->edges[i].callee != 0)
            *find_edge(slots, n_slots, &tally->edges[i]) = tally->edges[i];
    __atomic_store_n(&tally->edges, slots, __ATOMIC_RELEASE);
    __atomic_store_n(&tally->n_edge_slots, n_slots, __ATOMIC_RELEASE);
    return 0;
}

/* Returns the edge from a caller (code NULL: none) to a place; NULL when memory is out. */
static struct sample_edge *edge_of(struct sample_tally *tally, const struct sample_place *caller,
                                   const struct sample_place *callee)
{
    struct sample_edge wanted = {.callee = callee->code->id};
    struct sample_edge *edge;
    if (caller->code != NULL) {
        wanted.caller = caller->code->id;
        wanted.line = (uint32_t)caller->code->first_line + caller->line;
    }
    if (reserve_edge(tally) < 0)
        return NULL;
    edge = find_edge(tally->edges, tally->n_edge_slots, &wanted);
    if (edge->callee == 0) {
        *edge = wanted;
        tally->n_edges++;
    }
    return edge;
}

void tally_pass(struct sample_tally *tally, uint64_t ticks)
{
    tally->gaps += (double)ticks;
    tally->gap_squares += (double)ticks * (double)ticks;
}

/* ---- samples -------------------------------------------------------------------------------- */

static void add_exclusive(struct sample_tally *tally, const struct sample_place *place,
                          uint64_t weight, double square)
{
    struct sample_line *line = line_of(tally, place);
    if (line == NULL)
        return;
    line->exclusive += weight;
    line->exclusive_squares += square;
    line->samples++;
}

/* The line and its function, each once a sample however often they are on the stack. */
static void add_inclusive(struct sample_tally *tally, const struct sample_place *place,
                          uint64_t weight, double square)
{
    struct sample_table *table = table_of(tally, place->code);
    struct sample_line *line;
    if (table == NULL)
        return;
    line = &table->lines[place->line];
    if (line->mark != tally->mark) {
        line->mark = tally->mark;
        line->inclusive += weight;
        line->inclusive_squares += square;
    }
    if (table->mark != tally->mark) {
        table->mark = tally->mark;
        table->inclusive += weight;
        table->inclusive_squares += square;
        table->samples++;
    }
}

static void add_call(struct sample_tally *tally, const struct sample_place *caller,
                     const struct sample_place *callee, uint64_t weight, bool is_innermost)
{
    struct sample_edge *edge = edge_of(tally, caller, callee);
    if (edge == NULL)
        return;
    if (edge->mark != tally->mark) {
        edge->mark = tally->mark;
        edge->inclusive += weight;
        edge->samples++;
    }
    if (is_innermost)
        edge->exclusive += weight;
}

static bool any_is_hot(const struct sample_place *places, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (places[i].is_hot)
            return true;
    return false;
}

/* The clock of cold code counts this too, for its line and for the call that it is in. */
static void add_covered(struct sample_tally *tally, const struct sample_clock *clock,
                        uint64_t weight, double square)
{
    struct sample_line *line;
    struct sample_edge *edge;
    if (clock->line.code == NULL)
        return;
    line = line_of(tally, &clock->line);
    edge = edge_of(tally, &clock->caller, &clock->line);
    if (line != NULL) {
        line->covered += weight;
        line->covered_squares += square;
    }
    if (edge != NULL)
        edge->covered += weight;
}

/* That clock has counted it as cost. */
static void add_covered_lost(struct sample_tally *tally, const struct sample_clock *clock,
                             uint64_t weight)
{
    struct sample_line *line = clock->line.code == NULL ? NULL : line_of(tally, &clock->line);
    if (line == NULL)
        return;
    line->covered_lost += weight;
    line->covered_lost_squares += (double)weight * (double)weight;
}

/*
 * What is left of a sample's weight without what events cost inside the evaluation loop. It is
 * taken out here, where every sum that the sample goes into has it alike: so no part gets larger
 * than the whole. At most a half, since no line that was found takes no time at all.
 */
static uint64_t without_loop(struct sample_tally *tally, const struct sample_place *place,
                             uint64_t weight)
{
    struct sample_line *line = place->is_hot ? line_of(tally, place) : NULL;
    uint64_t inside;
    if (line == NULL)
        return weight;
    inside = line->inside_due < weight / 2 ? line->inside_due : weight / 2;
    line->inside_due -= inside;
    return weight - inside;
}

/* `is_known`: not a sample of more, so nothing is uncertain. */
static void add(struct sample_tally *tally, const struct sample_place *places, uint32_t n,
                const struct sample_clock *clock, uint64_t weight, bool is_known)
{
    static const struct sample_place nobody;
    double square;
    if (!any_is_hot(places, n)) {
        tally->elsewhere++;
        return;
    }
    tally->samples++;
    tally->mark++;
    weight = without_loop(tally, &places[0], weight);
    square = is_known ? 0 : (double)weight * (double)weight;
    if (places[0].is_hot) {
        add_exclusive(tally, &places[0], weight, square);
        add_covered(tally, clock, weight, square);
    }
    for (uint32_t i = 0; i < n; i++) {
        if (!places[i].is_hot)
            continue;
        add_inclusive(tally, &places[i], weight, square);
        add_call(tally, i + 1 < n ? &places[i + 1] : &nobody, &places[i], weight, i == 0);
    }
}

void tally_add(struct sample_tally *tally, const struct sample_place *places, uint32_t n,
               const struct sample_clock *clock, uint64_t weight)
{
    add(tally, places, n, clock, weight, false);
}

void tally_add_known(struct sample_tally *tally, const struct sample_place *places, uint32_t n,
                     const struct sample_clock *clock, uint64_t weight)
{
    add(tally, places, n, clock, weight, true);
}

/* As add_inclusive. */
static void lose(struct sample_tally *tally, const struct sample_place *place, uint64_t weight)
{
    struct sample_table *table = table_of(tally, place->code);
    struct sample_line *line;
    if (table == NULL)
        return;
    line = &table->lines[place->line];
    if (line->mark != tally->mark)
        line->lost_inclusive += weight;
    if (table->mark != tally->mark)
        table->lost_inclusive += weight;
    line->mark = table->mark = tally->mark;
}

void tally_discard(struct sample_tally *tally, const struct sample_place *places, uint32_t n,
                   const struct sample_clock *clock, uint64_t weight)
{
    struct sample_line *line;
    if (!any_is_hot(places, n)) {
        tally->elsewhere++;
        return;
    }
    tally->discarded++;
    tally->mark++;
    line = line_of(tally, &places[0]);
    if (line != NULL) {
        line->discarded++;
        line->lost += places[0].is_hot ? weight : 0;
        line->inside_due += places[0].is_hot ? (uint64_t)((double)weight * SAMPLE_LOOP_SHARE) : 0;
    }
    if (places[0].is_hot)
        add_covered_lost(tally, clock, weight);
    for (uint32_t i = 0; i < n && places[0].is_hot; i++)
        if (places[i].is_hot)
            lose(tally, &places[i], weight);
}
