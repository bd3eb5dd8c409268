/*
 * huffman.h - bytes in codes of 1 to 11 bits: what is left when LZ4 has taken the repeats out.
 *
 *   lengths of the codes of bytes 0-255, in nibbles, the low one first: 0 = the byte is not there,
 *   1-11 its bits, 12-15 followed by another nibble n: (nibble - 12) * 16 + n + 2 bytes that are
 *   not there. The last byte's other nibble is 0. Then the codes, each from its upper bit, in bytes
 *   that are filled from theirs; the rest of the last one is 0.
 *
 * Codes count up: the shorter come first, those of one length in the order of their bytes.
 */
#ifndef PROFTRACE_FORMAT_HUFFMAN_H
#define PROFTRACE_FORMAT_HUFFMAN_H

#include "base/bytes.h"
#include "base/compiler.h"

#define HUFFMAN_MOST_BITS 11
#define HUFFMAN_MOST_BYTES \
    (1u << 20) /* in one piece: counts fit 32 bits whatever is done to them */

/*
 * Writes n bytes; returns what they take, 0 when that is not less than `room`. `workspace` is
 * huffman_work_bytes() bytes of any content.
 */
size_t huffman_work_bytes(void);
NODISCARD size_t huffman_put(const uint8_t *bytes, size_t n, uint8_t *out, size_t room,
                             void *workspace);

/* Reads n bytes, which have to take exactly all of n_in. -1: malformed. */
NODISCARD int huffman_get(const uint8_t *in, size_t n_in, uint8_t *out, size_t n);

#endif
