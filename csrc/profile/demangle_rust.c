/*
 * demangle_rust.c - see demangle_rust.h. Written after the grammar of Rust's RFC 2603: one function
 * a rule, which reads its part of the name and writes what it says.
 */
#include "profile/demangle_rust.h"

#include "profile/rust_name.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- paths --------------------------------------------------------------------------------- */

static void put_type(struct rust_name *name);

/* Where an impl stands says nothing that its type does not. */
static void skip_impl_path(struct rust_name *name)
{
    name->silent++;
    (void)rust_take_tagged(name, 's');
    rust_put_path(name, false);
    name->silent--;
}

static void print_nested(struct rust_name *name, bool is_value)
{
    const char space = rust_take_char(name);
    struct rust_identifier identifier;
    uint64_t number;
    if (rust_digit_of(space) < 10)
        rust_fail(name);
    rust_put_path(name, is_value);
    identifier = rust_take_identifier(name, &number);
    if (space >= 'A' && space <= 'Z') { /* made by the compiler */
        rust_put(name, "::{");
        if (space == 'C')
            rust_put(name, "closure");
        else if (space == 'S')
            rust_put(name, "shim");
        else
            rust_put_n(name, &space, 1);
        rust_put(name, identifier.n == 0 ? "" : ":");
        rust_put_identifier(name, identifier);
        rust_put(name, "#");
        rust_put_number(name, number);
        rust_put(name, "}");
    } else if (identifier.n != 0) {
        rust_put(name, "::");
        rust_put_identifier(name, identifier);
    }
}

static void print_generic_argument(struct rust_name *name)
{
    if (rust_take_if(name, 'L'))
        rust_put_lifetime(name, rust_take_base_62(name));
    else if (rust_take_if(name, 'K'))
        rust_put_constant(name, false);
    else
        put_type(name);
}

/* The arguments of the path that was just written, without the end: more may follow. */
static void print_open_arguments(struct rust_name *name, bool is_value)
{
    rust_put(name, is_value ? "::<" : "<");
    for (bool is_first = true; !name->failed && !rust_take_if(name, 'E'); is_first = false) {
        rust_put(name, is_first ? "" : ", ");
        print_generic_argument(name);
    }
}

static void print_qualified(struct rust_name *name, bool has_trait)
{
    rust_put(name, "<");
    put_type(name);
    if (has_trait) {
        rust_put(name, " as ");
        rust_put_path(name, false);
    }
    rust_put(name, ">");
}

/* A path that names a value needs "::" in front of its arguments, one of a type does not. */
void rust_put_path(struct rust_name *name, bool is_value)
{
    uint64_t number;
    size_t back;
    if (!rust_enter(name))
        return;
    if (rust_enter_reference(name, &back)) {
        rust_follow_reference(name, back, rust_put_path, is_value);
        rust_leave(name);
        return;
    }
    switch (rust_take_char(name)) {
    case 'C':
        rust_put_identifier(name, rust_take_identifier(name, &number));
        break;
    case 'M':
        skip_impl_path(name);
        print_qualified(name, false);
        break;
    case 'X':
        skip_impl_path(name);
        print_qualified(name, true);
        break;
    case 'Y':
        print_qualified(name, true);
        break;
    case 'N':
        print_nested(name, is_value);
        break;
    case 'I':
        rust_put_path(name, is_value);
        print_open_arguments(name, is_value);
        rust_put(name, ">");
        break;
    default:
        rust_fail(name);
    }
    rust_leave(name);
}

/* ---- types --------------------------------------------------------------------------------- */

static const char *basic_type(char c)
{
    static const char *const names['z' - 'a' + 1] = {
        "i8",    "bool", "char", "f64", "str",  "f32",  NULL,  "u8", "isize",
        "usize", NULL,   "i32",  "u32", "i128", "u128", "_",   NULL, NULL,
        "i16",   "u16",  "()",   "...", NULL,   "i64",  "u64", "!",
    };
    return c >= 'a' && c <= 'z' ? names[c - 'a'] : NULL;
}

