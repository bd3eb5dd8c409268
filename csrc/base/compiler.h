/* compiler.h - the only compiler and C library #ifdefs of the project. */
#ifndef PROFTRACE_BASE_COMPILER_H
#define PROFTRACE_BASE_COMPILER_H

#include <features.h> /* __GLIBC__ */

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* Everything is built with hidden visibility; EXPORT is what the loader may see. */
#define EXPORT __attribute__((visibility("default")))
/* Says so to those who only see a declaration, too: they need not ask the linker where it is. */
#define INTERNAL __attribute__((visibility("hidden")))
#define NODISCARD __attribute__((warn_unused_result))
#define NOINLINE __attribute__((noinline))
#define ALWAYS_INLINE inline __attribute__((always_inline))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))

/* A short text for an errno, without locale and so without malloc. NULL if there is none. */
#ifdef __GLIBC__
#define ERRNO_TEXT(error_) strerrordesc_np(error_)
#else
#define ERRNO_TEXT(error_) strerror(error_)
#endif

/* Whether the loader hands a constructor what main gets. */
#ifdef __GLIBC__
#define CONSTRUCTORS_GET_ARGUMENTS 1
#else
#define CONSTRUCTORS_GET_ARGUMENTS 0
#endif

/* What thread-local storage is found from; 0 where the compiler cannot tell. */
#if defined(__has_builtin)
#if __has_builtin(__builtin_thread_pointer)
#define THREAD_POINTER() ((uintptr_t)__builtin_thread_pointer())
#endif
#endif
#ifndef THREAD_POINTER
#define THREAD_POINTER() ((uintptr_t)0)
#endif

/* Two reads or writes that must not be merged or reordered by the compiler. */
#define COMPILER_BARRIER() __asm__ __volatile__("" ::: "memory")

/*
 * Thread-local storage that is one load away and never calls malloc. glibc gives a dlopen'ed
 * object its initial-exec block from the static TLS surplus; musl refuses to, and never
 * allocates thread-local storage late, so local-dynamic is as safe there.
 */
#ifdef __GLIBC__
#define TLS_FAST __thread __attribute__((tls_model("initial-exec")))
#else
#define TLS_FAST __thread __attribute__((tls_model("local-dynamic")))
#endif

#endif
