/*
 * unwind_arch.h - what unwinding has to know of the processor and of Linux on it; the only place
 * with an #ifdef for either. UNWIND_IS_SUPPORTED is 0 where nobody has written it down.
 */
#ifndef PROFTRACE_CAPTURE_UNWIND_ARCH_H
#define PROFTRACE_CAPTURE_UNWIND_ARCH_H

#include <stdbool.h>
#include <stdint.h>
#include <signal.h>
#include <ucontext.h>

/* A frame between two instructions. */
struct unwind_state {
    uintptr_t ip;
    uintptr_t sp;
    uintptr_t fp;
    uintptr_t link; /* return address in a register, of a leaf that a signal interrupted; or 0 */
    bool exact;     /* ip is the next instruction; else a return address */
};

#if defined(__x86_64__) && defined(__linux__)

#define UNWIND_IS_SUPPORTED 1
#define UNWIND_REG_FP 6
#define UNWIND_REG_SP 7
#define UNWIND_RA_REGISTER 16
#define UNWIND_RA_IN_LINK 0 /* the call instruction stores the return address */
#define UNWIND_STRIP(ip_) (ip_)

/* The caller of the function that this stands in. */
#define UNWIND_CALLER(state_)                                                    \
    do {                                                                         \
        const uintptr_t *frame_ = (const uintptr_t *)__builtin_frame_address(0); \
        (state_)->fp = frame_[0];                                                \
        (state_)->ip = frame_[1];                                                \
        (state_)->sp = (uintptr_t)(frame_ + 2);                                  \
        (state_)->link = 0;                                                      \
        (state_)->exact = false;                                                 \
    } while (0)

/* mov $__NR_rt_sigreturn, %rax; syscall */
#define UNWIND_SIGNAL_RETURN_CODE "\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05"

/* At the return address of a handler sp points to what the kernel saved; the context lies there. */
#define UNWIND_CONTEXT_OFFSET 0
static inline void unwind_interrupted(uintptr_t sp, struct unwind_state *state)
{
    const ucontext_t *context = (const ucontext_t *)sp;
    state->ip = (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
    state->sp = (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
    state->fp = (uintptr_t)context->uc_mcontext.gregs[REG_RBP];
    state->link = 0;
    state->exact = true;
}

#elif defined(__aarch64__) && defined(__linux__)

#define UNWIND_IS_SUPPORTED 1
#define UNWIND_REG_FP 29
#define UNWIND_REG_SP 31
#define UNWIND_RA_REGISTER 30
#define UNWIND_RA_IN_LINK 1
/* Without the signature that pointer authentication puts into the top bits. */
#define UNWIND_STRIP(ip_) ((ip_) & 0xffffffffffffu)

#define UNWIND_CALLER(state_)                                                    \
    do {                                                                         \
        const uintptr_t *frame_ = (const uintptr_t *)__builtin_frame_address(0); \
        (state_)->fp = frame_[0];                                                \
        (state_)->ip = UNWIND_STRIP(frame_[1]);                                  \
        (state_)->sp = (uintptr_t)__builtin_dwarf_cfa();                         \
        (state_)->link = 0;                                                      \
        (state_)->exact = false;                                                 \
    } while (0)

/* mov x8, #__NR_rt_sigreturn; svc #0 */
#define UNWIND_SIGNAL_RETURN_CODE "\x68\x11\x80\xd2\x01\x00\x00\xd4"

#define UNWIND_CONTEXT_OFFSET sizeof(siginfo_t)
static inline void unwind_interrupted(uintptr_t sp, struct unwind_state *state)
{
    const ucontext_t *context = (const ucontext_t *)(sp + UNWIND_CONTEXT_OFFSET);
    state->ip = (uintptr_t)context->uc_mcontext.pc;
    state->sp = (uintptr_t)context->uc_mcontext.sp;
    state->fp = (uintptr_t)context->uc_mcontext.regs[29];
    state->link = UNWIND_STRIP((uintptr_t)context->uc_mcontext.regs[30]);
    state->exact = true;
}

#else

#define UNWIND_IS_SUPPORTED 0
#define UNWIND_SIGNAL_RETURN_CODE "?"
#define UNWIND_CALLER(state_) (*(state_) = (struct unwind_state){0})

#endif

#endif
