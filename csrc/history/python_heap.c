/* python_heap.c - see python_heap.h. */
#include "history/python_heap.h"

#define LARGEST_SMALL 512 /* bytes; pymalloc passes more on to malloc */

static void add_to(int64_t *sum, int64_t value)
{
    *sum = sum_of(*sum, value);
}

static int take(struct python_heap *heap, uint64_t start, uint64_t end)
{
    struct taken_ranges taken = {0};
    int failed = ranges_take(&heap->arenas, start, end, &taken);
    for (size_t i = 0; i < taken.n; i++) {
        const struct range *range = &taken.items[i].range;
        add_to(&heap->now.arena_bytes, -(int64_t)(range->end - range->start));
        add_to(&heap->now.arenas, -(int64_t)taken.items[i].last);
    }
    page_vec_release(&taken);
    return failed;
}

int python_heap_map(struct python_heap *heap, uint64_t start, uint64_t end)
{
    if (end <= start)
        return 0;
    if (take(heap, start, end) != 0 || ranges_add(&heap->arenas, start, end, 1) != 0)
        return -1;
    add_to(&heap->now.arena_bytes, (int64_t)(end - start));
    add_to(&heap->now.arenas, 1);
    return 0;
}

int python_heap_unmap(struct python_heap *heap, uint64_t start, uint64_t end)
{
    return end <= start ? 0 : take(heap, start, end);
}

void python_heap_change(struct python_heap *heap, const struct live_block *block, int sign)
{
    add_to(&heap->now.used_bytes, sign * (int64_t)block->size);
    add_to(&heap->now.used_blocks, sign * (int64_t)block->blocks);
}

void python_heap_add(struct python_heap *heap, const struct event *event, struct live_block *block)
{
    struct amount *domain = &heap->domains[event->domain % N_DOMAINS];
    add_to(&domain->bytes, (int64_t)block->size);
    add_to(&domain->blocks, block->blocks);
    if (event->size > LARGEST_SMALL || event->domain == DOMAIN_RAW || heap->now.arenas == 0 ||
        !ranges_hold(&heap->arenas, event->address))
        return;
    block->in_arena = 1;
    python_heap_change(heap, block, 1);
}

void python_heap_mark(struct python_heap *heap)
{
    heap->at_end = heap->now;
    heap->marked = true;
}

void python_heap_finish(struct python_heap *heap)
{
    if (!heap->marked)
        heap->at_end = heap->now;
}

void python_heap_release(struct python_heap *heap)
{
    ranges_release(&heap->arenas);
}
