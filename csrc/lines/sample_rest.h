/*
 * sample_rest.h - sampling stops while nobody wants to hear of any code, and leaves nothing behind:
 * no thread, no timer, no handler, but what was sampled. The thread that calls these holds the GIL.
 */
#ifndef PROFTRACE_LINES_SAMPLE_REST_H
#define PROFTRACE_LINES_SAMPLE_REST_H

#include "lines/sample_thread.h"

/* Does nothing while there is no sampling. */
void sample_rest(void);

/* Goes on after sample_rest; what the threads ran meanwhile is nobody's time. */
void sample_go_on(void);

/* In a forked child, where sample_start may be called again. */
void sample_rest_after_fork(void);

#endif
