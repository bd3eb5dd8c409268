/*
 * rust_name.h - a name of Rust's v0 scheme while it is read: what its rules are made of.
 *
 * A rule reads its part of the name and writes what it says. Once something is wrong `failed` is
 * set, and every call does nothing more. A name may refer back to parts of itself, so a short one
 * can stand for an endless one: the text has a limit, and so has how deep rules are in each other.
 * Every rule with more than one part writes something, so the limit of the text is one of time too.
 */
#ifndef PROFTRACE_PROFILE_RUST_NAME_H
#define PROFTRACE_PROFILE_RUST_NAME_H

#include "profile/demangle_text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rust_name {
    const char *text; /* borrowed, behind the "_R": references count from here */
    size_t n, at;
    struct demangled out;
    unsigned depth;
    unsigned silent;      /* > 0: nothing is written */
    uint64_t n_lifetimes; /* bound by the "for<...>" around here */
    bool failed;
};

struct rust_identifier {
    const char *text; /* a part of the name */
    size_t n;
    bool is_punycode;
};

void rust_fail(struct rust_name *name);

/* The next character, '\0' at the end; take: and goes on, which fails at the end. */
char rust_peek_char(const struct rust_name *name);
char rust_take_char(struct rust_name *name);
bool rust_take_if(struct rust_name *name, char wanted);

void rust_put_n(struct rust_name *name, const char *text, size_t n);
void rust_put(struct rust_name *name, const char *text);
void rust_put_number(struct rust_name *name, uint64_t number);

/* Around every rule that may be inside itself. False: do nothing, and do not leave. */
bool rust_enter(struct rust_name *name);
void rust_leave(struct rust_name *name);

/* 0-9, a-z and A-Z as 0 to 61; -1: another character. */
int rust_digit_of(char c);
/* A number up to its "_", which alone is 0: "0_" is 1. */
uint64_t rust_take_base_62(struct rust_name *name);
/* 0 when the letter is not there, else one more than the number behind it. */
uint64_t rust_take_tagged(struct rust_name *name, char tag);

struct rust_identifier rust_take_plain_identifier(struct rust_name *name);
/* The same behind the number that tells it from others of its name. */
struct rust_identifier rust_take_identifier(struct rust_name *name, uint64_t *number);
void rust_put_identifier(struct rust_name *name, struct rust_identifier identifier);

/* Whether the next thing is a reference back; then the name is read on where that leads. */
bool rust_enter_reference(struct rust_name *name, size_t *back);
/* Writes what is there by a call of `print` with `how`, and goes on behind the reference. */
void rust_follow_reference(struct rust_name *name, size_t back,
                           void (*print)(struct rust_name *, bool), bool how);

/* 0 is one that was left out, others count from the innermost "for". */
void rust_put_lifetime(struct rust_name *name, uint64_t index);
/* "for<'a, 'b> "; what it binds holds until the caller puts name->n_lifetimes back. */
void rust_take_binder(struct rust_name *name);

/* A path that names a value needs "::" in front of its arguments, one of a type does not. */
void rust_put_path(struct rust_name *name, bool is_value);
/* `is_inside`: where only a value may stand, so that a compound one needs no braces. */
void rust_put_constant(struct rust_name *name, bool is_inside);

#endif
