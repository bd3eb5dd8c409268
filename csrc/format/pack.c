/* pack.c - the packing side of pack.h. */
#include "format/pack.h"

#include "format/pack_model.h"

/*
 * The indexes are cleared for each block and drive what the program has out of the cache: so they
 * are no larger than a full slot of the ring needs, which fills half of one. More ends a block.
 */
#define BLOCK_SLOTS 16384u
#define SITE_SLOTS 16384u
#define MOST_BLOCKS 12288u
#define LENGTHS_BYTES (N_COLUMNS * VARINT_MAX_BYTES)

struct column {
    uint8_t *start;
    uint8_t *end;
};

/* The pages of columns and rows are touched as far as they are used. */
struct packer {
    struct model model;
    uint64_t seq;
    uint32_t n_seqs; /* events that have an entry in their column */
    struct column columns[N_COLUMNS];
    uint16_t block_slots[BLOCK_SLOTS]; /* address -> row of blocks + 1 */
    uint16_t site_slots[SITE_SLOTS];   /* node and how -> row of sites + 1 */
    struct model_block blocks[MOST_BLOCKS];
    struct model_site sites[MOST_BLOCKS];
    uint16_t slot_of_site[MOST_BLOCKS]; /* where site_slots has it */
    uint8_t bytes[N_COLUMNS][PACK_EVENTS * VARINT_MAX_BYTES + VARINT_MAX_BYTES];
    uint8_t payload[N_COLUMNS * (PACK_EVENTS + 1) * VARINT_MAX_BYTES + LENGTHS_BYTES];
};

_Static_assert(MODEL_CONTEXTS == 1u << 11 && MODEL_SIZES == 1u << 10, "see the shifts");

size_t packer_bytes(void)
{
    return sizeof(struct packer);
}

/*
 * Most blocks have few sites. Where the block before was another thread's, each line of memory that
 * is written has to come from another processor's cache.
 */
