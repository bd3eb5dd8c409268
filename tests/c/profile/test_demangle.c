/*
 * Names that rustc 1.95 gave to a program written for this (crate "a", which has every kind of type
 * among its generic arguments), the grammar's rarer rules by hand, and names with mistakes.
 */
#include "profile/demangle.h"

#include "check.h"

#include <stdlib.h>
#include <string.h>

struct example {
    const char *name, *text;
};

#define A "Cs6xxl1lAjzDf_1a"

static const struct example real_names[] = {
    {"_RNvNtNt" A "u8gdel_5qa6escher4bach", "a::gödel::escher::bach"},
    {"_RNvMs_" A "INtB4_3FoohKj3_E3ownB4_", "<a::Foo<u8, 3>>::own"},
    {"_RNCNvMs_" A "INtB6_3FoohKj3_E3own0B6_", "<a::Foo<u8, 3>>::own::{closure#0}"},
    {"_RNvX" A "INtB2_3FoohKj3_ENtB2_2Tr2goB2_", "<a::Foo<u8, 3> as a::Tr>::go"},
    {"_RNvYINt" A "3FoohKj3_ENtB5_2Tr4dfltB5_", "<a::Foo<u8, 3> as a::Tr>::dflt"},
    {"_RINv" A "3genATncuEj2_EB2_", "a::gen::<[(i128, char, ()); 2]>"},
    {"_RINv" A "3genSyEB2_", "a::gen::<[u64]>"},
    {"_RINv" A "3genDNtB2_2Trp3OuthEL_EB2_", "a::gen::<dyn a::Tr<Out = u8>>"},
    {"_RINv" A "3genDG_INtNtNtCsgEmfK2I1SDS_4core3ops8function2FnTRL0_hQL0_eEEp6OutputRL0_h"
     "NtNtBw_6marker4SendEL_EB2_",
     "a::gen::<dyn for<'a> core::ops::function::Fn<(&'a u8, &'a mut str), Output = &'a u8> + "
     "core::marker::Send>"},
    {"_RINv" A "3genFG0_RL1_hRL0_DG_INtNtNtCsgEmfK2I1SDS_4core3ops8function2FnTRL0_hRL2_hEEp6Output"
     "uEL0_EuEB2_",
     "a::gen::<for<'a, 'b> fn(&'a u8, &'b dyn for<'c> core::ops::function::Fn<(&'c u8, &'a u8), "
     "Output = ()> + 'b)>"},
    {"_RINv" A "3genFG_QL0_ShThEThsEEzEB2_",
     "a::gen::<for<'a> fn(&'a mut [u8], (u8,), (u8, i16)) -> !>"},
    {"_RINv" A "3genFUKCPhOaEfEB2_", "a::gen::<unsafe extern \"C\" fn(*const u8, *mut i8) -> f32>"},
    {"_RINv" A "3genNCNvB2_5later0EB2_", "a::gen::<a::later::{closure#0}>"},
    {"_RINv" A "5konstKb0_Kc27_Kx7fffffffffffffff_Ko0_EB2_",
     "a::konst::<false, '\\'', 9223372036854775807, 0>"},
    {"_RINv" A "5konstKb0_Kca_Kxn8000000000000000_Ko10000000000000000_EB2_",
     "a::konst::<false, '\\n', -9223372036854775808, 0x10000000000000000>"},
    {"_RINv" A "5konstKb1_Kce9_Kxn5_Ko3_EB2_", "a::konst::<true, 'é', -5, 3>"},
};

static const struct example rare_rules[] = {
    {"_RC1a", "a"},
    {"_RNvC1a1f.llvm.1234567", "a::f"},
    {"_RNvC1a1f$hot", "a::f"},
    {"_RNvC1a2_9x", "a::9x"}, /* a "_" in front of a name that starts with a digit */
    {"_RNSNvC1a1f6vtable0", NULL},
    {"_RNSNvC1a1f6vtable", "a::f::{shim:vtable#0}"},
    {"_RNKNvC1a1fs0_0", "a::f::{K#2}"},
    {"_RINvC1a1fL_E", "a::f::<'_>"},
    {"_RINvC1a1fpE", "a::f::<_>"},
    {"_RINvC1a1fKpE", "a::f::<_>"},
    {"_RINvC1a1fFK10vectorcalluEuE", "a::f::<extern \"vectorcall\" fn(())>"},
    {"_RINvC1a1fFK5a_b_cEuE", "a::f::<extern \"a-b-c\" fn()>"},
    {"_RINvC1a1fKRe616263_E", "a::f::<\"abc\">"},
    {"_RINvC1a1fKRec3a90a22_E", "a::f::<\"é\\n\\\"\">"},
    {"_RINvC1a1fKe61_E", "a::f::<{*\"a\"}>"},
    {"_RINvC1a1fKRe_KRj1_KQn1_E", "a::f::<\"\", {&1}, {&mut 1}>"}, /* n: i128, not a minus */
    {"_RINvC1a1fKRe_KRj1_KQan1_E", "a::f::<\"\", {&1}, {&mut -1}>"},
    {"_RINvC1a1fKAh1_h2_EKTh1_EKTh1_c41_EE", "a::f::<{[1, 2]}, {(1,)}, {(1, 'A')}>"},
    {"_RINvC1a1fKVNtC1a4NoneUKVNtC1a4SomeTj7_EKVNtC1a1PS1xl1_1yb1_EE",
     "a::f::<{a::None}, {a::Some(7)}, {a::P { x: 1, y: true }}>"},
    {"_RINvC1a1fKc0_Kc7f_E", "a::f::<'\\u{0}', '\\u{7f}'>"},
    {"_RNvC1au3tda2f", NULL}, /* Punycode without a "_": all of it are digits */
    {"_RNvC1au3tda", "a::ü"},
};

