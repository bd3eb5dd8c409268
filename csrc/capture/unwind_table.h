/*
 * unwind_table.h - the call frame information of a module: which entry an address has, and the
 * numbers that it is written in. Only for unwind_rules.c.
 *
 * The tables are the program's own, mapped read-only by the loader, and the exceptions of C++ rely
 * on them: they are read without checking that they lie within their section.
 */
#ifndef PROFTRACE_CAPTURE_UNWIND_TABLE_H
#define PROFTRACE_CAPTURE_UNWIND_TABLE_H

#include "base/compiler.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t table_fixed(const uint8_t **at, unsigned n_bytes)
{
    uint64_t value = 0;
    memcpy(&value, *at, n_bytes); /* little-endian, as the processor is */
    *at += n_bytes;
    return value;
}

static inline uint64_t table_uleb(const uint8_t **at)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
        byte = *(*at)++;
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    return value;
}

static inline int64_t table_sleb(const uint8_t **at)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
        byte = *(*at)++;
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    if (shift < 64 && (byte & 0x40))
        value |= ~0ull << shift;
    return (int64_t)value;
}

/* What is common to functions: a CIE. */
struct table_common {
    uint64_t code_step;
    int64_t data_step;
    uint8_t pointer_encoding;
    bool is_signal_frame;
    bool has_augmentation; /* descriptions carry a block that can be skipped */
    const uint8_t *program, *end;
};

/* A function, or a part of one: an FDE. */
struct table_procedure {
    struct table_common common;
    uintptr_t start, end;
    const uint8_t *program, *program_end;
};

/* Looks up the sorted table that the linker puts in front of .eh_frame. */
bool table_find(const uint8_t *header, uintptr_t at, struct table_procedure *found);

#endif
