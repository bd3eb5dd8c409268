/*
 * got_arch.h - what differs between machines where hooks are put into other objects' tables: which
 * relocations hold the address of a function, and how to enter a hook whose caller matters.
 */
#ifndef PROFTRACE_CAPTURE_GOT_ARCH_H
#define PROFTRACE_CAPTURE_GOT_ARCH_H

#include <elf.h>
#include <link.h> /* ElfW */
#include <stdbool.h>
#include <stdint.h>

#if __ELF_NATIVE_CLASS == 64
#define GOT_R_SYM(info_) ELF64_R_SYM(info_)
#define GOT_R_TYPE(info_) ELF64_R_TYPE(info_)
#else
#define GOT_R_SYM(info_) ELF32_R_SYM(info_)
#define GOT_R_TYPE(info_) ELF32_R_TYPE(info_)
#endif

/*
 * A slot holds the address of its symbol and nothing else: an entry of the procedure table, of the
 * offset table, or a pointer in the data.
 */
static inline bool got_is_slot(uint32_t type, bool *is_lazy)
{
#if defined(__x86_64__)
    *is_lazy = type == R_X86_64_JUMP_SLOT;
    return *is_lazy || type == R_X86_64_GLOB_DAT || type == R_X86_64_64;
#elif defined(__aarch64__)
    *is_lazy = type == R_AARCH64_JUMP_SLOT;
    return *is_lazy || type == R_AARCH64_GLOB_DAT || type == R_AARCH64_ABS64;
#else
    *is_lazy = false;
    (void)type;
    return false;
#endif
}

/*
 * Whether what a relocation adds is added to its symbol's address. On x86-64 an entry of the
 * procedure table may note there where its code is (the linker's -z mark-plt); loaders ignore it.
 */
static inline bool got_adds_addend(uint32_t type)
{
#if defined(__x86_64__)
    return type != R_X86_64_JUMP_SLOT;
#else
    (void)type;
    return true;
#endif
}

/*
 * GOT_ENTRY(entry, decide, real): the function `entry` of up to three arguments asks
 * `decide(a, b, c, return address)`. What that answers is returned; without an answer the call goes
 * on to `*real` as a jump, so that whoever looks at its return address sees the program.
 */
struct got_answer {
    void *value;
    uintptr_t is_given;
};

#if defined(__x86_64__)
#define GOT_HAS_ENTRIES 1
#define GOT_ENTRY(entry_, decide_, real_)                \
    __asm__(".text\n"                                    \
            ".balign 16\n"                               \
            ".hidden " #entry_ "\n"                      \
            ".globl " #entry_ "\n"                       \
            ".type " #entry_ ", @function\n" #entry_ ":" \
            "\n"                                         \
            ".cfi_startproc\n"                           \
            "endbr64\n"                                  \
            "push %rdi\n"                                \
            ".cfi_adjust_cfa_offset 8\n"                 \
            "push %rsi\n"                                \
            ".cfi_adjust_cfa_offset 8\n"                 \
            "push %rdx\n"                                \
            ".cfi_adjust_cfa_offset 8\n"                 \
            "mov 24(%rsp), %rcx\n"                       \
            "call " #decide_ "\n"                        \
            "mov %rdx, %r11\n"                           \
            "pop %rdx\n"                                 \
            ".cfi_adjust_cfa_offset -8\n"                \
            "pop %rsi\n"                                 \
            ".cfi_adjust_cfa_offset -8\n"                \
            "pop %rdi\n"                                 \
            ".cfi_adjust_cfa_offset -8\n"                \
            "test %r11, %r11\n"                          \
            "jne 1f\n"                                   \
            "jmp *" #real_ "(%rip)\n"                    \
            "1: ret\n"                                   \
            ".cfi_endproc\n"                             \
            ".size " #entry_ ", . - " #entry_ "\n")
#elif defined(__aarch64__)
#define GOT_HAS_ENTRIES 1
#define GOT_ENTRY(entry_, decide_, real_)                \
    __asm__(".text\n"                                    \
            ".balign 16\n"                               \
            ".hidden " #entry_ "\n"                      \
            ".globl " #entry_ "\n"                       \
            ".type " #entry_ ", %function\n" #entry_ ":" \
            "\n"                                         \
            ".cfi_startproc\n"                           \
            "hint #34\n" /* bti c */                     \
            "stp x29, x30, [sp, #-48]!\n"                \
            ".cfi_def_cfa_offset 48\n"                   \
            ".cfi_offset 29, -48\n"                      \
            ".cfi_offset 30, -40\n"                      \
            "mov x29, sp\n"                              \
            "stp x0, x1, [sp, #16]\n"                    \
            "str x2, [sp, #32]\n"                        \
            "mov x3, x30\n"                              \
            "bl " #decide_ "\n"                          \
            "cbnz x1, 1f\n"                              \
            "ldp x0, x1, [sp, #16]\n"                    \
            "ldr x2, [sp, #32]\n"                        \
            "ldp x29, x30, [sp], #48\n"                  \
            "adrp x16, " #real_ "\n"                     \
            "ldr x16, [x16, :lo12:" #real_ "]\n"         \
            "br x16\n"                                   \
            "1: ldp x29, x30, [sp], #48\n"               \
            "ret\n"                                      \
            ".cfi_endproc\n"                             \
            ".size " #entry_ ", . - " #entry_ "\n")
#else
#define GOT_HAS_ENTRIES 0
#endif

#endif
