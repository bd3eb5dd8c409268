/* frame_nodes.c - see frame_nodes.h; frames_view is declared in frames.h. */
#include "interp/frame_nodes.h"

#include "interp/dead_code.h"

/* The epoch of a walk as dictionaries take it: 0 where each death is reported. */
static uint64_t place_epoch(const struct frame_reader *reader, uint64_t epoch)
{
    return reader->layout.generation == 0 && !(epoch & EPOCH_UNWATCHED) ? 0 : epoch;
}

/*
 * Where the bytecode starts that the frame runs: without the GIL each thread has a copy of its own.
 * Copies stay as long as a frame runs them, and so does their table until this thread stops.
 */
static uintptr_t first_unit(const struct interp_layout *layout, uintptr_t frame, uintptr_t code)
{
    uintptr_t table;
    uint32_t index;
    if (layout->frame_tlbc == 0)
        return code + layout->code_units;
    table = read_word(code + layout->code_tlbc);
    index = read_u32(frame + layout->frame_tlbc);
    if (table == 0 || index >= read_word(table))
        return code + layout->code_units;
    return read_word(table + sizeof(uintptr_t) * (1 + (size_t)index));
}

void frames_view(const struct frame_reader *reader, uintptr_t frame, struct seen_frame *view)
{
    uintptr_t code = frames_code(reader, frame);
    uintptr_t first = first_unit(&reader->layout, frame, code);
    *view = (struct seen_frame){
        .code = code,
        .unit = (int)((intptr_t)(frames_ip(reader, frame) - first) / 2),
        .first_traceable = (int)read_u32(code + reader->layout.code_first_traceable),
    };
}

/*
 * Places that sys._getframe hides get no node of their own: a frame that is still being set up
 * (before its first traceable instruction), which also covers the trampoline that 3.13 pushes
 * under __init__. A generator's frame is set up by definition.
 */
static NOINLINE uint32_t intern_frame(struct frame_reader *reader, uintptr_t frame, uintptr_t ip,
                                      uint64_t key, uint32_t parent, uint64_t epoch)
{
    const struct interp_layout *layout = &reader->layout;
    uintptr_t code = read_word(frame + layout->frame_code) & ~(uintptr_t)3;
    struct frame_place place = {.code = code, .entry = key & KEY_ENTRY};
    uintptr_t first;
    if (code == 0)
        return parent;
    place.epoch = place_epoch(reader, epoch);
    first = first_unit(layout, frame, code);
    if (!(key & KEY_GENERATOR) &&
        ip < first + 2 * (uintptr_t)read_u32(code + layout->code_first_traceable)) {
        if (reader->hide != NULL && place.epoch == 0)
            reader->hide(&place);
        return parent;
    }
    place.unit = ip < first ? 0 : (uint32_t)((ip - first) / 2);
    return reader->intern(parent, &place);
}

static uint64_t key_of(const struct frame_reader *reader, uintptr_t ip, uint8_t owner,
                       uintptr_t below)
{
    bool entry = below == 0 || frames_is_shim(reader, below);
    return (uint64_t)ip | (owner == reader->layout.owner_generator ? KEY_GENERATOR : 0) |
           (entry ? KEY_ENTRY : 0);
}

/* The next frame waits for the node of this one: of the hash, it is to wait for one product. */
static inline struct frame_memory *memory_of(struct frame_cache *cache, uint64_t key,
                                             uint32_t parent)
{
    const uint64_t hash = key * 0xff51afd7ed558ccdull ^ parent * 0x9e3779b97f4a7c15ull;
    return &cache->memory[hash >> (64 - FRAME_MEMORY_BITS)];
}

uint32_t frame_nodes_intern(struct frame_reader *reader, struct frame_cache *cache, uint32_t from)
{
    uint32_t node = from == 0 ? 0 : cache->nodes[from - 1];
    for (uint32_t i = from; i < cache->depth; i++) {
        uintptr_t frame = cache->chain[i].frame;
        uintptr_t ip = frames_ip(reader, frame);
        uint8_t owner = frames_owner(reader, frame);
        cache->chain[i].ip = ip;
        if (owner < reader->layout.owner_shim) {
            uint64_t key = key_of(reader, ip, owner, i == 0 ? 0 : cache->chain[i - 1].frame);
            struct frame_memory *memory = memory_of(cache, key, node);
            if (unlikely(memory->key != key || memory->parent != node)) {
                uint32_t parent = node;
                node = intern_frame(reader, frame, ip, key, parent, cache->epoch);
                *memory = (struct frame_memory){key, parent, node};
            } else {
                node = memory->node;
            }
        }
        cache->nodes[i] = node;
    }
    return node;
}
