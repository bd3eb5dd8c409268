/* rust_name.c - see rust_name.h. */
#include "profile/rust_name.h"

#include <string.h>

#define MOST_DEPTH 256u

/* ---- reading and writing ------------------------------------------------------------------- */

void rust_fail(struct rust_name *name)
{
    name->failed = true;
}

char rust_peek_char(const struct rust_name *name)
{
    return name->failed || name->at >= name->n ? '\0' : name->text[name->at];
}

char rust_take_char(struct rust_name *name)
{
    const char c = rust_peek_char(name);
    if (c == '\0')
        rust_fail(name);
    else
        name->at++;
    return c;
}

bool rust_take_if(struct rust_name *name, char wanted)
{
    if (rust_peek_char(name) != wanted)
        return false;
    name->at++;
    return true;
}

void rust_put_n(struct rust_name *name, const char *text, size_t n)
{
    if (name->failed || name->silent != 0)
        return;
    if (demangled_add(&name->out, text, n) != 0)
        rust_fail(name);
}

void rust_put(struct rust_name *name, const char *text)
{
    rust_put_n(name, text, strlen(text));
}

void rust_put_number(struct rust_name *name, uint64_t number)
{
    char digits[24];
    size_t at = sizeof digits;
    do
        digits[--at] = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    rust_put_n(name, digits + at, sizeof digits - at);
}

/* False: too deep, or something is wrong already. */
bool rust_enter(struct rust_name *name)
{
    if (name->failed || name->depth >= MOST_DEPTH) {
        rust_fail(name);
        return false;
    }
    name->depth++;
    return true;
}

void rust_leave(struct rust_name *name)
{
    name->depth--;
}

/* ---- numbers ------------------------------------------------------------------------------- */

int rust_digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'Z' ? c - 'A' + 36 : -1;
}

/* "_" is 0, "0_" is 1. */
uint64_t rust_take_base_62(struct rust_name *name)
{
    uint64_t value = 0;
    if (rust_take_if(name, '_'))
        return 0;
    while (!name->failed && !rust_take_if(name, '_')) {
        const int digit = rust_digit_of(rust_take_char(name));
        if (digit < 0 || __builtin_mul_overflow(value, 62u, &value) ||
            __builtin_add_overflow(value, (uint64_t)digit, &value))
            rust_fail(name);
    }
    if (name->failed || __builtin_add_overflow(value, 1u, &value))
        rust_fail(name);
    return value;
}

/* 0 when the letter is not there, else one more than the number behind it. */
uint64_t rust_take_tagged(struct rust_name *name, char tag)
{
    uint64_t value;
    if (!rust_take_if(name, tag))
        return 0;
    value = rust_take_base_62(name);
    if (__builtin_add_overflow(value, 1u, &value))
        rust_fail(name);
    return value;
}

static size_t take_decimal(struct rust_name *name)
{
    size_t value = 0;
    if (rust_take_if(name, '0'))
        return 0;
    if (rust_peek_char(name) < '1' || rust_peek_char(name) > '9')
        rust_fail(name);
    while (rust_peek_char(name) >= '0' && rust_peek_char(name) <= '9') {
        value = value * 10 + (size_t)(rust_take_char(name) - '0');
        if (value > name->n)
            rust_fail(name);
    }
    return value;
}

/* ---- identifiers --------------------------------------------------------------------------- */

struct rust_identifier rust_take_plain_identifier(struct rust_name *name)
{
    struct rust_identifier found = {.text = "", .is_punycode = rust_take_if(name, 'u')};
    const size_t n = take_decimal(name);
    (void)rust_take_if(name, '_'); /* in front of a name that starts with a digit or "_" */
    if (name->failed || n > name->n - name->at) {
        rust_fail(name);
        return found;
    }
    found.text = name->text + name->at;
    found.n = n;
    name->at += n;
    return found;
}

struct rust_identifier rust_take_identifier(struct rust_name *name, uint64_t *number)
{
    *number = rust_take_tagged(name, 's');
    return rust_take_plain_identifier(name);
}

void rust_put_identifier(struct rust_name *name, struct rust_identifier identifier)
{
    if (!identifier.is_punycode)
        rust_put_n(name, identifier.text, identifier.n);
    else if (!name->failed && name->silent == 0 &&
             demangled_add_punycode(&name->out, identifier.text, identifier.n) != 0)
        rust_fail(name);
}

/* ---- references back, lifetimes ------------------------------------------------------------- */

/* Whether there is one; then the place to go on at, which leave_reference brings back. */
bool rust_enter_reference(struct rust_name *name, size_t *back)
{
    const size_t start = name->at;
    uint64_t target;
    if (!rust_take_if(name, 'B'))
        return false;
    target = rust_take_base_62(name);
    if (target >= start)
        rust_fail(name);
    *back = name->at;
    if (!name->failed)
        name->at = (size_t)target;
    return true;
}

/* What is only read has been read already where it stands. */
void rust_follow_reference(struct rust_name *name, size_t back,
                           void (*print)(struct rust_name *, bool), bool how)
{
    if (name->silent == 0)
        print(name, how);
    if (!name->failed)
        name->at = back;
}

/* 0 is one that was left out, others count from the innermost "for". */
void rust_put_lifetime(struct rust_name *name, uint64_t index)
{
    const char letter[2] = {'\'', '_'};
    uint64_t n;
    if (index == 0) {
        rust_put_n(name, letter, 2);
        return;
    }
    if (index > name->n_lifetimes) {
        rust_fail(name);
        return;
    }
    n = name->n_lifetimes - index;
    if (n < 26) {
        const char named[2] = {'\'', (char)('a' + n)};
        rust_put_n(name, named, 2);
    } else {
        rust_put_n(name, letter, 2);
        rust_put_number(name, n);
    }
}

/* "for<'a, 'b> "; what it binds holds until name->n_lifetimes is put back. */
void rust_take_binder(struct rust_name *name)
{
    const uint64_t n = rust_take_tagged(name, 'G');
    if (n > name->n) { /* more than a name could use */
        rust_fail(name);
        return;
    }
    if (n != 0)
        rust_put(name, "for<");
    for (uint64_t i = 0; i < n; i++) {
        name->n_lifetimes++;
        rust_put(name, i == 0 ? "" : ", ");
        rust_put_lifetime(name, 1);
    }
    if (n != 0)
        rust_put(name, "> ");
}
