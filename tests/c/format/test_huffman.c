/* Codes of few bits for bytes that are frequent: what is put is what is got, and nothing else is.
 */
#include "format/huffman.h"

#include "check.h"

#include <stdlib.h>
#include <string.h>

#define MOST 70000

static uint8_t bytes[MOST], packed[MOST + 1], back[MOST + 1];
static void *work;

static uint64_t random_below(uint64_t below)
{
    static uint64_t state = 7;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
}

static size_t check_both_ways(size_t n)
{
    size_t n_packed = huffman_put(bytes, n, packed, MOST, work);
    CHECK(n_packed != 0 && n_packed < MOST);
    back[n] = 0xa5;
    CHECK_EQ(huffman_get(packed, n_packed, back, n), 0);
    CHECK_EQ(back[n], 0xa5);
    CHECK(memcmp(bytes, back, n) == 0);
    /* Neither more nor fewer of them, and not in fewer or more bytes. */
    CHECK_EQ(huffman_get(packed, n_packed - 1, back, n), -1);
    if (n > 8)
        CHECK_EQ(huffman_get(packed, n_packed, back, n - 8), -1);
    packed[n_packed] = 0;
    CHECK_EQ(huffman_get(packed, n_packed + 1, back, n), -1);
    return n_packed;
}

static void one_byte_again_and_again_takes_a_bit(void)
{
    memset(bytes, 'x', 8000);
    CHECK(check_both_ways(8000) < 1000 + 16);
    CHECK(check_both_ways(1) < 16);
}

static void all_bytes_alike_take_eight_bits(void)
{
    for (size_t i = 0; i < 25600; i++)
        bytes[i] = (uint8_t)(i * 7);
    CHECK_EQ(check_both_ways(25600), 25600 + 128);
}

/* Each half as frequent as the one before: the codes would be longer than they may be. */
static void no_code_is_too_long(void)
{
    size_t n = 0;
    for (unsigned byte = 0; byte < 16; byte++) {
        memset(bytes + n, (int)(byte * 16 + 3), (size_t)1 << (15 - byte));
        n += (size_t)1 << (15 - byte);
    }
    /* Two bits a byte and a little, of a distribution that has 1.99997 of them. */
    CHECK(check_both_ways(n) < n / 4 + 100);
}

static void any_bytes_come_back(void)
{
    for (int round = 0; round < 300; round++) {
        const size_t n = 1 + random_below(round % 10 == 0 ? MOST - 2000 : 300);
        const uint64_t below = 1 + random_below(256), again = random_below(4);
        for (size_t i = 0; i < n; i++)
            bytes[i] = (uint8_t)(random_below(4) < again ? random_below(3) : random_below(below));
        (void)check_both_ways(n);
    }
}

static void what_gets_no_smaller_is_left_alone(void)
{
    for (size_t i = 0; i < 256; i++)
        bytes[i] = (uint8_t)i;
    CHECK_EQ(huffman_put(bytes, 256, packed, 256, work), 0);
    memset(bytes, 1, 100);
    packed[20] = 0xa5;
    size_t n = huffman_put(bytes, 100, packed, MOST, work);
    CHECK_EQ(huffman_put(bytes, 100, packed, n, work), 0);
    CHECK_EQ(huffman_put(bytes, 100, packed, n + 1, work), n);
    CHECK_EQ(packed[20], 0xa5);
    CHECK_EQ(huffman_put(bytes, 0, packed, MOST, work), 0);
}

/* Cut or changed in any bit: refused, or other bytes; never a read or write outside. */
static void malformed_input_is_refused_or_harmless(void)
{
    size_t n;
    for (size_t i = 0; i < 400; i++)
        bytes[i] = (uint8_t)(random_below(3) ? random_below(5) : random_below(200));
    n = huffman_put(bytes, 400, packed, MOST, work);
    CHECK(n != 0);
    for (size_t i = 0; i <= n * 8; i++) {
        const size_t length = i < n ? i : n;
        uint8_t *copy = malloc(length + 1), *out = malloc(400);
        CHECK(copy != NULL && out != NULL);
        memcpy(copy, packed, length);
        copy = realloc(copy, length == 0 ? 1 : length);
        CHECK(copy != NULL);
        if (length == n && i < n * 8)
            copy[i / 8] ^= (uint8_t)(1u << i % 8);
        if (huffman_get(copy, length, out, 400) == 0)
            CHECK_EQ(length, n);
        free(copy);
        free(out);
    }
}

int main(void)
{
    work = malloc(huffman_work_bytes());
    CHECK(work != NULL);
    memset(work, 0xa5, huffman_work_bytes());
    one_byte_again_and_again_takes_a_bit();
    all_bytes_alike_take_eight_bits();
    no_code_is_too_long();
    any_bytes_come_back();
    what_gets_no_smaller_is_left_alone();
    malformed_input_is_refused_or_harmless();
    free(work);
    return 0;
}
