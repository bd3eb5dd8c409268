/*
 * hooks_operators.h - C++'s operators new and delete of an allocator that stands in front of the C
 * library (jemalloc, tcmalloc, mimalloc): they do not come by its malloc.
 *
 * In the tables of loaded objects only. Were they exported, they would be those of every program,
 * whose own ones may be in a library that is loaded later and that nobody can find from here.
 */
#ifndef PROFTRACE_CAPTURE_HOOKS_OPERATORS_H
#define PROFTRACE_CAPTURE_HOOKS_OPERATORS_H

#include "base/compiler.h"

/* Without these none is hooked: a hook may call its twin. */
#define NEW_OPERATORS(X)                  \
    X(_Znwm)                              \
    X(_Znam)                              \
    X(_ZnwmRKSt9nothrow_t)                \
    X(_ZnamRKSt9nothrow_t)                \
    X(_ZnwmSt11align_val_t)               \
    X(_ZnamSt11align_val_t)               \
    X(_ZnwmSt11align_val_tRKSt9nothrow_t) \
    X(_ZnamSt11align_val_tRKSt9nothrow_t)

#define DELETE_OPERATORS(X)                \
    X(_ZdlPv)                              \
    X(_ZdaPv)                              \
    X(_ZdlPvm)                             \
    X(_ZdaPvm)                             \
    X(_ZdlPvRKSt9nothrow_t)                \
    X(_ZdaPvRKSt9nothrow_t)                \
    X(_ZdlPvSt11align_val_t)               \
    X(_ZdaPvSt11align_val_t)               \
    X(_ZdlPvmSt11align_val_t)              \
    X(_ZdaPvmSt11align_val_t)              \
    X(_ZdlPvSt11align_val_tRKSt9nothrow_t) \
    X(_ZdaPvSt11align_val_tRKSt9nothrow_t)

#define DECLARE_OPERATOR(name_)                   \
    INTERNAL extern char operator_hook_##name_[]; \
    INTERNAL extern void *operator_real_##name_;
NEW_OPERATORS(DECLARE_OPERATOR)
DELETE_OPERATORS(DECLARE_OPERATOR)
#undef DECLARE_OPERATOR

#endif
