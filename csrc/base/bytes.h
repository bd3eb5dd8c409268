/*
 * bytes.h - put and get of little-endian and variable-length integers over a bounded range.
 *
 * A put never writes past `end` and a get never reads past it: both latch `bad` instead and then
 * do nothing (a get returns 0), so that a caller checks once, after a whole record.
 */
#ifndef PROFTRACE_BASE_BYTES_H
#define PROFTRACE_BASE_BYTES_H

#include "base/compiler.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define VARINT_MAX_BYTES 10

struct put {
    uint8_t *p;
    uint8_t *end;
    bool bad;
};

struct get {
    const uint8_t *p;
    const uint8_t *end;
    bool bad;
};

static inline struct put put_over(void *start, size_t n_bytes)
{
    return (struct put){(uint8_t *)start, (uint8_t *)start + n_bytes, false};
}

static inline struct get get_over(const void *start, size_t n_bytes)
{
    return (struct get){(const uint8_t *)start, (const uint8_t *)start + n_bytes, false};
}

static inline bool put_room(struct put *to, size_t n_bytes)
{
    if (unlikely(to->bad || (size_t)(to->end - to->p) < n_bytes)) {
        to->bad = true;
        return false;
    }
    return true;
}

static inline bool get_room(struct get *from, size_t n_bytes)
{
    if (unlikely(from->bad || (size_t)(from->end - from->p) < n_bytes)) {
        from->bad = true;
        return false;
    }
    return true;
}

static inline void put_bytes(struct put *to, const void *bytes, size_t n_bytes)
{
    if (put_room(to, n_bytes) && n_bytes != 0) {
        memcpy(to->p, bytes, n_bytes);
        to->p += n_bytes;
    }
}

/* Returns a pointer into the range (borrowed), or NULL when fewer bytes are left. */
static inline const uint8_t *get_bytes(struct get *from, size_t n_bytes)
{
    const uint8_t *at = from->p;
    if (!get_room(from, n_bytes))
        return NULL;
    from->p += n_bytes;
    return at;
}

static inline size_t get_left(const struct get *from)
{
    return from->bad ? 0 : (size_t)(from->end - from->p);
}

/* The fixed-width integers: little-endian whatever the machine. */
static inline void put_uint(struct put *to, uint64_t value, unsigned n_bytes)
{
    if (!put_room(to, n_bytes))
        return;
    for (unsigned i = 0; i < n_bytes; i++)
        to->p[i] = (uint8_t)(value >> (8 * i));
    to->p += n_bytes;
}

static inline uint64_t get_uint(struct get *from, unsigned n_bytes)
{
    uint64_t value = 0;
    if (!get_room(from, n_bytes))
        return 0;
    for (unsigned i = 0; i < n_bytes; i++)
        value |= (uint64_t)from->p[i] << (8 * i);
    from->p += n_bytes;
    return value;
}

static inline void put_u8(struct put *to, uint8_t value)
{
    put_uint(to, value, 1);
}
static inline void put_u16(struct put *to, uint16_t value)
{
    put_uint(to, value, 2);
}
static inline void put_u32(struct put *to, uint32_t value)
{
    put_uint(to, value, 4);
}
static inline void put_u64(struct put *to, uint64_t value)
{
    put_uint(to, value, 8);
}
static inline uint8_t get_u8(struct get *from)
{
    return (uint8_t)get_uint(from, 1);
}
static inline uint16_t get_u16(struct get *from)
{
    return (uint16_t)get_uint(from, 2);
}
static inline uint32_t get_u32(struct get *from)
{
    return (uint32_t)get_uint(from, 4);
}
static inline uint64_t get_u64(struct get *from)
{
    return get_uint(from, 8);
}

/* LEB128: seven bits a byte, least significant first, the high bit says "more". */
static inline void put_varint(struct put *to, uint64_t value)
{
    uint8_t bytes[VARINT_MAX_BYTES];
    unsigned n = 0;
    while (value >= 0x80) {
        bytes[n++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    bytes[n++] = (uint8_t)value;
    put_bytes(to, bytes, n);
}

static inline uint64_t get_varint(struct get *from)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte;
        if (!get_room(from, 1))
            return 0;
        byte = *from->p++;
        if (shift == 63 && byte > 1)
            break; /* would not fit in 64 bits */
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
    from->bad = true;
    return 0;
}

/* Signed values: 0, -1, 1, -2, 2 ... become 0, 1, 2, 3, 4 ... */
static inline uint64_t zigzag(int64_t value)
{
    return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
}

static inline int64_t unzigzag(uint64_t value)
{
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

#endif
