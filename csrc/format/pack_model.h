/*
 * pack_model.h - the model that both sides of pack.h keep: what it expects, and how it learns.
 *
 * Everything here is part of the format. Tables are small, so that clearing them for a block costs
 * little and they stay in the first cache.
 */
#ifndef PROFTRACE_FORMAT_PACK_MODEL_H
#define PROFTRACE_FORMAT_PACK_MODEL_H

#include "format/record.h"

#define MODEL_CONTEXTS 2048u /* powers of two */
#define MODEL_SIZES 1024u
#define MODEL_CLASSES 256u
#define MODEL_DEPTH 8u
#define MODEL_SMALL 64u /* classes of pools */

/* Control byte: bits 0-1 what it is. */
enum { CONTROL_ALLOCATION, CONTROL_FREE, CONTROL_PYMALLOC_FREE, CONTROL_OTHER };
/* An allocation: bits 2-3 its site, 4-5 its address, 6-7 its size. */
enum { SITE_EXPECTED, SITE_KNOWN, SITE_NEW };
enum { ADDRESS_REUSED, ADDRESS_BEHIND, ADDRESS_FREED, ADDRESS_STORED };
enum { SIZE_SAME, SIZE_STEP, SIZE_EXPECTED, SIZE_STORED };
/* A free: bits 2-4 which block. All else: bits 2-7 the kind. */
enum { FREED_EXPECTED, FREED_NEXT, FREED_NEWEST, FREED_AGE, FREED_ADDRESS, FREED_STEP };

/* A stack and a way of allocating. */
struct model_site {
    uint32_t node;
    uint8_t how;   /* kind and domain, as in a raw event */
    bool used;     /* it has a size */
    uint64_t size; /* of its last block */
    uint64_t step; /* from the one before, modulo 2^64 */
};

/* A block that was allocated in this file block. Rows count up from 0. */
struct model_block {
    uint64_t address;
    uint16_t site;
    uint8_t size_class;
};

struct model {
    uint64_t previous; /* address of the last allocation */
    uint64_t behind;   /* where the heap would put a block behind it */
    uint64_t freed;    /* the last address that was freed */
    uint64_t far;      /* the last one of a block that this file block has not seen, rotated */
    uint64_t far_step; /* from the one before */
    uint32_t freed_row;
    uint32_t context; /* what the last event was, as an index */
    uint32_t n_sites;
    uint32_t n_blocks;
    uint16_t next_site[MODEL_CONTEXTS]; /* row + 1; 0 = not known */
    uint16_t next_age[MODEL_CONTEXTS];  /* age + 1 */
    uint32_t next_size[MODEL_SIZES];
    uint64_t last_small[MODEL_SMALL]; /* pools: the last address of a class */
    uint8_t n_free[MODEL_CLASSES];    /* freed blocks of a size, the latest on top */
    uint64_t free[MODEL_CLASSES][MODEL_DEPTH];
};

static inline void model_clear(struct model *model)
{
    memset(model, 0, offsetof(struct model, free));
}

/* Four bits less, kept on top: blocks are 16-byte aligned, so differences are small numbers. */
static inline uint64_t rotate_right_4(uint64_t value)
{
    return value >> 4 | value << 60;
}

static inline uint64_t rotate_left_4(uint64_t value)
{
    return value << 4 | value >> 60;
}

/* Whether pymalloc keeps blocks like this in its pools. */
static inline bool model_is_small(uint8_t how, uint64_t size)
{
    uint8_t kind = how & RAW_KIND_MASK;
    return kind >= EVENT_PYMALLOC_MALLOC && kind <= EVENT_PYMALLOC_REALLOC &&
           how >> RAW_DOMAIN_SHIFT != DOMAIN_RAW && size <= 512;
}

/* Bytes that a block takes in the heap, in units of 16: pools have no header, chunks have 8. */
static inline uint64_t model_units(uint8_t how, uint64_t size)
{
    uint64_t units = model_is_small(how, size) ? (size + 15) / 16 : (size + 23) / 16;
    return units < 2 && !model_is_small(how, size) ? 2 : units;
}

