/* boot_text.c - see boot_text.h. */
#include "launch/boot_text.h"

#include <string.h>

struct boot_text boot_text_over(char *room, size_t n_bytes)
{
    room[0] = '\0';
    return (struct boot_text){.text = room, .room = n_bytes};
}

static void add_bytes(struct boot_text *to, const char *bytes, size_t n_bytes)
{
    if (to->bad || n_bytes >= to->room - to->n_bytes) {
        to->bad = true;
        return;
    }
    memcpy(to->text + to->n_bytes, bytes, n_bytes);
    to->n_bytes += n_bytes;
    to->text[to->n_bytes] = '\0';
}

void boot_text_add(struct boot_text *to, const char *text)
{
    add_bytes(to, text, strlen(text));
}

/* What stands for a character in a literal; its own single character otherwise. */
static const char *escape_of(char c)
{
    switch (c) {
    case '\n':
        return "\\n";
    case '\t':
        return "\\t";
    case '\\':
        return "\\\\";
    case '\'':
        return "\\'";
    default:
        return NULL;
    }
}

void boot_text_add_string(struct boot_text *to, const char *text)
{
    boot_text_add(to, "'");
    for (; *text != '\0'; text++) {
        const char *escape = escape_of(*text);
        if (escape != NULL)
            boot_text_add(to, escape);
        else if (*text < ' ' || *text > '~')
            to->bad = true;
        else
            add_bytes(to, text, 1);
    }
    boot_text_add(to, "'");
}

static void add_key(struct boot_text *to, const char *key)
{
    boot_text_add_string(to, key);
    boot_text_add(to, ": ");
}

void boot_text_add_item(struct boot_text *to, const char *key, const char *value)
{
    add_key(to, key);
    boot_text_add_string(to, value);
    boot_text_add(to, ", ");
}

void boot_text_add_truth(struct boot_text *to, const char *key, bool value)
{
    add_key(to, key);
    boot_text_add(to, value ? "True, " : "False, ");
}

void boot_text_add_zero(struct boot_text *to, const char *key)
{
    add_key(to, key);
    boot_text_add(to, "0, ");
}
