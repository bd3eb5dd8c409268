/*
 * real.h - the functions behind our hooks: the next definition after ours.
 *
 * Always callable: until they are resolved the pointers lead to functions that do that first.
 * Functions that this C library does not have stay NULL after real_resolve (see each hook).
 */
#ifndef PROFTRACE_CAPTURE_REAL_H
#define PROFTRACE_CAPTURE_REAL_H

#include "base/compiler.h"

#include <pthread.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* X(type, name, parameters): everything that hooks call. */
#define REAL_FUNCTIONS(X)                                                                         \
    X(void *, malloc, (size_t n_bytes))                                                           \
    X(void *, calloc, (size_t n, size_t n_bytes))                                                 \
    X(void *, realloc, (void *block, size_t n_bytes))                                             \
    X(void *, reallocarray, (void *block, size_t n, size_t n_bytes))                              \
    X(void, free, (void *block))                                                                  \
    X(int, posix_memalign, (void **block, size_t alignment, size_t n_bytes))                      \
    X(void *, aligned_alloc, (size_t alignment, size_t n_bytes))                                  \
    X(void *, memalign, (size_t alignment, size_t n_bytes))                                       \
    X(void *, valloc, (size_t n_bytes))                                                           \
    X(void *, pvalloc, (size_t n_bytes))                                                          \
    X(void *, mmap, (void *at, size_t n_bytes, int prot, int flags, int fd, off_t offset))        \
    X(void *, mmap64, (void *at, size_t n_bytes, int prot, int flags, int fd, off64_t offset))    \
    X(int, munmap, (void *at, size_t n_bytes))                                                    \
    X(void *, mremap, (void *at, size_t old_bytes, size_t n_bytes, int flags, ...))               \
    X(int, execve, (const char *path, char *const *argv, char *const *envp))                      \
    X(int, execv, (const char *path, char *const *argv))                                          \
    X(int, execvp, (const char *file, char *const *argv))                                         \
    X(int, execvpe, (const char *file, char *const *argv, char *const *envp))                     \
    X(int, fexecve, (int fd, char *const *argv, char *const *envp))                               \
    X(int, execveat, (int fd, const char *path, char *const *argv, char *const *envp, int flags)) \
    X(int, posix_spawn,                                                                           \
      (pid_t * pid, const char *file, const posix_spawn_file_actions_t *actions,                  \
       const posix_spawnattr_t *attributes, char *const *argv, char *const *envp))                \
    X(int, posix_spawnp,                                                                          \
      (pid_t * pid, const char *file, const posix_spawn_file_actions_t *actions,                  \
       const posix_spawnattr_t *attributes, char *const *argv, char *const *envp))                \
    X(int, system, (const char *command))                                                         \
    X(FILE *, popen, (const char *command, const char *mode))                                     \
    X(int, pthread_create,                                                                        \
      (pthread_t * thread, const pthread_attr_t *attributes, void *(*run)(void *),                \
       void *argument))                                                                           \
    X(int, dlclose, (void *handle))                                                               \
    X(int, kill, (pid_t pid, int signal_number))                                                  \
    X(void, abort, (void))                                                                        \
    X(void, longjmp, (struct __jmp_buf_tag * target, int value))                                  \
    X(void, _longjmp, (struct __jmp_buf_tag * target, int value))                                 \
    X(void, siglongjmp, (struct __jmp_buf_tag * target, int value))                               \
    X(void, __longjmp_chk, (struct __jmp_buf_tag * target, int value))                            \
    X(void, _exit, (int status))                                                                  \
    X(void, _Exit, (int status))                                                                  \
    X(void, quick_exit, (int status))

struct __jmp_buf_tag; /* what a jmp_buf is an array of */

struct real_functions {
#define REAL_POINTER(type_, name_, parameters_) type_(*name_) parameters_;
    REAL_FUNCTIONS(REAL_POINTER)
#undef REAL_POINTER
};

extern struct real_functions real;

/* Resolves all; false while that is going on already (dlsym may call malloc). */
bool real_resolve(void);

/*
 * Memory that was handed out before the real functions were known. It is never given back; a hook
 * asks before it passes a block on to the real free or realloc.
 */
#define BOOTSTRAP_BYTES (64u << 10)
extern uint8_t bootstrap[BOOTSTRAP_BYTES];

static inline bool bootstrap_owns(const void *block)
{
    return (uintptr_t)block - (uintptr_t)bootstrap < BOOTSTRAP_BYTES;
}

/* realloc of such a block: its bytes move to a real one. */
NODISCARD void *bootstrap_move(const void *block, size_t n_bytes);

#endif
