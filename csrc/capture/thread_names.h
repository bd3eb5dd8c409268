/*
 * thread_names.h - what threads are called that were there before the recording began: nobody told
 * us when they were started. With the capture lock held.
 */
#ifndef PROFTRACE_CAPTURE_THREAD_NAMES_H
#define PROFTRACE_CAPTURE_THREAD_NAMES_H

#include "capture/capture.h"

/* Copies them; what an earlier capture left is dropped. Without memory there are none. */
void thread_names_keep(const struct capture_thread_name *threads, size_t n);
void thread_names_forget(void);

/* NULL: nobody has said. */
const char *thread_names_find(uint64_t tid);

#endif
