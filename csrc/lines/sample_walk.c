/* sample_walk.c - see sample_walk.h. */
#include "lines/sample_walk.h"

#include "format/record.h" /* enum line_regime */

#define MOST_FRAMES 200000u /* a chain that is longer is a circle */
#define FRAME_BYTES 128u    /* at the most, as far as it is looked at */

/* What is read of one frame. */
struct frame_view {
    uintptr_t code;
    uintptr_t previous;
    uintptr_t ip;
    uint8_t owner;
};

static bool look_at(struct sample_walk *walk, uintptr_t frame, struct frame_view *view)
{
    const struct interp_layout *layout = &walk->reader->layout;
    uint8_t bytes[FRAME_BYTES];
    uintptr_t start = (uintptr_t)bytes;
    uint32_t end = layout->frame_owner + 1;
    if (layout->frame_ip + 8 > end)
        end = layout->frame_ip + 8;
    if (frame % sizeof(void *) != 0 || end > FRAME_BYTES ||
        !peek_bytes(&walk->peek, frame, bytes, end))
        return false;
    /* 3.14 keeps flags in the two low bits of the reference. */
    view->code = read_word(start + layout->frame_code) & ~(uintptr_t)3;
    view->previous = read_word(start + layout->frame_previous);
    view->ip = read_word(start + layout->frame_ip);
    view->owner = read_u8(start + layout->frame_owner);
    return true;
}

/* The line of a unit; what has none belongs to what is before it. */
static int32_t line_at(const struct lines_code *code, uint32_t unit)
{
    for (uint32_t i = unit + 1; i-- > 0;)
        if (code->line_of_unit[i] > 0)
            return code->line_of_unit[i];
    return code->first_line;
}

/*
 * A frame of a registered code object, which is therefore alive. Until its first instruction that
 * does something has begun (RESUME), the line of its caller is running.
 */
static bool add_place(struct sample_walk *walk, const struct lines_code *code, uintptr_t ip)
{
    const struct interp_layout *layout = &walk->reader->layout;
    uintptr_t first = (uintptr_t)code->key + layout->code_units;
    uint32_t set_up = read_u32((uintptr_t)code->key + layout->code_first_traceable);
    uint32_t unit = ip < first ? 0 : (uint32_t)((ip - first) / 2);
    if (ip >= first && unit >= code->n_units)
        return false;
    if (unit <= set_up)
        return true;
    if (walk->n < MOST_PLACES)
        walk->places[walk->n++] = (struct sample_place){
            .code = code,
            .line = (uint32_t)(line_at(code, unit) - code->first_line),
            .is_hot = __atomic_load_n(&code->regime, __ATOMIC_RELAXED) == REGIME_HOT,
        };
    return true;
}

bool walk_chain(struct sample_walk *walk, uintptr_t top)
{
    uintptr_t frame = top;
    peek_forget(&walk->peek);
    walk->n = 0;
    walk->top = top;
    walk->top_ip = 0;
    for (uint32_t i = 0; frame != 0; i++) {
        struct frame_view view;
        const struct lines_code *code;
        if (i == MOST_FRAMES || !look_at(walk, frame, &view))
            return false;
        if (i == 0)
            walk->top_ip = view.ip;
        code =
            view.owner < walk->reader->layout.owner_shim ? registry_find((void *)view.code) : NULL;
        if (code != NULL && !add_place(walk, code, view.ip))
            return false;
        frame = view.previous;
    }
    return true;
}
