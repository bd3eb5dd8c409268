/* unpack.c - the reading side of pack.h: what it is given may be anything. */
#include "format/pack.h"

#include "format/pack_model.h"

struct unpacker {
    struct model model;
    struct get columns[N_COLUMNS];
    struct model_site *sites;
    struct model_block *blocks;
    uint64_t seq;
    bool has_seqs;
    bool bad;
};

size_t unpack_scratch_bytes(uint32_t n_events)
{
    return sizeof(struct unpacker) +
           (n_events + 1ul) * (sizeof(struct model_site) + sizeof(struct model_block));
}

static uint32_t get_site(struct unpacker *unpacker, unsigned way)
{
    struct model *model = &unpacker->model;
    struct model_site *site;
    uint64_t row;
    switch (way) {
    case SITE_EXPECTED:
        row = model->next_site[model->context];
        if (row != 0)
            return (uint32_t)row - 1;
        break;
    case SITE_KNOWN:
        row = get_varint(&unpacker->columns[COLUMN_SITE]);
        if (row < model->n_sites)
            return (uint32_t)row;
        break;
    case SITE_NEW:
        row = model->n_sites;
        site = &unpacker->sites[row];
        *site = (struct model_site){.how = get_u8(&unpacker->columns[COLUMN_NEW])};
        site->node = (row == 0 ? 0 : site[-1].node) +
                     (uint32_t)unzigzag(get_varint(&unpacker->columns[COLUMN_NEW]));
        if (!event_is_allocation(site->how & RAW_KIND_MASK) || site->how > RAW_HOW_MASK)
            break;
        model->n_sites++;
        return (uint32_t)row;
    default:
        break;
    }
    unpacker->bad = true;
    return 0;
}

static uint64_t get_size(struct unpacker *unpacker, uint32_t row, unsigned way)
{
    const struct model_site *site = &unpacker->sites[row];
    if (way == SIZE_STORED)
        return get_varint(&unpacker->columns[COLUMN_SIZE]);
    if (!site->used)
        unpacker->bad = true;
    return way == SIZE_SAME   ? site->size
           : way == SIZE_STEP ? site->size + site->step
                              : *model_next_size(&unpacker->model, row, site->size);
}

static uint64_t get_address(struct unpacker *unpacker, const struct model_allocation *made)
{
    struct model *model = &unpacker->model;
    switch (made->address_way) {
    case ADDRESS_REUSED:
        return model_reused(model, made->size_class);
    case ADDRESS_BEHIND:
        return model_behind(model, made->size_class, made->units);
    case ADDRESS_FREED:
        return model->freed;
    default:
        return rotate_left_4(rotate_right_4(model_near(model, made->size_class)) +
                             (uint64_t)unzigzag(get_varint(&unpacker->columns[COLUMN_ADDRESS])));
    }
}

static void get_allocation(struct unpacker *unpacker, unsigned control, struct event *event)
{
    struct model_allocation made = {.address_way = control >> 4 & 3};
    uint32_t row = get_site(unpacker, control >> 2 & 3);
    uint8_t how;
    if (unpacker->bad)
        return;
    how = unpacker->sites[row].how;
    event->node = unpacker->sites[row].node;
    event->kind = how & RAW_KIND_MASK;
    event->domain = how >> RAW_DOMAIN_SHIFT;
    made.size = event->size = get_size(unpacker, row, control >> 6);
    made.units = model_units(how, made.size);
    made.size_class = model_class(how, made.units, made.size);
    made.address = event->address = get_address(unpacker, &made);
    model_allocated(&unpacker->model, unpacker->sites, unpacker->blocks, row, &made);
}

static uint64_t get_far(struct unpacker *unpacker)
{
    return rotate_left_4(unpacker->model.far +
                         (uint64_t)unzigzag(get_varint(&unpacker->columns[COLUMN_FREED])));
}

/* Which block is freed; n_blocks and more: none. */
static uint64_t get_freed_row(struct unpacker *unpacker, unsigned way)
{
    const struct model *model = &unpacker->model;
    switch (way) {
    case FREED_EXPECTED:
        return (uint64_t)model->n_blocks - model->next_age[model->context];
    case FREED_NEXT:
        return model->freed_row + 1ull;
    case FREED_NEWEST:
        return model->n_blocks - 1ull;
    case FREED_AGE:
        return model->n_blocks - 1ull - get_varint(&unpacker->columns[COLUMN_AGE]);
    default:
        return UINT64_MAX;
    }
}

