/* check.h - the whole test framework of tests/c: a failed CHECK says where and ends the program. */
#ifndef PROFTRACE_TESTS_CHECK_H
#define PROFTRACE_TESTS_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                          \
    do {                                                                                          \
        if (!(condition)) {                                                                       \
            fprintf(stderr, "%s:%d: %s: failed: %s\n", __FILE__, __LINE__, __func__, #condition); \
            exit(1);                                                                              \
        }                                                                                         \
    } while (0)

#define CHECK_EQ(got, want)                                                                     \
    do {                                                                                        \
        long long got_ = (long long)(got), want_ = (long long)(want);                           \
        if (got_ != want_) {                                                                    \
            fprintf(stderr, "%s:%d: %s: %s is %lld, want %lld\n", __FILE__, __LINE__, __func__, \
                    #got, got_, want_);                                                         \
            exit(1);                                                                            \
        }                                                                                       \
    } while (0)

#endif
