/*
 * hooks_operators.c - see hooks_operators.h. The hooks have names of their own and are entered
 * through tables only; the C++ names are those of the Itanium ABI where size_t is unsigned long.
 *
 * An exception must not come by a hook, which would be left with its guard set. So instead of an
 * operator that throws its quiet twin is asked first, and itself only after that has failed,
 * without the guard.
 */
#include "capture/guard.h"
#include "capture/recorder.h"

#include <stddef.h>

/* hooks_operators.h declares hooks as addresses without a type, for the table. */
#define REAL(name_)                              \
    INTERNAL extern void *operator_real_##name_; \
    void *operator_real_##name_

/* Stands for std::nothrow: of that argument only the type counts. */
static const char quiet;

static NOINLINE void record_new(enum event_kind kind, const void *block, size_t n_bytes)
{
    if (likely(block != NULL))
        recorder_allocated(kind, block, n_bytes);
}

static bool is_recording(void)
{
    return __atomic_load_n(&capture_on, __ATOMIC_RELAXED) != 0;
}

#define PLAIN_HOOKS(name_, twin_)                                                     \
    REAL(name_);                                                                      \
    REAL(twin_);                                                                      \
    INTERNAL void *operator_hook_##twin_(size_t n_bytes, const void *tag);            \
    INTERNAL void *operator_hook_##name_(size_t n_bytes);                             \
    void *operator_hook_##twin_(size_t n_bytes, const void *tag)                      \
    {                                                                                 \
        void *(*real_twin)(size_t, const void *) =                                    \
            (void *(*)(size_t, const void *))operator_real_##twin_;                   \
        void *block;                                                                  \
        if (!guard_enter_for(CAPTURE_NEW))                                            \
            return real_twin(n_bytes, tag);                                           \
        block = real_twin(n_bytes, tag);                                              \
        record_new(EVENT_MALLOC, block, n_bytes);                                     \
        guard_leave();                                                                \
        return block;                                                                 \
    }                                                                                 \
    void *operator_hook_##name_(size_t n_bytes)                                       \
    {                                                                                 \
        void *block = is_recording() ? operator_hook_##twin_(n_bytes, &quiet) : NULL; \
        if (unlikely(block == NULL))                                                  \
            block = ((void *(*)(size_t))operator_real_##name_)(n_bytes);              \
        return block;                                                                 \
    }
PLAIN_HOOKS(_Znwm, _ZnwmRKSt9nothrow_t)
PLAIN_HOOKS(_Znam, _ZnamRKSt9nothrow_t)

#define ALIGNED_HOOKS(name_, twin_)                                                              \
    REAL(name_);                                                                                 \
    REAL(twin_);                                                                                 \
    INTERNAL void *operator_hook_##twin_(size_t n_bytes, size_t alignment, const void *tag);     \
    INTERNAL void *operator_hook_##name_(size_t n_bytes, size_t alignment);                      \
    void *operator_hook_##twin_(size_t n_bytes, size_t alignment, const void *tag)               \
    {                                                                                            \
        void *(*real_twin)(size_t, size_t, const void *) =                                       \
            (void *(*)(size_t, size_t, const void *))operator_real_##twin_;                      \
        void *block;                                                                             \
        if (!guard_enter_for(CAPTURE_NEW))                                                       \
            return real_twin(n_bytes, alignment, tag);                                           \
        block = real_twin(n_bytes, alignment, tag);                                              \
        record_new(EVENT_ALIGNED_ALLOC, block, n_bytes);                                         \
        guard_leave();                                                                           \
        return block;                                                                            \
    }                                                                                            \
    void *operator_hook_##name_(size_t n_bytes, size_t alignment)                                \
    {                                                                                            \
        void *block = is_recording() ? operator_hook_##twin_(n_bytes, alignment, &quiet) : NULL; \
        if (unlikely(block == NULL))                                                             \
            block = ((void *(*)(size_t, size_t))operator_real_##name_)(n_bytes, alignment);      \
        return block;                                                                            \
    }
ALIGNED_HOOKS(_ZnwmSt11align_val_t, _ZnwmSt11align_val_tRKSt9nothrow_t)
ALIGNED_HOOKS(_ZnamSt11align_val_t, _ZnamSt11align_val_tRKSt9nothrow_t)

/* What follows the block (size, alignment, tag) are at most two words in registers. */
#define DELETE_HOOK(name_)                                                         \
    REAL(name_);                                                                   \
    INTERNAL void operator_hook_##name_(void *block, size_t first, size_t second); \
    void operator_hook_##name_(void *block, size_t first, size_t second)           \
    {                                                                              \
        void (*real_delete)(void *, size_t, size_t) =                              \
            (void (*)(void *, size_t, size_t))operator_real_##name_;               \
        const bool is_event = block != NULL && guard_enter();                      \
        if (is_event)                                                              \
            recorder_event(EVENT_FREE, block, 0);                                  \
        real_delete(block, first, second);                                         \
        if (is_event) {                                                            \
            recorder_released(block);                                              \
            guard_leave();                                                         \
        }                                                                          \
    }
DELETE_HOOK(_ZdlPv)
DELETE_HOOK(_ZdaPv)
DELETE_HOOK(_ZdlPvm)
DELETE_HOOK(_ZdaPvm)
DELETE_HOOK(_ZdlPvRKSt9nothrow_t)
DELETE_HOOK(_ZdaPvRKSt9nothrow_t)
DELETE_HOOK(_ZdlPvSt11align_val_t)
DELETE_HOOK(_ZdaPvSt11align_val_t)
DELETE_HOOK(_ZdlPvmSt11align_val_t)
DELETE_HOOK(_ZdaPvmSt11align_val_t)
DELETE_HOOK(_ZdlPvSt11align_val_tRKSt9nothrow_t)
DELETE_HOOK(_ZdaPvSt11align_val_tRKSt9nothrow_t)