static void get_free(struct unpacker *unpacker, unsigned control, struct event *event)
{
    struct model *model = &unpacker->model;
    uint64_t row;
    event->kind = (control & 3) == CONTROL_FREE ? EVENT_FREE : EVENT_PYMALLOC_FREE;
    if (control >> 2 == FREED_ADDRESS || control >> 2 == FREED_STEP) {
        event->address = control >> 2 == FREED_STEP ? rotate_left_4(model->far + model->far_step)
                                                    : get_far(unpacker);
        model_freed_far(model, event->address);
        return;
    }
    row = get_freed_row(unpacker, control >> 2);
    if (row >= model->n_blocks) {
        unpacker->bad = true;
        return;
    }
    event->address = unpacker->blocks[row].address;
    model_freed(model, &unpacker->blocks[row], (uint32_t)row);
}

static void get_other(struct unpacker *unpacker, unsigned control, struct event *event)
{
    event->kind = (uint8_t)(control >> 2);
    if (!event_kind_is_known(event->kind) || event_is_allocation(event->kind)) {
        unpacker->bad = true;
        return;
    }
    event->address = get_far(unpacker);
    if (event_has_size(event->kind))
        event->size = get_varint(&unpacker->columns[COLUMN_SIZE]);
    model_other(&unpacker->model, event->address);
}

static void get_event(struct unpacker *unpacker, struct event *event)
{
    unsigned control = get_u8(&unpacker->columns[COLUMN_CONTROL]);
    uint64_t step;
    *event = (struct event){0};
    switch (control & 3) {
    case CONTROL_ALLOCATION:
        get_allocation(unpacker, control, event);
        break;
    case CONTROL_OTHER:
        get_other(unpacker, control, event);
        break;
    default:
        get_free(unpacker, control, event);
        break;
    }
    if (!unpacker->has_seqs)
        return;
    step = get_varint(&unpacker->columns[COLUMN_SEQ]);
    if (step != 0)
        event->seq = unpacker->seq += step - 1;
}

/* Cuts the payload into its columns. */
static bool open_columns(struct unpacker *unpacker, const uint8_t *payload, size_t n_bytes)
{
    struct get from = get_over(payload, n_bytes);
    uint64_t lengths[N_COLUMNS];
    for (unsigned i = 0; i < N_COLUMNS; i++)
        lengths[i] = get_varint(&from);
    for (unsigned i = 0; i < N_COLUMNS; i++) {
        if (lengths[i] > get_left(&from))
            return false;
        unpacker->columns[i] = get_over(from.p, lengths[i]);
        from.p += lengths[i];
    }
    unpacker->has_seqs = lengths[COLUMN_SEQ] != 0;
    return !from.bad && get_left(&from) == 0;
}

/* Every byte must have been used, and none missed. */
static bool columns_are_used_up(const struct unpacker *unpacker)
{
    for (unsigned i = 0; i < N_COLUMNS; i++) {
        if (unpacker->columns[i].bad || get_left(&unpacker->columns[i]) != 0)
            return false;
    }
    return true;
}

size_t unpack_events(const uint8_t *payload, size_t n_bytes, uint32_t n_events, uint64_t first_seq,
                     uint64_t *words, void *scratch)
{
    struct unpacker *unpacker = scratch;
    struct event event;
    size_t n_words = 0;
    if (n_events == 0 || n_events > PACK_MOST_EVENTS)
        return 0;
    model_clear(&unpacker->model);
    unpacker->sites = (struct model_site *)(unpacker + 1);
    unpacker->blocks = (struct model_block *)(unpacker->sites + n_events + 1);
    unpacker->seq = first_seq;
    unpacker->bad = false;
    if (!open_columns(unpacker, payload, n_bytes))
        return 0;
    for (uint32_t i = 0; i < n_events; i++) {
        get_event(unpacker, &event);
        if (unpacker->bad)
            return 0;
        n_words += raw_event_put(words + n_words, &event);
    }
    return columns_are_used_up(unpacker) ? n_words : 0;
}