static const struct example older_names[] = {
    {"_ZN4core3ptr42drop_in_place$LT$alloc..string..String$GT$17h9c5b1fe9a8a0f5bcE",
     "core::ptr::drop_in_place<alloc::string::String>"},
    {"_ZN4core3ops8function5impls79_$LT$impl$u20$core..ops..function..FnMut$LT$A$GT$$u20$for$u20$"
     "$RF$mut$u20$F$GT$8call_mut17h9c5b1fe9a8a0f5bcE",
     "core::ops::function::impls::<impl core::ops::function::FnMut<A> for &mut F>::call_mut"},
    {"_ZN3foo3barEv", "foo::bar()"}, /* C++ */
    {"_ZN1a4h$XYE", "a::h$XY"},
};

static const char *const no_names[] = {
    "_RE",
    "_RN",
    "_RNvC1a",
    "_RNvC1a2x",
    "_REALLOC",
    "_Run",
    "_R",
    "_R0C1a",
    "_RNvC1a1fzz",
    "_RIC1aB3_E" /* leads to itself */,
    "_RIC1aB_E",
    "_RB_",
    "_RINvC1a1fL0_E" /* bound nowhere */,
    "_RC1as",
    "_RNvCs_",
    "_RC99999999999999999999a",
    "_RNvCszzzzzzzzzzzzz_1a1f",
    "_RINvC1a1fKb2_E",
    "_RINvC1a1fKcd800_E",
    "_RINvC1a1fKc110000_E",
    "_RINvC1a1fAhE",
    "_RINvC1a1fDE",
    "_RNvC1au1_",
    "_RNvC1au4____",
    "_RYC1a",
    "_RINvC1a1fKVC1aXE",
};

/* NULL: the name stays as it is. */
static void check_text(const char *name, const char *text)
{
    const char *wanted = text == NULL ? name : text;
    char *got = demangle(name);
    CHECK(got != NULL);
    if (strcmp(got, wanted) != 0) {
        fprintf(stderr, "%s is %s, want %s\n", name, got, wanted);
        exit(1);
    }
    free(got);
}

static void check_all(const struct example *examples, size_t n)
{
    for (size_t i = 0; i < n; i++)
        check_text(examples[i].name, examples[i].text);
}
#define CHECK_ALL(examples_) check_all(examples_, sizeof examples_ / sizeof examples_[0])

static void what_is_no_such_name_stays(void)
{
    for (size_t i = 0; i < sizeof no_names / sizeof no_names[0]; i++)
        check_text(no_names[i], NULL);
    check_text("", NULL);
    check_text("malloc", NULL);
}

/* Each part of a name alone is a mistake or another name: neither may do harm. */
static void every_prefix_and_every_changed_letter_is_survived(void)
{
    static const char letters[] = "0B_EINXY";
    for (size_t i = 0; i < sizeof real_names / sizeof real_names[0]; i++) {
        const size_t n = strlen(real_names[i].name);
        for (size_t at = 0; at < n; at++) {
            char *name = strdup(real_names[i].name);
            CHECK(name != NULL);
            for (const char *letter = letters; *letter != '\0'; letter++) {
                name[at] = *letter;
                free(demangle(name));
            }
            name[at] = '\0';
            free(demangle(name));
            free(name);
        }
    }
}

static void a_name_that_would_never_end_stays(void)
{
    char name[4096] = "_RINvC1a1f", *end = name + strlen(name);
    size_t before = strlen(name) - 2;
    memset(end, 'R', 600); /* deeper than anything that is written by hand */
    strcpy(end + 600, "eE");
    check_text(name, NULL);
    /* Pairs of pairs of pairs: 40 of them are 2^40 types. */
    strcpy(end, "TeeE");
    for (int i = 0; i < 40; i++) {
        const size_t here = strlen(name) - 2;
        static const char digits[] =
            "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
        char reference[8];
        const size_t value = before - 1;
        if (value < 62)
            snprintf(reference, sizeof reference, "B%c_", digits[value]);
        else
            snprintf(reference, sizeof reference, "B%c%c_", digits[value / 62], digits[value % 62]);
        snprintf(name + strlen(name), sizeof name - strlen(name), "T%s%sE", reference, reference);
        before = here;
    }
    strcat(name, "E");
    check_text(name, NULL);
}

int main(void)
{
    CHECK_ALL(real_names);
    CHECK_ALL(rare_rules);
    CHECK_ALL(older_names);
    what_is_no_such_name_stays();
    every_prefix_and_every_changed_letter_is_survived();
    a_name_that_would_never_end_stays();
    return 0;
}