static void clear_sites(struct packer *packer)
{
    const uint32_t n = packer->model.n_sites;
    if (n > SITE_SLOTS / 16) {
        memset(packer->site_slots, 0, sizeof packer->site_slots);
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        packer->site_slots[packer->slot_of_site[i]] = 0;
}

static void start(struct packer *packer, uint64_t first_seq)
{
    clear_sites(packer);
    model_clear(&packer->model);
    packer->seq = first_seq;
    packer->n_seqs = 0;
    memset(packer->block_slots, 0, sizeof packer->block_slots);
    for (unsigned i = 0; i < N_COLUMNS; i++)
        packer->columns[i].start = packer->columns[i].end = packer->bytes[i];
}

/* ---- columns ------------------------------------------------------------------------------ */

static inline void add_byte(struct packer *packer, enum pack_column column, uint8_t byte)
{
    *packer->columns[column].end++ = byte;
}

static inline void add_varint(struct packer *packer, enum pack_column column, uint64_t value)
{
    uint8_t *at = packer->columns[column].end;
    while (value >= 0x80) {
        *at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    packer->columns[column].end = at;
}

static inline void add_difference(struct packer *packer, enum pack_column column, uint64_t value,
                                  uint64_t from)
{
    add_varint(packer, column, zigzag((int64_t)(value - from)));
}

/* ---- the index ---------------------------------------------------------------------------- */

static inline uint32_t home_slot(uint64_t key, uint32_t n_slots)
{
    return (uint32_t)(key * 0x9e3779b97f4a7c15ull >> 40) & (n_slots - 1);
}

/* The slot of an address: that of its latest block, or a free one. */
static inline uint16_t *block_slot(struct packer *packer, uint64_t address)
{
    uint32_t slot = home_slot(address, BLOCK_SLOTS);
    while (packer->block_slots[slot] != 0 &&
           packer->blocks[packer->block_slots[slot] - 1].address != address)
        slot = (slot + 1) & (BLOCK_SLOTS - 1);
    return &packer->block_slots[slot];
}

static inline bool is_site(const struct model_site *site, uint32_t node, uint8_t how)
{
    return site->node == node && site->how == how;
}

static NOINLINE uint32_t find_site(struct packer *packer, uint32_t node, uint8_t how,
                                   unsigned *control)
{
    struct model *model = &packer->model;
    uint32_t slot = home_slot((uint64_t)node << 8 | how, SITE_SLOTS);
    uint32_t row;
    for (; packer->site_slots[slot] != 0; slot = (slot + 1) & (SITE_SLOTS - 1)) {
        row = packer->site_slots[slot] - 1u;
        if (is_site(&packer->sites[row], node, how)) {
            add_varint(packer, COLUMN_SITE, row);
            *control |= SITE_KNOWN << 2;
            return row;
        }
    }
    row = model->n_sites++;
    packer->site_slots[slot] = (uint16_t)(row + 1);
    packer->slot_of_site[row] = (uint16_t)slot;
    packer->sites[row] = (struct model_site){.node = node, .how = how};
    add_byte(packer, COLUMN_NEW, how);
    add_difference(packer, COLUMN_NEW, node, row == 0 ? 0 : packer->sites[row - 1].node);
    *control |= SITE_NEW << 2;
    return row;
}

/* ---- events ------------------------------------------------------------------------------- */

static ALWAYS_INLINE void put_allocation(struct packer *packer, uint32_t node, uint8_t how,
                                         uint64_t address, uint64_t size)
{
    struct model *model = &packer->model;
    const struct model_site *site;
    const uint64_t units = model_units(how, size);
    const uint8_t size_class = model_class(how, units, size);
    unsigned control = CONTROL_ALLOCATION;
    unsigned way;
    uint32_t row = model->next_site[model->context];
    if (likely(row != 0) && likely(is_site(&packer->sites[row - 1], node, how)))
        row--;
    else
        row = find_site(packer, node, how, &control);
    site = &packer->sites[row];
    if (site->used && size == site->size) {
        control |= SIZE_SAME << 6;
    } else if (site->used && size == *model_next_size(model, row, site->size)) {
        control |= SIZE_EXPECTED << 6;
    } else if (site->used && size == site->size + site->step) {
        control |= SIZE_STEP << 6;
    } else {
        control |= SIZE_STORED << 6;
        add_varint(packer, COLUMN_SIZE, size);
    }
    if (address == model_reused(model, size_class)) {
        way = ADDRESS_REUSED;
    } else if (address == model_behind(model, size_class, units)) {
        way = ADDRESS_BEHIND;
    } else if (address == model->freed) {
        way = ADDRESS_FREED;
    } else {
        way = ADDRESS_STORED;
        add_difference(packer, COLUMN_ADDRESS, rotate_right_4(address),
                       rotate_right_4(model_near(model, size_class)));
    }
    add_byte(packer, COLUMN_CONTROL, (uint8_t)(control | way << 4));
    *block_slot(packer, address) = (uint16_t)(model->n_blocks + 1);
    model_allocated(model, packer->sites, packer->blocks, row,
                    &(struct model_allocation){.address = address,
                                               .size = size,
                                               .units = units,
                                               .size_class = size_class,
                                               .address_way = (uint8_t)way});
}

static ALWAYS_INLINE void put_free(struct packer *packer, unsigned control, uint64_t address)
{
    struct model *model = &packer->model;
    uint32_t row = *block_slot(packer, address);
    unsigned way;
    if (row == 0) {
        way = FREED_STEP;
        if (rotate_right_4(address) != model->far + model->far_step) {
            way = FREED_ADDRESS;
            add_difference(packer, COLUMN_FREED, rotate_right_4(address), model->far);
        }
        add_byte(packer, COLUMN_CONTROL, (uint8_t)(control | way << 2));
        model_freed_far(model, address);
        return;
    }
    row--;
    if (model->next_age[model->context] == model->n_blocks - row) {
        way = FREED_EXPECTED;
    } else if (row == model->freed_row + 1) {
        way = FREED_NEXT;
    } else if (row == model->n_blocks - 1) {
        way = FREED_NEWEST;
    } else {
        way = FREED_AGE;
        add_varint(packer, COLUMN_AGE, model->n_blocks - 1 - row);
    }
    add_byte(packer, COLUMN_CONTROL, (uint8_t)(control | way << 2));
    model_freed(model, &packer->blocks[row], row);
}

static void put_other(struct packer *packer, const struct event *event)
{
    add_byte(packer, COLUMN_CONTROL, (uint8_t)(CONTROL_OTHER | event->kind << 2));
    add_difference(packer, COLUMN_FREED, rotate_right_4(event->address), packer->model.far);
    if (event_has_size(event->kind))
        add_varint(packer, COLUMN_SIZE, event->size);
    model_other(&packer->model, event->address);
}

static NOINLINE void put_event(struct packer *packer, const struct event *event)
{
    if (event_is_allocation(event->kind))
        put_allocation(packer, event->node, event_how(event), event->address, event->size);
    else if (event->kind == EVENT_FREE)
        put_free(packer, CONTROL_FREE, event->address);
    else if (event->kind == EVENT_PYMALLOC_FREE)
        put_free(packer, CONTROL_PYMALLOC_FREE, event->address);
    else
        put_other(packer, event);
}

/* Events up to `row` (not included) have no seq of their own: zeros in the column. */
static void put_no_seqs(struct packer *packer, uint32_t row)
{
    struct column *column = &packer->columns[COLUMN_SEQ];
    memset(column->end, 0, row - packer->n_seqs);
    column->end += row - packer->n_seqs;
    packer->n_seqs = row;
}

/* Written as the difference plus 1. */
static void put_seq(struct packer *packer, uint32_t row, uint64_t seq)
{
    put_no_seqs(packer, row);
    add_varint(packer, COLUMN_SEQ, seq - packer->seq + 1);
    packer->seq = seq;
    packer->n_seqs++;
}

/* ---- a block ------------------------------------------------------------------------------ */

/* The first seq among the events, 0 when none has one: events before a second thread have none. */
static uint64_t find_first_seq(const uint64_t *words, size_t n_words)
{
    struct event event;
    unsigned n;
    for (size_t at = 0; (n = raw_event_get(words + at, n_words - at, &event)) != 0; at += n) {
        if (event.seq != 0)
            return event.seq;
    }
    return 0;
}

static void gather(struct packer *packer, struct packed *packed)
{
    uint8_t *at = packer->payload;
    for (unsigned i = 0; i < N_COLUMNS; i++) {
        struct put to = put_over(at, VARINT_MAX_BYTES);
        put_varint(&to, (uint64_t)(packer->columns[i].end - packer->columns[i].start));
        at = to.p;
    }
    for (unsigned i = 0; i < N_COLUMNS; i++) {
        size_t n = (size_t)(packer->columns[i].end - packer->columns[i].start);
        memcpy(at, packer->columns[i].start, n);
        at += n;
    }
    packed->payload = packer->payload;
    packed->n_bytes = (size_t)(at - packer->payload);
}

/*
 * The common events, without a detour over struct event: no seq, no wide size. Returns the words
 * taken, 0 when it is another one.
 */
static ALWAYS_INLINE unsigned put_common(struct packer *packer, const uint64_t *words,
                                         size_t n_words)
{
    const uint64_t word = words[0];
    const uint8_t how = (uint8_t)(word >> 8);
    if ((word & 0xff) != 0 || (how & 0x80) != 0)
        return 0;
    switch (how & RAW_KIND_MASK) {
    case EVENT_FREE:
        put_free(packer, CONTROL_FREE, word >> 16);
        return 1;
    case EVENT_PYMALLOC_FREE:
        put_free(packer, CONTROL_PYMALLOC_FREE, word >> 16);
        return 1;
    case EVENT_MALLOC:
    case EVENT_CALLOC:
    case EVENT_REALLOC:
    case EVENT_PYMALLOC_MALLOC:
    case EVENT_PYMALLOC_CALLOC:
    case EVENT_PYMALLOC_REALLOC:
        if (n_words < 2)
            return 0;
        put_allocation(packer, (uint32_t)(words[1] >> 32), how, word >> 16, (uint32_t)words[1]);
        return 2;
    default:
        return 0;
    }
}

void pack_events(struct packer *packer, const uint64_t *words, size_t *n_words, bool may_have_seqs,
                 struct packed *packed)
{
    struct event event;
    size_t at = 0;
    uint32_t n_events = 0;
    unsigned n;
    packed->first_seq = may_have_seqs ? find_first_seq(words, *n_words) : 0;
    start(packer, packed->first_seq);
    for (; n_events < PACK_EVENTS && packer->model.n_blocks < MOST_BLOCKS && at < *n_words;
         at += n, n_events++) {
        if (likely((n = put_common(packer, words + at, *n_words - at)) != 0))
            continue;
        n = raw_event_get(words + at, *n_words - at, &event);
        if (n == 0)
            break;
        put_event(packer, &event);
        if (event.seq != 0)
            put_seq(packer, n_events, event.seq);
    }
    if (packed->first_seq != 0)
        put_no_seqs(packer, n_events);
    *n_words = at;
    packed->n_events = n_events;
    packed->last_seq = packer->seq;
    gather(packer, packed);
}
