#include "interp/text.h"

#include "check.h"

/* A str as CPython 3.12 lays it out, on a 64-bit machine. */
struct fake_text {
    uint64_t refcount, type, length, hash;
    uint32_t state, padding;
    union {
        char ascii[64];
        struct {
            uint64_t utf8_length, utf8;
            uint8_t characters[48];
            const void *elsewhere; /* not compact: at `characters`, in fact */
        } wide;
    };
};

static struct interp_layout layout;

static void find_layout(void)
{
    struct interp_binding binding = {.hexversion = 0x030c01f0};
    CHECK(layout_find(&layout, &binding) == NULL);
}

static uint32_t state_of(unsigned kind, unsigned compact, unsigned ascii)
{
    return kind << 2 | compact << 5 | ascii << 6;
}

static struct fake_text make_ascii(const char *text)
{
    struct fake_text fake = {.length = strlen(text), .state = state_of(1, 1, 1)};
    memcpy(fake.ascii, text, fake.length);
    return fake;
}

static struct fake_text make_wide(const void *characters, size_t n, unsigned width)
{
    struct fake_text fake = {.length = n, .state = state_of(width, 1, 0)};
    memcpy(fake.wide.characters, characters, n * width);
    return fake;
}

static void expect(const struct fake_text *fake, const char *want)
{
    char got[256];
    uintptr_t text = (uintptr_t)fake;
    size_t n = text_copy_utf8(&layout, text, got, sizeof got);
    CHECK_EQ(text_utf8_bytes(&layout, text), strlen(want));
    CHECK_EQ(n, strlen(want));
    CHECK(memcmp(got, want, n) == 0);
}

static void each_width_becomes_utf8(void)
{
    struct fake_text fake = make_ascii("plain_name");
    expect(&fake, "plain_name");
    fake = make_wide("caf\xe9", 4, 1);
    expect(&fake, "caf\xc3\xa9");
    fake = make_wide((const uint16_t[]){'a', 0x20ac, 0x7ff}, 3, 2);
    expect(&fake, "a\xe2\x82\xac\xdf\xbf");
    fake = make_wide((const uint32_t[]){0x1f600, 'z'}, 2, 4);
    expect(&fake, "\xf0\x9f\x98\x80z");
}

static void a_lone_surrogate_takes_three_bytes(void)
{
    struct fake_text fake = make_wide((const uint16_t[]){0xdcff}, 1, 2);
    expect(&fake, "\xed\xb3\xbf");
}

static void an_instance_of_a_subclass_keeps_its_characters_elsewhere(void)
{
    static const char elsewhere[] = "subclass";
    struct fake_text fake = {.length = 8, .state = state_of(1, 0, 1)};
    const char *at = elsewhere;
    memcpy(fake.wide.characters, &at, sizeof at);
    expect(&fake, "subclass");
}

static void a_text_is_cut_between_characters(void)
{
    struct fake_text fake = make_wide((const uint16_t[]){'a', 0x20ac, 'b'}, 3, 2);
    char got[8];
    CHECK_EQ(text_copy_utf8(&layout, (uintptr_t)&fake, got, 3), 1);
    CHECK_EQ(text_copy_utf8(&layout, (uintptr_t)&fake, got, 4), 4);
    fake = make_ascii("abc");
    CHECK_EQ(text_copy_utf8(&layout, (uintptr_t)&fake, got, 2), 2);
}

int main(void)
{
    find_layout();
    each_width_becomes_utf8();
    a_lone_surrogate_takes_three_bytes();
    an_instance_of_a_subclass_keeps_its_characters_elsewhere();
    a_text_is_cut_between_characters();
    return 0;
}
