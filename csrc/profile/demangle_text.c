/* demangle_text.c - see demangle_text.h. */
#include "profile/demangle_text.h"

#include <stdlib.h>
#include <string.h>

#define MOST_BYTES (32u << 10)

int demangled_add(struct demangled *out, const char *text, size_t n)
{
    if (n > MOST_BYTES - out->n)
        return -1;
    if (out->n + n + 1 > out->room) {
        const size_t room = 2 * (out->n + n) + 64;
        char *grown = realloc(out->text, room);
        if (grown == NULL)
            return -1;
        out->text = grown;
        out->room = room;
    }
    memcpy(out->text + out->n, text, n);
    out->n += n;
    return 0;
}

int demangled_add_code(struct demangled *out, uint32_t code)
{
    char bytes[4];
    size_t n = 0;
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return -1;
    if (code < 0x80) {
        bytes[n++] = (char)code;
    } else if (code < 0x800) {
        bytes[n++] = (char)(0xc0 | code >> 6);
        bytes[n++] = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        bytes[n++] = (char)(0xe0 | code >> 12);
        bytes[n++] = (char)(0x80 | (code >> 6 & 0x3f));
        bytes[n++] = (char)(0x80 | (code & 0x3f));
    } else {
        bytes[n++] = (char)(0xf0 | code >> 18);
        bytes[n++] = (char)(0x80 | (code >> 12 & 0x3f));
        bytes[n++] = (char)(0x80 | (code >> 6 & 0x3f));
        bytes[n++] = (char)(0x80 | (code & 0x3f));
    }
    return demangled_add(out, bytes, n);
}

/* ---- Punycode (RFC 3492) ------------------------------------------------------------------- */

enum { BASE = 36, LEAST = 1, MOST = 26, SKEW = 38, DAMP = 700, FIRST_BIAS = 72 };
#define MOST_CODES 256u

struct puny {
    const char *text;
    size_t n, at;
    uint32_t codes[MOST_CODES];
    uint32_t n_codes;
};

static int puny_digit(char c)
{
    if (c >= 'a' && c <= 'z')
        return c - 'a';
    return c >= '0' && c <= '9' ? c - '0' + 26 : -1;
}

static uint32_t next_bias(uint32_t delta, uint32_t n_codes, int is_first)
{
    uint32_t k = 0;
    delta /= is_first ? DAMP : 2;
    delta += delta / n_codes;
    for (; delta > (BASE - LEAST) * MOST / 2; k += BASE)
        delta /= BASE - LEAST;
    return k + (BASE - LEAST + 1) * delta / (delta + SKEW);
}

/* How far the next character is from the last one. -1: not a number. */
static int take_delta(struct puny *puny, uint32_t bias, uint32_t *delta)
{
    uint32_t weight = 1;
    *delta = 0;
    for (uint32_t k = BASE;; k += BASE) {
        const uint32_t threshold = k <= bias ? LEAST : k >= bias + MOST ? MOST : k - bias;
        const int digit = puny->at < puny->n ? puny_digit(puny->text[puny->at++]) : -1;
        uint32_t part;
        if (digit < 0 || __builtin_mul_overflow((uint32_t)digit, weight, &part) ||
            __builtin_add_overflow(*delta, part, delta))
            return -1;
        if ((uint32_t)digit < threshold)
            return 0;
        if (__builtin_mul_overflow(weight, BASE - threshold, &weight))
            return -1;
    }
}

static int insert_codes(struct puny *puny)
{
    uint32_t code = 0x80, place = 0, bias = FIRST_BIAS;
    for (int is_first = 1; puny->at < puny->n; is_first = 0) {
        uint32_t delta;
        if (puny->n_codes == MOST_CODES || take_delta(puny, bias, &delta) != 0)
            return -1;
        bias = next_bias(delta, puny->n_codes + 1, is_first);
        if (__builtin_add_overflow(place, delta, &place))
            return -1;
        if (__builtin_add_overflow(code, place / (puny->n_codes + 1), &code))
            return -1;
        place %= puny->n_codes + 1;
        memmove(puny->codes + place + 1, puny->codes + place,
                (puny->n_codes - place) * sizeof puny->codes[0]);
        puny->codes[place++] = code;
        puny->n_codes++;
    }
    return 0;
}

int demangled_add_punycode(struct demangled *out, const char *text, size_t n)
{
    struct puny puny = {.text = text, .n = n};
    for (size_t i = n; i > 0 && puny.at == 0; i--) {
        if (text[i - 1] != '_')
            continue;
        for (size_t k = 0; k + 1 < i; k++) {
            if (puny.n_codes == MOST_CODES)
                return -1;
            puny.codes[puny.n_codes++] = (uint8_t)text[k];
        }
        puny.at = i;
    }
    if (puny.at == n || insert_codes(&puny) != 0)
        return -1;
    for (uint32_t i = 0; i < puny.n_codes; i++) {
        if (demangled_add_code(out, puny.codes[i]) != 0)
            return -1;
    }
    return 0;
}

/* ---- the end ------------------------------------------------------------------------------- */

char *demangled_take(struct demangled *out)
{
    char *text = demangled_add(out, "", 0) == 0 ? out->text : NULL;
    if (text == NULL) {
        demangled_release(out);
        return NULL;
    }
    text[out->n] = '\0';
    *out = (struct demangled){0};
    return text;
}

void demangled_release(struct demangled *out)
{
    free(out->text);
    *out = (struct demangled){0};
}
