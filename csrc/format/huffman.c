/* huffman.c - see huffman.h. */
#include "format/huffman.h"

#define SYMBOLS 256
#define LENGTHS_NIBBLES (SYMBOLS + 2) /* more than the lengths ever take */
#define RUN_NIBBLE 12u
#define LONGEST_RUN 65u

/* ---- lengths ------------------------------------------------------------------------------ */

struct symbol {
    uint32_t count;
    uint16_t byte;
};

/* Not on the stack, which may be that of a thread of the program. */
struct huffman_work {
    uint32_t counts[SYMBOLS];
    struct symbol symbols[SYMBOLS];
    uint32_t weight[2 * SYMBOLS]; /* of the tree: leaves, then joints */
    uint16_t parent[2 * SYMBOLS];
    uint8_t depth[2 * SYMBOLS];
    uint8_t lengths[SYMBOLS];
    uint16_t codes[SYMBOLS];
    uint8_t head[LENGTHS_NIBBLES];
};

size_t huffman_work_bytes(void)
{
    return sizeof(struct huffman_work);
}

/* The bytes that occur, the rarest first; returns how many. */
static unsigned sort_symbols(struct huffman_work *work)
{
    struct symbol *symbols = work->symbols;
    unsigned n = 0;
    for (unsigned byte = 0; byte < SYMBOLS; byte++) {
        unsigned at = n;
        if (work->counts[byte] == 0)
            continue;
        for (; at > 0 && symbols[at - 1].count > work->counts[byte]; at--)
            symbols[at] = symbols[at - 1];
        symbols[at] = (struct symbol){work->counts[byte], (uint16_t)byte};
        n++;
    }
    return n;
}

/*
 * The depth of each leaf in the tree that joins the two rarest again and again: leaves come from
 * the sorted symbols, joints in the order in which they were made. Returns the greatest depth.
 */
static unsigned find_depths(struct huffman_work *work, unsigned n)
{
    unsigned leaf = 0, joint = n, made = n, deepest = 0;
    for (unsigned i = 0; i < n; i++)
        work->weight[i] = work->symbols[i].count;
    for (; made < 2 * n - 1; made++) {
        work->weight[made] = 0;
        for (int side = 0; side < 2; side++) {
            bool is_leaf = leaf < n && (joint >= made || work->weight[leaf] <= work->weight[joint]);
            unsigned taken = is_leaf ? leaf++ : joint++;
            work->weight[made] += work->weight[taken];
            work->parent[taken] = (uint16_t)made;
        }
    }
    work->depth[made - 1] = 0;
    for (unsigned i = made - 1; i-- > 0;)
        work->depth[i] = (uint8_t)(work->depth[work->parent[i]] + 1);
    for (unsigned i = 0; i < n; i++)
        deepest = work->depth[i] > deepest ? work->depth[i] : deepest;
    return deepest;
}

/* Flatter counts make a flatter tree, until no code is too long. */
static void find_lengths(struct huffman_work *work)
{
    const unsigned n = sort_symbols(work);
    memset(work->lengths, 0, sizeof work->lengths);
    while (find_depths(work, n) > HUFFMAN_MOST_BITS) {
        for (unsigned i = 0; i < n; i++)
            work->symbols[i].count = work->symbols[i].count / 2 + 1;
    }
    for (unsigned i = 0; i < n; i++)
        work->lengths[work->symbols[i].byte] = n == 1 ? 1 : work->depth[i];
}

/* The first code of each length; false when these lengths are no code. */
static bool first_codes(const uint8_t lengths[SYMBOLS], uint32_t first[HUFFMAN_MOST_BITS + 1])
{
    uint32_t n_of[HUFFMAN_MOST_BITS + 1] = {0};
    uint32_t code = 0;
    for (unsigned byte = 0; byte < SYMBOLS; byte++)
        n_of[lengths[byte]]++;
    n_of[0] = 0;
    for (unsigned bits = 1; bits <= HUFFMAN_MOST_BITS; bits++) {
        code = (code + n_of[bits - 1]) << 1;
        first[bits] = code;
        if (code + n_of[bits] > 1u << bits)
            return false;
    }
    return true;
}

/* ---- putting ------------------------------------------------------------------------------ */

static size_t put_lengths(const uint8_t lengths[SYMBOLS], uint8_t *out)
{
    size_t n = 0; /* nibbles */
    for (unsigned byte = 0; byte < SYMBOLS;) {
        unsigned run = 0;
        while (run < LONGEST_RUN && byte + run < SYMBOLS && lengths[byte + run] == 0)
            run++;
        if (run < 2) {
            out[n++] = lengths[byte++];
            continue;
        }
        out[n++] = (uint8_t)(RUN_NIBBLE + (run - 2) / 16);
        out[n++] = (uint8_t)((run - 2) % 16);
        byte += run;
    }
    out[n] = 0;
    for (size_t i = 0; i < n; i += 2)
        out[i / 2] = (uint8_t)(out[i] | out[i + 1] << 4);
    return (n + 1) / 2;
}

static void count_bytes(const uint8_t *bytes, size_t n, uint32_t counts[SYMBOLS])
{
    memset(counts, 0, SYMBOLS * sizeof counts[0]);
    for (size_t i = 0; i < n; i++)
        counts[bytes[i]]++;
}

