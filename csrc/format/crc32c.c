/*
 * crc32c.c - CRC-32C by eight table look-ups for eight bytes ("slicing by 8", Kounavis and
 * Berry 2005). The tables are filled when the object is loaded.
 */
#include "format/block.h"

#define POLYNOMIAL_REFLECTED 0x82f63b78u

static uint32_t tables[8][256];

/* A constructor: the first crc may be wanted inside malloc, on any thread. */
__attribute__((constructor(101))) static void crc32c_fill_tables(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ POLYNOMIAL_REFLECTED : crc >> 1;
        tables[0][byte] = crc;
    }
    for (int slice = 1; slice < 8; slice++)
        for (int byte = 0; byte < 256; byte++)
            tables[slice][byte] =
                tables[slice - 1][byte] >> 8 ^ tables[0][tables[slice - 1][byte] & 0xff];
}

uint32_t crc32c(uint32_t crc, const void *bytes, size_t n_bytes)
{
    const uint8_t *p = bytes;
    crc = ~crc;
    for (; n_bytes >= 8; n_bytes -= 8, p += 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        word ^= crc;
        crc = tables[7][word & 0xff] ^ tables[6][word >> 8 & 0xff] ^ tables[5][word >> 16 & 0xff] ^
              tables[4][word >> 24 & 0xff] ^ tables[3][word >> 32 & 0xff] ^
              tables[2][word >> 40 & 0xff] ^ tables[1][word >> 48 & 0xff] ^ tables[0][word >> 56];
    }
    for (; n_bytes != 0; n_bytes--, p++)
        crc = crc >> 8 ^ tables[0][(crc ^ *p) & 0xff];
    return ~crc;
}
