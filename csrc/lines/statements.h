/*
 * statements.h - where in a code object a LINE event is the beginning of something, and where it
 * only comes back to a line that is still in progress.
 *
 * CPython delivers a LINE event whenever execution arrives at another line: a call spread over
 * several lines is delivered again when its arguments are ready, a `with` line again at its end.
 * What users mean by hits is how often the statement (or the part of it on that line) began. The
 * analysis is static, once per code object, and knows no opcode: the caller describes control flow
 * and stack effects, which hold for every version of the interpreter.
 *
 * An event does not count if the line has an earlier instruction whose value, or whose `with`
 * block, is still on the stack. Loop headers count as entries plus iterations.
 */
#ifndef PROFTRACE_LINES_STATEMENTS_H
#define PROFTRACE_LINES_STATEMENTS_H

#include "base/compiler.h"

#include <stdbool.h>
#include <stdint.h>

enum instr_flow {
    FLOW_NEXT,   /* goes on with the next instruction */
    FLOW_JUMP,   /* always jumps */
    FLOW_BRANCH, /* either */
    FLOW_END,    /* leaves the frame, or raises */
};

/* What a counter at an instruction costs the instruction and its neighbours, worst first. */
enum instr_probe {
    PROBE_NEVER,       /* has no INSTRUCTION event, or is jumped over unseen */
    PROBE_LAST_RESORT, /* jumps, and what has an argument of more than a byte */
    PROBE_SLOWS,       /* it could not be specialised any more, or the one before it */
    PROBE_FREE,
};

/* One instruction together with the EXTENDED_ARGs in front of it. */
struct instr {
    uint32_t unit;       /* of its first EXTENDED_ARG, in 2-byte code units: where its event is */
    uint32_t own_unit;   /* of the instruction itself: where its INSTRUCTION event is */
    int32_t line;        /* 0 = none: made by the compiler, no event */
    uint32_t target;     /* index of the instruction it jumps to */
    uint32_t item;       /* if it iterates: index of the instruction that takes the item */
    uint32_t maker;      /* and of what follows the value that is iterated over; its own: unknown */
    uint32_t collects;   /* LIST_APPEND and its kind: how deep the result lies; 0 = no such thing */
    int32_t effect_next; /* change of the stack depth when it does not jump */
    int32_t effect_jump;
    uint8_t flow;        /* enum instr_flow */
    bool takes;          /* works on a value that was on the stack before */
    bool makes;          /* its result stays on the stack, however much it takes (BUILD_LIST) */
    bool makes_iterator; /* GET_ITER, in the place of what it takes */
    bool goes_on;        /* BEFORE_WITH, CLEANUP_THROW: works on what was begun before */
    bool leaves_with;    /* calls the exit of a `with` block after an exception */
    bool iterates;       /* FOR_ITER, GET_ANEXT: fetches the next item of a loop */
    bool closes_loop;    /* the way back of a loop, not the waiting loop of an await */
    bool resumes;        /* RESUME: the next event comes even when it is on the same line */
    bool enters;         /* the RESUME that each call passes; nothing before it has events */
    bool suspends;       /* YIELD_VALUE, RETURN_GENERATOR: what follows may never run */
    bool reraises;       /* RERAISE: the exception keeps the place where it was raised first */
    bool loads_global;   /* LOAD_GLOBAL */
    bool silent;         /* never has a LINE event (END_FOR, END_SEND) */
    bool uncounted;      /* may be jumped over unseen (END_FOR), or has no INSTRUCTION event */
    bool ends_block;     /* what runs behind it need not be the next instruction */
    bool loses_count;    /* how often it goes on, to wherever, cannot be told from its own count */
    bool may_stop;       /* FOR_ITER, SEND: a StopIteration ends here, and all goes on */
    uint8_t probe;       /* enum instr_probe */
};

/* One row of the exception table, in instruction indices: [start, end) is guarded. */
struct instr_guard {
    uint32_t start;
    uint32_t end;
    uint32_t target;
    int32_t depth;  /* the stack is cut to this when the handler is entered */
    int32_t pushed; /* and then gets this many values: 1, or 2 with the raising position */
};

struct instr_list {
    const struct instr *instrs;
    uint32_t n_instrs;
    const struct instr_guard *guards;
    uint32_t n_guards;
    uint32_t n_units;   /* of the whole code object */
    bool repeats_lines; /* an event may come behind a call although the line has not changed */
};

static inline bool unit_is_marked(const uint8_t *bitmap, uint32_t unit)
{
    return bitmap[unit >> 3] >> (unit & 7) & 1;
}

/* A LINE event at this code unit is a hit of another line. */
struct hit_credit {
    uint32_t unit;
    int32_t line;
};

/* What the LINE events of a code object mean. */
struct hit_rules {
    uint8_t *skip;   /* n_units bits: an event there is no hit of its own line */
    uint8_t *repeat; /* the same for what arrives from its own line; NULL = nowhere */
    struct hit_credit *credits;
    uint32_t n_credits;
};

/*
 * Fills in `rules`, to be released by hit_rules_free. Returns how many bits are set in `skip`; -1
 * when memory is out, then there is nothing to release.
 */
NODISCARD int statements_find(const struct instr_list *code, struct hit_rules *rules);
void hit_rules_free(struct hit_rules *rules);

/*
 * The same hits without LINE events, from how often instructions ran:
 *
 *     hits(line) = sum over its terms of coefficient * count(instr)
 *
 * where count is how often the instruction began, or, if `completed`, how often it began and was
 * not left by an exception (so that execution went on behind it, or jumped). A frame that is at an
 * instruction has begun but not completed it. The sum is over what happened while one counted: it
 * is exact for any stretch of time in which each beginning and each completion is counted when it
 * takes place.
 *
 * Terms never name an instruction whose executions cannot be counted (`uncounted`).
 */
struct hit_term {
    int32_t line;
    int32_t coefficient;
    uint32_t instr; /* index */
    bool completed;
};

/*
 * Puts the terms, sorted by line, into *terms (owned by the caller, to be released by free).
 * `rules` are what statements_find found. Returns how many there are; -1 when memory is out or the
 * events of this code cannot be told from instruction counts: then it has to stay with its events.
 */
NODISCARD int statements_find_terms(const struct instr_list *code, const struct hit_rules *rules,
                                    struct hit_term **terms);

#endif