static void print_function_type(struct rust_name *name)
{
    const uint64_t n_lifetimes = name->n_lifetimes;
    rust_take_binder(name);
    if (rust_take_if(name, 'U'))
        rust_put(name, "unsafe ");
    if (rust_take_if(name, 'K')) {
        rust_put(name, "extern \"");
        if (rust_take_if(name, 'C')) {
            rust_put(name, "C");
        } else {
            const struct rust_identifier abi = rust_take_plain_identifier(name);
            for (size_t i = 0; i < abi.n; i++)
                rust_put_n(name, abi.text[i] == '_' ? "-" : abi.text + i, 1);
        }
        rust_put(name, "\" ");
    }
    rust_put(name, "fn(");
    for (bool is_first = true; !name->failed && !rust_take_if(name, 'E'); is_first = false) {
        rust_put(name, is_first ? "" : ", ");
        put_type(name);
    }
    rust_put(name, ")");
    if (!rust_take_if(name, 'u')) {
        rust_put(name, " -> ");
        put_type(name);
    }
    name->n_lifetimes = n_lifetimes;
}

/* Writes the trait; true: its "<" is still open. */
static bool print_open_trait(struct rust_name *name)
{
    bool is_open = false;
    size_t back;
    if (!rust_enter(name))
        return false;
    if (rust_enter_reference(name, &back)) {
        if (name->silent == 0)
            is_open = print_open_trait(name);
        if (!name->failed)
            name->at = back;
    } else if (rust_take_if(name, 'I')) {
        rust_put_path(name, false);
        print_open_arguments(name, false);
        is_open = true;
    } else {
        rust_put_path(name, false);
    }
    rust_leave(name);
    return is_open;
}

static void print_dyn_type(struct rust_name *name)
{
    const uint64_t n_lifetimes = name->n_lifetimes;
    uint64_t lifetime;
    rust_put(name, "dyn ");
    rust_take_binder(name);
    for (bool is_first = true; !name->failed && !rust_take_if(name, 'E'); is_first = false) {
        bool is_open;
        rust_put(name, is_first ? "" : " + ");
        is_open = print_open_trait(name);
        while (rust_take_if(name, 'p')) {
            rust_put(name, is_open ? ", " : "<");
            is_open = true;
            rust_put_identifier(name, rust_take_plain_identifier(name));
            rust_put(name, " = ");
            put_type(name);
        }
        rust_put(name, is_open ? ">" : "");
    }
    name->n_lifetimes = n_lifetimes;
    if (!rust_take_if(name, 'L'))
        rust_fail(name);
    lifetime = rust_take_base_62(name);
    if (lifetime != 0) {
        rust_put(name, " + ");
        rust_put_lifetime(name, lifetime);
    }
}

static void print_reference_type(struct rust_name *name, bool is_mutable)
{
    rust_put(name, "&");
    if (rust_take_if(name, 'L')) {
        const uint64_t lifetime = rust_take_base_62(name);
        if (lifetime != 0) {
            rust_put_lifetime(name, lifetime);
            rust_put(name, " ");
        }
    }
    rust_put(name, is_mutable ? "mut " : "");
    put_type(name);
}

static void print_tuple_type(struct rust_name *name)
{
    size_t n = 0;
    rust_put(name, "(");
    for (; !name->failed && !rust_take_if(name, 'E'); n++) {
        rust_put(name, n == 0 ? "" : ", ");
        put_type(name);
    }
    rust_put(name, n == 1 ? ",)" : ")");
}

static void print_array_type(struct rust_name *name, bool has_length)
{
    rust_put(name, "[");
    put_type(name);
    if (has_length) {
        rust_put(name, "; ");
        rust_put_constant(name, true);
    }
    rust_put(name, "]");
}

static void print_type_again(struct rust_name *name, bool unused)
{
    (void)unused;
    put_type(name);
}

