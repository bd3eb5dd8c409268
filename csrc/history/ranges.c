/* ranges.c - see ranges.h. */
#include "history/ranges.h"

struct place {
    size_t chunk;
    uint32_t at;
};

/* The first range that ends behind the address; chunk == chunks.n when there is none. */
static struct place find_place(const struct ranges *ranges, uint64_t address)
{
    size_t low = 0, high = ranges->chunks.n;
    struct place place = {0, 0};
    const struct range_chunk *chunk;
    uint32_t first = 0, last;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        chunk = ranges->chunks.items[middle];
        if (chunk->items[chunk->n - 1].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    place.chunk = low;
    if (low == ranges->chunks.n)
        return place;
    chunk = ranges->chunks.items[low];
    last = chunk->n;
    while (first < last) {
        uint32_t middle = first + (last - first) / 2;
        if (chunk->items[middle].end <= address)
            first = middle + 1;
        else
            last = middle;
    }
    place.at = first;
    return place;
}

/* Makes an empty chunk at a position of the array of chunks. */
static struct range_chunk *insert_chunk(struct ranges *ranges, size_t at)
{
    struct range_chunk *chunk = pages_alloc(sizeof *chunk);
    if (chunk == NULL || page_vec_add(&ranges->chunks) == NULL) {
        pages_free(chunk, sizeof *chunk);
        return NULL;
    }
    memmove(&ranges->chunks.items[at + 1], &ranges->chunks.items[at],
            (ranges->chunks.n - 1 - at) * sizeof ranges->chunks.items[0]);
    ranges->chunks.items[at] = chunk;
    chunk->n = 0;
    return chunk;
}

/* Moves the upper half of a full chunk into a new one behind it. */
static int split_chunk(struct ranges *ranges, size_t at)
{
    struct range_chunk *full = ranges->chunks.items[at];
    struct range_chunk *upper = insert_chunk(ranges, at + 1);
    if (upper == NULL)
        return -1;
    upper->n = full->n / 2;
    full->n -= upper->n;
    memcpy(upper->items, full->items + full->n, upper->n * sizeof upper->items[0]);
    return 0;
}

static int insert_range(struct ranges *ranges, const struct range *range)
{
    struct place place = find_place(ranges, range->start);
    struct range_chunk *chunk;
    if (place.chunk == ranges->chunks.n) {
        if (place.chunk == 0 && insert_chunk(ranges, 0) == NULL)
            return -1;
        place.chunk = ranges->chunks.n - 1;
        place.at = ranges->chunks.items[place.chunk]->n;
    }
    if (ranges->chunks.items[place.chunk]->n == RANGES_IN_CHUNK) {
        if (split_chunk(ranges, place.chunk) != 0)
            return -1;
        if (place.at > ranges->chunks.items[place.chunk]->n) {
            place.at -= ranges->chunks.items[place.chunk]->n;
            place.chunk++;
        }
    }
    chunk = ranges->chunks.items[place.chunk];
    memmove(&chunk->items[place.at + 1], &chunk->items[place.at],
            (chunk->n - place.at) * sizeof chunk->items[0]);
    chunk->items[place.at] = *range;
    chunk->n++;
    return 0;
}

static void remove_range(struct ranges *ranges, struct place place)
{
    struct range_chunk *chunk = ranges->chunks.items[place.chunk];
    chunk->n--;
    memmove(&chunk->items[place.at], &chunk->items[place.at + 1],
            (chunk->n - place.at) * sizeof chunk->items[0]);
    if (chunk->n != 0)
        return;
    pages_free(chunk, sizeof *chunk);
    ranges->chunks.n--;
    memmove(&ranges->chunks.items[place.chunk], &ranges->chunks.items[place.chunk + 1],
            (ranges->chunks.n - place.chunk) * sizeof ranges->chunks.items[0]);
}

int ranges_add(struct ranges *ranges, uint64_t start, uint64_t end, uint32_t entry)
{
    struct range range = {start, end, entry, (uint32_t)ranges->n_pieces.n};
    uint32_t *n_pieces = page_vec_add(&ranges->n_pieces);
    if (n_pieces == NULL)
        return -1;
    *n_pieces = 1;
    return insert_range(ranges, &range);
}

int ranges_put_back(struct ranges *ranges, const struct range *piece)
{
    ranges->n_pieces.items[piece->mapping]++;
    return insert_range(ranges, piece);
}

/* Cuts start..end out of one stored range that overlaps it. */
static int cut_range(struct ranges *ranges, struct place place, uint64_t start, uint64_t end,
                     bool *last)
{
    struct range *range = &ranges->chunks.items[place.chunk]->items[place.at];
    struct range above = *range;
    *last = false;
    if (start <= range->start && end >= range->end) {
        *last = --ranges->n_pieces.items[range->mapping] == 0;
        remove_range(ranges, place);
        return 0;
    }
    if (start <= range->start) {
        range->start = end;
        return 0;
    }
    range->end = start;
    if (end >= above.end)
        return 0;
    above.start = end;
    return ranges_put_back(ranges, &above);
}

int ranges_take(struct ranges *ranges, uint64_t start, uint64_t end, struct taken_ranges *taken)
{
    for (;;) {
        struct place place = find_place(ranges, start);
        struct taken_range *piece;
        if (place.chunk == ranges->chunks.n ||
            ranges->chunks.items[place.chunk]->items[place.at].start >= end)
            return 0;
        piece = page_vec_add(taken);
        if (piece == NULL)
            return -1;
        piece->range = ranges->chunks.items[place.chunk]->items[place.at];
        if (cut_range(ranges, place, start, end, &piece->last) != 0)
            return -1;
        if (piece->range.start < start)
            piece->range.start = start;
        if (piece->range.end > end)
            piece->range.end = end;
    }
}

bool ranges_hold(const struct ranges *ranges, uint64_t address)
{
    struct place place = find_place(ranges, address);
    return place.chunk != ranges->chunks.n &&
           ranges->chunks.items[place.chunk]->items[place.at].start <= address;
}

int ranges_renumber(struct ranges *ranges)
{
    const size_t n_before = ranges->n_pieces.n;
    PAGE_VEC(uint32_t) numbers = {0}; /* new ones by the old, plus 1 */
    uint32_t n = 0;
    if (n_before == 0)
        return 0;
    if (page_vec_reserve(&numbers, n_before) != 0)
        return -1;
    for (size_t i = 0; i < ranges->chunks.n; i++) {
        struct range_chunk *chunk = ranges->chunks.items[i];
        for (uint32_t k = 0; k < chunk->n; k++) {
            uint32_t *number = &numbers.items[chunk->items[k].mapping];
            if (*number == 0)
                *number = ++n;
            chunk->items[k].mapping = *number - 1;
        }
    }
    memset(ranges->n_pieces.items, 0, n_before * sizeof ranges->n_pieces.items[0]);
    for (size_t i = 0; i < ranges->chunks.n; i++) {
        const struct range_chunk *chunk = ranges->chunks.items[i];
        for (uint32_t k = 0; k < chunk->n; k++)
            ranges->n_pieces.items[chunk->items[k].mapping]++;
    }
    ranges->n_pieces.n = n;
    page_vec_release(&numbers);
    return 0;
}

void ranges_release(struct ranges *ranges)
{
    for (size_t i = 0; i < ranges->chunks.n; i++)
        pages_free(ranges->chunks.items[i], sizeof *ranges->chunks.items[i]);
    page_vec_release(&ranges->chunks);
    page_vec_release(&ranges->n_pieces);
}
