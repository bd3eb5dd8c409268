/* rust_constant.c - values among a generic's arguments, see rust_name.h. */
#include "profile/rust_name.h"

#include <string.h>

/* ---- numbers, characters, texts ------------------------------------------------------------- */

struct hex {
    const char *digits; /* without zeros in front */
    size_t n;
};

static struct hex take_hex(struct rust_name *name)
{
    struct hex hex = {.digits = ""};
    while (rust_peek_char(name) == '0' && name->at + 1 < name->n && name->text[name->at + 1] != '_')
        name->at++;
    if (name->failed)
        return hex;
    hex.digits = name->text + name->at;
    while (!name->failed && rust_peek_char(name) != '_') {
        const int digit = rust_digit_of(rust_take_char(name));
        if (digit < 0 || digit > 15)
            rust_fail(name);
        hex.n++;
    }
    if (hex.n == 0 || !rust_take_if(name, '_'))
        rust_fail(name);
    return hex;
}

static uint64_t hex_value(struct hex hex)
{
    uint64_t value = 0;
    for (size_t i = 0; i < hex.n; i++)
        value = value << 4 | (uint64_t)rust_digit_of(hex.digits[i]);
    return value;
}

static void put_integer(struct rust_name *name)
{
    struct hex hex;
    if (rust_take_if(name, 'n'))
        rust_put(name, "-");
    hex = take_hex(name);
    if (hex.n <= 16) {
        rust_put_number(name, hex_value(hex));
    } else { /* of 128 bits */
        rust_put(name, "0x");
        rust_put_n(name, hex.digits, hex.n);
    }
}

static void put_bool(struct rust_name *name)
{
    const struct hex hex = take_hex(name);
    const uint64_t value = hex_value(hex);
    if (hex.n > 1 || value > 1)
        rust_fail(name);
    rust_put(name, value != 0 ? "true" : "false");
}

/* One character of a literal, as in its source. */
static void put_quoted_code(struct rust_name *name, uint32_t code, char quote)
{
    static const char plain[] = "\t\r\n\\", escaped[] = "trn\\";
    const char *special = code != 0 && code < 0x80 ? strchr(plain, (int)code) : NULL;
    if (special != NULL) {
        rust_put(name, "\\");
        rust_put_n(name, &escaped[special - plain], 1);
    } else if (code == (uint32_t)quote) {
        rust_put(name, "\\");
        rust_put_n(name, &quote, 1);
    } else if (code < 0x20 || code == 0x7f) {
        static const char digits[] = "0123456789abcdef";
        rust_put(name, "\\u{");
        if (code >= 16)
            rust_put_n(name, &digits[code >> 4], 1);
        rust_put_n(name, &digits[code & 15], 1);
        rust_put(name, "}");
    } else if (name->silent == 0 && !name->failed && demangled_add_code(&name->out, code) != 0) {
        rust_fail(name);
    }
}

static void put_character(struct rust_name *name)
{
    const struct hex hex = take_hex(name);
    if (hex.n > 6)
        rust_fail(name);
    rust_put(name, "'");
    put_quoted_code(name, (uint32_t)hex_value(hex), '\'');
    rust_put(name, "'");
}

/* The next byte of a text that is written as pairs of digits. */
static uint32_t take_byte(struct rust_name *name)
{
    const int high = rust_digit_of(rust_take_char(name));
    const int low = rust_digit_of(rust_take_char(name));
    if (high < 0 || high > 15 || low < 0 || low > 15) {
        rust_fail(name);
        return 0;
    }
    return (uint32_t)(high << 4 | low);
}

static void put_text(struct rust_name *name)
{
    rust_put(name, "\"");
    while (!name->failed && !rust_take_if(name, '_')) {
        uint32_t code = take_byte(name);
        int n_more = code < 0x80 ? 0 : code < 0xe0 ? 1 : code < 0xf0 ? 2 : 3;
        if (n_more != 0)
            code &= 0x3fu >> n_more;
        for (; n_more > 0; n_more--)
            code = code << 6 | (take_byte(name) & 0x3f);
        put_quoted_code(name, code, '"');
    }
    rust_put(name, "\"");
}

/* ---- compound values ------------------------------------------------------------------------ */

static void put_list(struct rust_name *name, const char *open, const char *close, bool is_tuple)
{
    size_t n = 0;
    rust_put(name, open);
    for (; !name->failed && !rust_take_if(name, 'E'); n++) {
        rust_put(name, n == 0 ? "" : ", ");
        rust_put_constant(name, true);
    }
    rust_put(name, is_tuple && n == 1 ? "," : "");
    rust_put(name, close);
}

static void put_fields(struct rust_name *name)
{
    rust_put(name, " { ");
    for (bool is_first = true; !name->failed && !rust_take_if(name, 'E'); is_first = false) {
        uint64_t number;
        rust_put(name, is_first ? "" : ", ");
        rust_put_identifier(name, rust_take_identifier(name, &number));
        rust_put(name, ": ");
        rust_put_constant(name, true);
    }
    rust_put(name, " }");
}

/* A value of a struct or enum: its path, and what is in it. */
static void put_variant(struct rust_name *name)
{
    rust_put_path(name, true);
    switch (rust_take_char(name)) {
    case 'U':
        break;
    case 'T':
        put_list(name, "(", ")", false);
        break;
    case 'S':
        put_fields(name);
        break;
    default:
        rust_fail(name);
    }
}

static void put_reference(struct rust_name *name, bool is_mutable)
{
    if (!is_mutable && rust_take_if(name, 'e')) { /* a text is a reference by itself */
        put_text(name);
        return;
    }
    rust_put(name, is_mutable ? "&mut " : "&");
    rust_put_constant(name, true);
}

static void put_compound(struct rust_name *name, char kind, bool is_inside)
{
    const bool needs_braces = !is_inside && !(kind == 'R' && rust_peek_char(name) == 'e');
    rust_put(name, needs_braces ? "{" : "");
    switch (kind) {
    case 'e':
        rust_put(name, "*");
        put_text(name);
        break;
    case 'R':
    case 'Q':
        put_reference(name, kind == 'Q');
        break;
    case 'A':
        put_list(name, "[", "]", false);
        break;
    case 'T':
        put_list(name, "(", ")", true);
        break;
    case 'V':
        put_variant(name);
        break;
    default:
        rust_fail(name);
    }
    rust_put(name, needs_braces ? "}" : "");
}

void rust_put_constant(struct rust_name *name, bool is_inside)
{
    size_t back;
    char kind;
    if (!rust_enter(name))
        return;
    if (rust_enter_reference(name, &back)) {
        rust_follow_reference(name, back, rust_put_constant, is_inside);
        rust_leave(name);
        return;
    }
    kind = rust_take_char(name);
    if (kind == 'p')
        rust_put(name, "_");
    else if (kind == 'b')
        put_bool(name);
    else if (kind == 'c')
        put_character(name);
    else if (kind != '\0' && strchr("asxlnihtymoj", kind) != NULL)
        put_integer(name);
    else
        put_compound(name, kind, is_inside);
    rust_leave(name);
}