static inline uint8_t model_class(uint8_t how, uint64_t units, uint64_t size)
{
    uint32_t low = units < 64 ? (uint32_t)units : 64 + ((uint32_t)units * 0x9e3779b1u >> 26);
    return (uint8_t)(low + (model_is_small(how, size) ? 128 : 0));
}

static inline uint32_t model_context(uint32_t site, unsigned what)
{
    return (site * 4 + what) * 0x9e3779b1u >> (32 - 11);
}

static inline uint32_t *model_next_size(struct model *model, uint32_t site, uint64_t size)
{
    uint32_t hash = (uint32_t)size * 0x9e3779b1u ^ site * 0x85ebca6bu;
    return &model->next_size[hash >> (32 - 10)];
}

/* What the address of the next block of a class is near to. Each class has pools of its own. */
static inline uint64_t model_near(const struct model *model, uint8_t size_class)
{
    uint64_t last = size_class & 128 ? model->last_small[size_class % MODEL_SMALL] : 0;
    return last != 0 ? last : model->previous;
}

/* Where a block is if it lies behind the one before. */
static inline uint64_t model_behind(const struct model *model, uint8_t size_class, uint64_t units)
{
    return size_class & 128 ? model->last_small[size_class % MODEL_SMALL] + units * 16
                            : model->behind;
}

/* The block of the class that was freed last, 0 = none. */
static inline uint64_t model_reused(const struct model *model, uint8_t size_class)
{
    unsigned n = model->n_free[size_class];
    return n == 0 ? 0 : model->free[size_class][(n - 1) % MODEL_DEPTH];
}

struct model_allocation {
    uint64_t address;
    uint64_t size;
    uint64_t units;
    uint8_t size_class;
    uint8_t address_way;
};

/* Takes note of an allocation of a site: its block gets the next row. */
static inline void model_allocated(struct model *model, struct model_site *sites,
                                   struct model_block *blocks, uint32_t row,
                                   const struct model_allocation *made)
{
    struct model_site *site = &sites[row];
    const uint64_t address = made->address, size = made->size;
    const uint8_t size_class = made->size_class;
    model->next_site[model->context] = (uint16_t)(row + 1);
    if (site->used) {
        *model_next_size(model, row, site->size) = (uint32_t)size;
        site->step = size - site->size;
    }
    site->used = true;
    site->size = size;
    if (model->n_free[size_class] != 0 &&
        (made->address_way == ADDRESS_REUSED || made->address_way == ADDRESS_STORED))
        model->n_free[size_class]--;
    model->previous = address;
    if (size_class & 128)
        model->last_small[size_class % MODEL_SMALL] = address;
    else
        model->behind = address + made->units * 16;
    model->context = model_context(row, 1);
    blocks[model->n_blocks++] = (struct model_block){address, (uint16_t)row, size_class};
}

/* A free of a block that this file block has seen. */
static inline void model_freed(struct model *model, const struct model_block *block, uint32_t row)
{
    unsigned n = model->n_free[block->size_class];
    model->free[block->size_class][n % MODEL_DEPTH] = block->address;
    /* A full stack forgets its oldest: the count stays in 8 .. 15, its remainder goes round. */
    model->n_free[block->size_class] = (uint8_t)(n + 1 == 2 * MODEL_DEPTH ? MODEL_DEPTH : n + 1);
    model->next_age[model->context] = (uint16_t)(model->n_blocks - row);
    model->freed_row = row;
    model->freed = block->address;
    model->context = model_context(block->site, 2);
}

/* A free of any other address. */
static inline void model_freed_far(struct model *model, uint64_t address)
{
    model->far_step = rotate_right_4(address) - model->far;
    model->far = rotate_right_4(address);
    model->freed = address;
    model->context = model_context(0, 3);
}

static inline void model_other(struct model *model, uint64_t address)
{
    model->far = rotate_right_4(address);
    model->context = model_context(0, 0);
}

#endif
