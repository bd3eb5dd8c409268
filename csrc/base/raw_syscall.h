/*
 * raw_syscall.h - system calls that touch nothing of the C library: no errno, no thread-local
 * memory. For code that runs in this process's memory and is none of its threads.
 */
#ifndef PROFTRACE_BASE_RAW_SYSCALL_H
#define PROFTRACE_BASE_RAW_SYSCALL_H

#include "base/compiler.h"

#include <sys/syscall.h> /* for callers: SYS_read and the like */

#if defined(__x86_64__)
#define HAS_RAW_SYSCALLS 1
static ALWAYS_INLINE long raw_syscall(long number, long a, long b, long c, long d)
{
    long result;
    register long r10 __asm__("r10") = d;
    __asm__ __volatile__("syscall"
                         : "=a"(result)
                         : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
                         : "rcx", "r11", "memory");
    return result;
}
#elif defined(__aarch64__)
#define HAS_RAW_SYSCALLS 1
static ALWAYS_INLINE long raw_syscall(long number, long a, long b, long c, long d)
{
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    __asm__ __volatile__("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
    return x0;
}
#else
#define HAS_RAW_SYSCALLS 0
static ALWAYS_INLINE long raw_syscall(long number, long a, long b, long c, long d)
{
    (void)number, (void)a, (void)b, (void)c, (void)d;
    return -1;
}
#endif

#endif
