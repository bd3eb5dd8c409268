/* notice.h - the few lines that the capture library itself says on stderr. */
#ifndef PROFTRACE_CAPTURE_NOTICE_H
#define PROFTRACE_CAPTURE_NOTICE_H

/* Remembers which file stderr is now; without it, or once that has changed, nothing is written. */
void notice_start(void);

/* Writes "memtrace: <text> <path><tail>\n" in one call, without stdio; errno is kept. */
void notice_write(const char *text, const char *path, const char *tail);

/* The same with the reason of a failure between path and tail. */
void notice_failure(const char *text, const char *path, int error, const char *tail);

/* A short text for an errno; never allocates. */
const char *notice_error_text(int error);

#endif