static void print_compound_type(struct rust_name *name)
{
    const char c = rust_take_char(name);
    switch (c) {
    case 'R':
    case 'Q':
        print_reference_type(name, c == 'Q');
        break;
    case 'P':
    case 'O':
        rust_put(name, c == 'P' ? "*const " : "*mut ");
        put_type(name);
        break;
    case 'A':
    case 'S':
        print_array_type(name, c == 'A');
        break;
    case 'T':
        print_tuple_type(name);
        break;
    case 'F':
        print_function_type(name);
        break;
    case 'D':
        print_dyn_type(name);
        break;
    default:
        name->at -= !name->failed;
        rust_put_path(name, false);
    }
}

static void put_type(struct rust_name *name)
{
    const char *basic = basic_type(rust_peek_char(name));
    size_t back;
    if (!rust_enter(name))
        return;
    if (basic != NULL) {
        name->at++;
        rust_put(name, basic);
    } else if (rust_enter_reference(name, &back)) {
        rust_follow_reference(name, back, print_type_again, false);
    } else {
        print_compound_type(name);
    }
    rust_leave(name);
}

/* ---- whole names --------------------------------------------------------------------------- */

char *demangle_rust(const char *text)
{
    struct rust_name name = {0};
    /* What tools put behind a name (".llvm.123", ".cold", "$") is none of the source's. */
    if (strncmp(text, "_R", 2) != 0 || text[2] < 'A' || text[2] > 'Z')
        return NULL;
    name.text = text + 2;
    name.n = strcspn(name.text, ".$");
    rust_put_path(&name, true);
    if (!name.failed && name.at < name.n) { /* the crate that made this copy of a generic one */
        name.silent = 1;
        rust_put_path(&name, false);
    }
    if (!name.failed && name.at == name.n && name.out.n != 0)
        return demangled_take(&name.out);
    demangled_release(&name.out);
    return NULL;
}

/* ---- the older scheme ---------------------------------------------------------------------- */

#define HASH_BYTES 19u /* "::h" and 16 digits */

static bool has_hash(const char *name, size_t n)
{
    return n > HASH_BYTES && memcmp(name + n - HASH_BYTES, "::h", 3) == 0 &&
           strspn(name + n - HASH_BYTES + 3, "0123456789abcdef") == HASH_BYTES - 3;
}

/* What one escape stands for; its length, or 0: it is none. */
static size_t escape_at(const char *text, char *stands_for)
{
    static const struct {
        char escape[5];
        char stands_for;
    } known[] = {{"$SP$", '@'}, {"$BP$", '*'}, {"$RF$", '&'}, {"$LT$", '<'},
                 {"$GT$", '>'}, {"$LP$", '('}, {"$RP$", ')'}, {"$C$", ','}};
    char *end;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        const size_t n = strlen(known[i].escape);
        *stands_for = known[i].stands_for;
        if (strncmp(text, known[i].escape, n) == 0)
            return n;
    }
    if (text[0] == '$' && text[1] == 'u') {
        const unsigned long code = strtoul(text + 2, &end, 16);
        *stands_for = (char)code;
        if (end > text + 2 && *end == '$' && code >= 0x20 && code < 0x7f)
            return (size_t)(end + 1 - text);
    }
    return 0;
}

void demangle_old_rust(char *name)
{
    size_t n = strlen(name);
    char *to = name;
    const char *from = name, *end;
    if (!has_hash(name, n))
        return;
    end = name + n - HASH_BYTES;
    while (from < end) {
        char c;
        size_t taken = escape_at(from, &c);
        if (taken != 0) {
            *to++ = c;
            from += taken;
        } else if (from[0] == '_' && from[1] == '$' && (to == name || to[-1] == ':')) {
            from++; /* keeps a part that starts with an escape a C identifier */
        } else if (from[0] == '.' && from[1] == '.') {
            *to++ = ':';
            *to++ = ':';
            from += 2;
        } else {
            *to++ = *from++;
        }
    }
    *to = '\0';
}
