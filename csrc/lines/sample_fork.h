/*
 * sample_fork.h - the program forks: the helper thread is away until that is over.
 *
 * os.fork warns when the process has other threads, and counts them after its hooks in Python
 * (os.register_at_fork) have run (3.13.5), which give pending calls their turn.
 */
#ifndef PROFTRACE_LINES_SAMPLE_FORK_H
#define PROFTRACE_LINES_SAMPLE_FORK_H

/* Before fork, in the thread that forks: ends the helper thread if there is one. */
void fork_pause(void);

/* After it, in the parent: the helper thread is started again as soon as the fork is over. */
void fork_resume(void);

#endif
