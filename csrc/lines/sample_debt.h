/*
 * sample_debt.h - what hot code costs a cold line that waits for it.
 *
 * The clock of a cold line runs on while the line calls hot code, whose events go into the thread's
 * debt. At their calibrated cost that is not right everywhere: what an event takes depends on the
 * place, and for exceptions more so. Samples know the truth: it is the weight of those that are
 * discarded. So what events of hot code are charged is scaled, such that in the long run it adds up
 * to what samples say. Every hit pays for its own events; none pays when a sample comes.
 */
#ifndef PROFTRACE_LINES_SAMPLE_DEBT_H
#define PROFTRACE_LINES_SAMPLE_DEBT_H

#include "lines/account.h"

/* What was learned about the events of a thread. Times in ticks; of late only, see DEBT_MEMORY. */
struct sample_debt {
    uint64_t due_seen; /* the thread's hot_due at the last sample */
    double due;        /* by the calibration */
    double charged;
    double lost;      /* by the samples */
    double due_each;  /* between two samples with hot events, on average */
    double weight;    /* of such a sample, on average */
    uint32_t n_known; /* samples with hot events */
};

/* What a sample says. */
struct debt_sample {
    uint64_t weight; /* in ticks */
    uint64_t lost;   /* all that hot code has cost since the last sample, in ticks */
};

/*
 * A sample of the calling thread: sets what its events of hot code are charged from now on.
 */
void debt_learn(struct sample_debt *known, struct lines_thread *account,
                const struct debt_sample *sample);

/* A signal itself took so many ticks, wherever it came. */
void debt_add_signal(struct lines_thread *account, uint64_t ticks);

#endif
