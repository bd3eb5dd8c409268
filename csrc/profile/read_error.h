/* read_error.h - why a file could not be read, for one line of text. */
#ifndef PROFTRACE_PROFILE_READ_ERROR_H
#define PROFTRACE_PROFILE_READ_ERROR_H

#include "base/compiler.h"

#include <stdarg.h>
#include <stdio.h>

enum read_error_kind {
    READ_OK,
    READ_CANNOT_OPEN, /* missing, no permission, an I/O error */
    READ_NOT_A_FILE,  /* a directory, a pipe, a device */
    READ_EMPTY,
    READ_NOT_OURS,
    READ_CUT, /* ends inside the file header */
    READ_TOO_NEW,
    READ_BYTE_ORDER,
    READ_DAMAGED, /* the file header's checksum is wrong */
    READ_NO_MEMORY,
};

struct read_error {
    enum read_error_kind kind;
    char text[160]; /* without the file's name */
};

/* Sets kind and text; returns -1, so that a caller can return it. */
PRINTF_LIKE(3, 4)
static inline int read_fail(struct read_error *error, enum read_error_kind kind, const char *format,
                            ...)
{
    va_list args;
    error->kind = kind;
    va_start(args, format);
    vsnprintf(error->text, sizeof error->text, format, args);
    va_end(args);
    return -1;
}

static inline int read_fail_memory(struct read_error *error)
{
    return read_fail(error, READ_NO_MEMORY, "there is not enough memory to read it");
}

#endif
