/* layout.c - the tables behind layout.h; a new Python version is a row here. */
#include "interp/layout.h"

#define COOKIE "xdebugpy"
#define RELEASE_LEVEL_FINAL 0xf

/* The largest offset that is believed: the tables are read from another program's memory. */
#define OFFSET_LIMIT (4u << 20)

/* Positions in _Py_DebugOffsets, in words of 64 bits; 0 = not published by this version. */
struct published {
    uint8_t interp_id, generation, tlbc_generation;
    uint8_t state_interp, state_frame, state_anchor, state_anchor_seq;
    uint8_t frame_previous, frame_code, frame_ip, frame_owner, frame_tlbc;
    uint8_t code_file, code_name, code_qualname, code_linetable, code_first_line, code_units;
    uint8_t code_tlbc;
    uint8_t bytes_length, bytes_start, text_state, text_length, text_ascii;
};

struct version {
    uint16_t hex;                      /* major and minor: 0x030d */
    const struct published *published; /* NULL: `known` is all there is */
    struct interp_layout known;        /* what is not published */
};

/* The part of str, bytes and code objects that has been the same since 3.12. */
#define SINCE_3_12                                                                    \
    .state_interp = 16, .frame_previous = 8, .frame_ip = 56, .owner_generator = 1,    \
    .code_flags = 48, .code_first_line = 68, .code_file = 112, .code_name = 120,      \
    .code_qualname = 128, .code_linetable = 136, .text_length = 16, .text_state = 32, \
    .text_ascii = 40, .text_compact = 56, .bytes_length = 16, .bytes_start = 32,      \
    .text_kind_bit = 2

/* Without the GIL an object's header is that much longer: owner, lock and two counts. */
#define FREE_THREADED_HEADER 16

static const struct published published_3_13 = {
    .interp_id = 7,
    .state_interp = 22,
    .state_frame = 23,
    .frame_previous = 29,
    .frame_code = 30,
    .frame_ip = 31,
    .frame_owner = 33,
    .code_file = 35,
    .code_name = 36,
    .code_qualname = 37,
    .code_linetable = 38,
    .code_first_line = 39,
    .code_units = 43,
    .bytes_length = 65,
    .bytes_start = 66,
    .text_state = 68,
    .text_length = 69,
    .text_ascii = 70,
};

/* Two fields more in the interpreter's part, two in the frame's, one in the code's, a set. */
static const struct published published_3_14 = {
    .interp_id = 7,
    .generation = 20,
    .tlbc_generation = 21,
    .state_interp = 25,
    .state_frame = 26,
    .frame_previous = 32,
    .frame_code = 33,
    .frame_ip = 34,
    .frame_owner = 36,
    .frame_tlbc = 38,
    .code_file = 40,
    .code_name = 41,
    .code_qualname = 42,
    .code_linetable = 43,
    .code_first_line = 44,
    .code_units = 48,
    .code_tlbc = 49,
    .bytes_length = 75,
    .bytes_start = 76,
    .text_state = 78,
    .text_length = 79,
    .text_ascii = 80,
};

/* Seven fields more in the thread's part, one behind it, four in those of types. */
static const struct published published_3_15 = {
    .interp_id = 7,
    .generation = 20,
    .tlbc_generation = 21,
    .state_interp = 25,
    .state_frame = 26,
    .state_anchor = 28,
    .state_anchor_seq = 29,
    .frame_previous = 40,
    .frame_code = 41,
    .frame_ip = 42,
    .frame_owner = 44,
    .frame_tlbc = 46,
    .code_file = 48,
    .code_name = 49,
    .code_qualname = 50,
    .code_linetable = 51,
    .code_first_line = 52,
    .code_units = 56,
    .code_tlbc = 57,
    .bytes_length = 87,
    .bytes_start = 88,
    .text_state = 90,
    .text_length = 91,
    .text_ascii = 92,
};

