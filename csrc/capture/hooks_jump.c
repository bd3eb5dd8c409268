/*
 * hooks_jump.c - longjmp and its relatives: a signal handler may leave one of our hooks for good.
 *
 * The guard would then stay set, and whatever is called from deeper on the stack would go
 * unrecorded. While the lock is held signals wait, so no handler can leave that behind.
 */
#include "capture/guard.h"
#include "capture/real.h"
#include "capture/state.h"

#include <setjmp.h>
#include <signal.h>

/* Where the stack pointer of a jump's target is in a jmp_buf, and how the C library hides it. */
static uintptr_t target_stack_pointer(struct __jmp_buf_tag *target)
{
#if defined(__GLIBC__) && defined(__x86_64__)
    uintptr_t hidden = (uintptr_t)target[0].__jmpbuf[6], secret;
    __asm__("mov %%fs:0x30, %0" : "=r"(secret));
    return (hidden >> 17 | hidden << (64 - 17)) ^ secret;
#else
    (void)target;
    return UINTPTR_MAX; /* not known: most jumps out of a handler leave all below */
#endif
}

static bool is_on_signal_stack(uintptr_t sp)
{
    stack_t alternate;
    return sigaltstack(NULL, &alternate) == 0 && (alternate.ss_flags & SS_ONSTACK) &&
           sp - (uintptr_t)alternate.ss_sp < alternate.ss_size;
}

/* A jump that stays within the handler leaves the hook below it as it is. */
static void before_jump(struct __jmp_buf_tag *target)
{
    uintptr_t sp;
    if (likely(guard_holder == 0))
        return;
    sp = target_stack_pointer(target);
    if (sp <= guard_holder || is_on_signal_stack(sp))
        return;
    state_left_by_jump();
    guard_leave();
}

#define JUMP_HOOK(name_)                                                                    \
    EXPORT void name_(struct __jmp_buf_tag target[1], int value) __attribute__((noreturn)); \
    EXPORT void name_(struct __jmp_buf_tag target[1], int value)                            \
    {                                                                                       \
        before_jump(target);                                                                \
        if (real.name_ == NULL)                                                             \
            (void)real_resolve();                                                           \
        real.name_(target, value);                                                          \
        __builtin_unreachable();                                                            \
    }
JUMP_HOOK(longjmp)
JUMP_HOOK(_longjmp)
JUMP_HOOK(siglongjmp)
JUMP_HOOK(__longjmp_chk)
