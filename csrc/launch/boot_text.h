/*
 * boot_text.h - a Python literal in the making: what PROFTRACE_BOOT holds (run/launch.py reads and
 * writes the same).
 *
 * A text that cannot be written here makes the whole literal bad, which is all that is ever asked.
 */
#ifndef PROFTRACE_LAUNCH_BOOT_TEXT_H
#define PROFTRACE_LAUNCH_BOOT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct boot_text {
    char *text; /* the caller's room, always with a NUL at its end */
    size_t n_bytes;
    size_t room;
    bool bad; /* it did not fit, or had other characters than plain ones */
};

/* A literal over the caller's room, empty so far. */
struct boot_text boot_text_over(char *room, size_t n_bytes);

/* Adds text as it is. */
void boot_text_add(struct boot_text *to, const char *text);

/* Adds a str literal; its text may hold ASCII that can be printed, newlines and tabs. */
void boot_text_add_string(struct boot_text *to, const char *text);

/* Adds a key of a dict and its value, with a comma behind: a text, True or False, a 0. */
void boot_text_add_item(struct boot_text *to, const char *key, const char *value);
void boot_text_add_truth(struct boot_text *to, const char *key, bool value);
void boot_text_add_zero(struct boot_text *to, const char *key);

#endif