static const struct version versions[] = {
    {0x030c,
     NULL,
     {SINCE_3_12, .interp_id = 8, .state_frame = 56, .frame_is_indirect = true, .frame_owner = 70,
      .owner_shim = 3, .code_first_traceable = 176, .code_units = 192}},
    {0x030d,
     &published_3_13,
     {SINCE_3_12, .owner_shim = 3, .code_first_traceable = 184, .frame_locals = 40}},
    {0x030e,
     &published_3_14,
     {SINCE_3_12, .owner_shim = 3, .code_first_traceable = 192, .frame_locals = 40}},
    {0x030f, &published_3_15, {SINCE_3_12, .owner_shim = 3, .code_first_traceable = 192}},
};

/* Takes one published offset; false when it cannot be one. */
static bool take(const uint64_t *words, uint8_t position, uint32_t *offset)
{
    if (position == 0)
        return true;
    if (words[position] > OFFSET_LIMIT)
        return false;
    *offset = (uint32_t)words[position];
    return true;
}

static bool take_all(struct interp_layout *to, const uint64_t *words, const struct published *at)
{
    return take(words, at->interp_id, &to->interp_id) &&
           take(words, at->state_interp, &to->state_interp) &&
           take(words, at->state_frame, &to->state_frame) &&
           take(words, at->state_anchor, &to->state_anchor) &&
           take(words, at->state_anchor_seq, &to->state_anchor_seq) &&
           take(words, at->generation, &to->generation) &&
           take(words, at->tlbc_generation, &to->tlbc_generation) &&
           take(words, at->frame_previous, &to->frame_previous) &&
           take(words, at->frame_code, &to->frame_code) &&
           take(words, at->frame_ip, &to->frame_ip) &&
           take(words, at->frame_owner, &to->frame_owner) &&
           take(words, at->frame_tlbc, &to->frame_tlbc) &&
           take(words, at->code_tlbc, &to->code_tlbc) &&
           take(words, at->code_file, &to->code_file) &&
           take(words, at->code_name, &to->code_name) &&
           take(words, at->code_qualname, &to->code_qualname) &&
           take(words, at->code_linetable, &to->code_linetable) &&
           take(words, at->code_first_line, &to->code_first_line) &&
           take(words, at->code_units, &to->code_units) &&
           take(words, at->bytes_length, &to->bytes_length) &&
           take(words, at->bytes_start, &to->bytes_start) &&
           take(words, at->text_state, &to->text_state) &&
           take(words, at->text_length, &to->text_length) &&
           take(words, at->text_ascii, &to->text_ascii);
}

static const struct version *find_version(uint32_t hexversion)
{
    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
        if (versions[i].hex == hexversion >> 16)
            return &versions[i];
    }
    return NULL;
}

const char *layout_find(struct interp_layout *layout, const struct interp_binding *binding)
{
    const struct version *version = find_version(binding->hexversion);
    const uint64_t *words = binding->runtime;
    if (sizeof(void *) != 8)
        return "Python stacks are read on 64-bit machines only";
    if (version == NULL)
        return "this version of Python is not known to this version of proftrace";
    if ((binding->hexversion >> 4 & 0xf) != RELEASE_LEVEL_FINAL)
        return "this is a preview of Python, whose memory layout may still change";
    if (binding->free_threaded && version->published == NULL)
        return "this version of Python has no free-threaded builds";
    *layout = version->known;
    if (version->published == NULL)
        return NULL;
    if (words == NULL || memcmp(words, COOKIE, sizeof words[0]) != 0 ||
        words[1] != binding->hexversion)
        return "the interpreter does not publish its memory layout where it should";
    if (!take_all(layout, words, version->published))
        return "the interpreter publishes a memory layout that makes no sense";
    if (binding->free_threaded) {
        layout->code_flags += FREE_THREADED_HEADER;
        layout->code_first_traceable += FREE_THREADED_HEADER;
        /* Since 3.14 being interned is a byte of its own there, so that it can be set atomically.
         */
        if (version->hex >= 0x030e)
            layout->text_kind_bit = 8;
    }
    /* PyCompactUnicodeObject adds the UTF-8 length and pointer to the ASCII header. */
    layout->text_compact = layout->text_ascii + 16;
    return NULL;
}