/* Bytes that the codes take. */
static size_t codes_bytes(const uint32_t counts[SYMBOLS], const uint8_t lengths[SYMBOLS])
{
    uint64_t bits = 0;
    for (unsigned byte = 0; byte < SYMBOLS; byte++)
        bits += (uint64_t)counts[byte] * lengths[byte];
    return (size_t)((bits + 7) / 8);
}

static uint8_t *put_codes(const struct huffman_work *work, const uint8_t *bytes, size_t n,
                          uint8_t *out)
{
    uint64_t pending = 0; /* the bits that are not out yet are the lower ones */
    unsigned n_pending = 0;
    for (size_t i = 0; i < n; i++) {
        pending = pending << work->lengths[bytes[i]] | work->codes[bytes[i]];
        n_pending += work->lengths[bytes[i]];
        for (; n_pending >= 8; n_pending -= 8)
            *out++ = (uint8_t)(pending >> (n_pending - 8));
    }
    if (n_pending != 0)
        *out++ = (uint8_t)(pending << (8 - n_pending));
    return out;
}

size_t huffman_put(const uint8_t *bytes, size_t n, uint8_t *out, size_t room, void *workspace)
{
    struct huffman_work *work = workspace;
    uint32_t first[HUFFMAN_MOST_BITS + 1];
    size_t n_head;
    if (n == 0 || n > HUFFMAN_MOST_BYTES)
        return 0;
    count_bytes(bytes, n, work->counts);
    find_lengths(work);
    n_head = put_lengths(work->lengths, work->head);
    if (!first_codes(work->lengths, first) ||
        n_head + codes_bytes(work->counts, work->lengths) >= room)
        return 0;
    for (unsigned byte = 0; byte < SYMBOLS; byte++) {
        if (work->lengths[byte] != 0)
            work->codes[byte] = (uint16_t)first[work->lengths[byte]]++;
    }
    memcpy(out, work->head, n_head);
    return (size_t)(put_codes(work, bytes, n, out + n_head) - out);
}

/* ---- getting ------------------------------------------------------------------------------ */

/* Returns the bytes that the lengths take, 0 when they are malformed. */
static size_t get_lengths(const uint8_t *in, size_t n_in, uint8_t lengths[SYMBOLS])
{
    size_t at = 0; /* nibbles */
    unsigned byte = 0;
    memset(lengths, 0, SYMBOLS);
    while (byte < SYMBOLS) {
        unsigned nibble;
        if (at + 1 >= n_in * 2) /* there is a code behind them: the last byte is none of theirs */
            return 0;
        nibble = in[at / 2] >> at % 2 * 4 & 15;
        at++;
        if (nibble < RUN_NIBBLE) {
            lengths[byte++] = (uint8_t)nibble;
            continue;
        }
        byte += (nibble - RUN_NIBBLE) * 16 + 2 + (in[at / 2] >> at % 2 * 4 & 15);
        at++;
    }
    return byte > SYMBOLS ? 0 : (at + 1) / 2;
}

/* What the upper bits of the input stand for: byte, and bits of its code (0: nothing). */
struct huffman_entry {
    uint8_t byte;
    uint8_t bits;
};

static bool make_table(const uint8_t lengths[SYMBOLS], struct huffman_entry *table)
{
    uint32_t first[HUFFMAN_MOST_BITS + 1];
    memset(table, 0, sizeof *table << HUFFMAN_MOST_BITS);
    if (!first_codes(lengths, first))
        return false;
    for (unsigned byte = 0; byte < SYMBOLS; byte++) {
        const unsigned bits = lengths[byte], below = HUFFMAN_MOST_BITS - bits;
        if (bits == 0)
            continue;
        for (uint32_t i = 0; i < 1u << below; i++)
            table[(first[bits] << below) + i] =
                (struct huffman_entry){(uint8_t)byte, (uint8_t)bits};
        first[bits]++;
    }
    return true;
}

int huffman_get(const uint8_t *in, size_t n_in, uint8_t *out, size_t n)
{
    struct huffman_entry table[1u << HUFFMAN_MOST_BITS];
    uint8_t lengths[SYMBOLS];
    uint64_t pending = 0; /* the bits that were taken and not used are the lower ones */
    unsigned n_pending = 0;
    size_t at = get_lengths(in, n_in, lengths);
    if (at == 0 || !make_table(lengths, table))
        return -1;
    for (size_t i = 0; i < n; i++) {
        const struct huffman_entry *entry;
        for (; n_pending < HUFFMAN_MOST_BITS && at < n_in; n_pending += 8)
            pending = pending << 8 | in[at++];
        entry = n_pending >= HUFFMAN_MOST_BITS ? &table[pending >> (n_pending - HUFFMAN_MOST_BITS) &
                                                        ((1u << HUFFMAN_MOST_BITS) - 1)]
                                               : &table[pending << (HUFFMAN_MOST_BITS - n_pending) &
                                                        ((1u << HUFFMAN_MOST_BITS) - 1)];
        if (entry->bits == 0 || entry->bits > n_pending)
            return -1;
        n_pending -= entry->bits;
        out[i] = entry->byte;
    }
    return at == n_in && n_pending < 8 && (pending & ((1u << n_pending) - 1)) == 0 ? 0 : -1;
}
