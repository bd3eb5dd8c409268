/* text.c - see text.h. The three ways in which a str keeps its characters are one loop here. */
#include "interp/text.h"

/* PyASCIIObject.state, from layout.text_kind_bit on: kind:3, compact:1, ascii:1. */
#define STATE_KIND(state_) ((state_) & 7)
#define STATE_COMPACT(state_) ((state_) >> 3 & 1)
#define STATE_ASCII(state_) ((state_) >> 4 & 1)

struct characters {
    uintptr_t start;
    size_t n;
    unsigned width; /* bytes a character: 1, 2 or 4 */
    bool ascii;
};

static struct characters characters_of(const struct interp_layout *layout, uintptr_t text)
{
    uint32_t state = read_u32(text + layout->text_state) >> layout->text_kind_bit;
    struct characters chars = {
        .n = read_word(text + layout->text_length),
        .width = STATE_KIND(state),
        .ascii = STATE_ASCII(state),
    };
    if (!STATE_COMPACT(state)) /* an instance of a subclass: a pointer behind the header */
        chars.start = read_word(text + layout->text_compact);
    else
        chars.start = text + (chars.ascii ? layout->text_ascii : layout->text_compact);
    return chars;
}

static uint32_t character_at(const struct characters *chars, size_t i)
{
    uint16_t two;
    switch (chars->width) {
    case 1:
        return read_u8(chars->start + i);
    case 2:
        memcpy(&two, (const void *)(chars->start + 2 * i), sizeof two);
        return two;
    default:
        return read_u32(chars->start + 4 * i);
    }
}

static unsigned utf8_length(uint32_t character)
{
    return character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
}

static void utf8_put(char *out, uint32_t character, unsigned n)
{
    static const uint8_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (unsigned i = n - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (character & 0x3f));
        character >>= 6;
    }
    out[0] = (char)(lead[n] | character);
}

size_t text_utf8_bytes(const struct interp_layout *layout, uintptr_t text)
{
    struct characters chars = characters_of(layout, text);
    size_t n_bytes = 0;
    if (chars.ascii)
        return chars.n;
    for (size_t i = 0; i < chars.n; i++)
        n_bytes += utf8_length(character_at(&chars, i));
    return n_bytes;
}

size_t text_copy_utf8(const struct interp_layout *layout, uintptr_t text, char *out,
                      size_t out_bytes)
{
    struct characters chars = characters_of(layout, text);
    size_t at = 0;
    if (chars.ascii) {
        at = chars.n < out_bytes ? chars.n : out_bytes;
        memcpy(out, (const void *)chars.start, at);
        return at;
    }
    for (size_t i = 0; i < chars.n; i++) {
        uint32_t character = character_at(&chars, i);
        unsigned n = utf8_length(character);
        if (n > out_bytes - at)
            break;
        if (n == 1)
            out[at] = (char)character;
        else
            utf8_put(out + at, character, n);
        at += n;
    }
    return at;
}

void code_read(const struct interp_layout *layout, uintptr_t code, struct code_view *view)
{
    uintptr_t linetable = read_word(code + layout->code_linetable);
    *view = (struct code_view){
        .name = read_word(code + layout->code_name),
        .qualname = read_word(code + layout->code_qualname),
        .file = read_word(code + layout->code_file),
        .first_line = read_u32(code + layout->code_first_line),
        .flags = read_u32(code + layout->code_flags),
        .linetable = (const uint8_t *)linetable + layout->bytes_start,
        .linetable_bytes = read_word(linetable + layout->bytes_length),
    };
}
