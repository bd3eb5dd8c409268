/* test_unwind.c - the native stack under a signal handler, compared with what the test knows. */
#include "interp/unwind.h"
#include "interp/objects.h"

#include "base/arena.h"
#include "check.h"

#include <dlfcn.h>
#include <signal.h>
#include <string.h>

#define MOST_FRAMES 32
/* Compiled as it stands, under its own address. */
#define NOIPA __attribute__((noipa))

static struct unwind *unwind;
static uintptr_t pcs[MOST_FRAMES];
static int n_pcs;

static void on_signal(int number, siginfo_t *info, void *context)
{
    struct unwind_frame frame;
    (void)number, (void)info;
    peek_forget(unwind->peek);
    unwind_start(&frame, context);
    n_pcs = 0;
    do
        pcs[n_pcs++] = frame.pc;
    while (n_pcs < MOST_FRAMES && unwind_step(unwind, &frame));
}

/* Whether some frame is in the procedure of this function; returns its place, -1 if none is. */
static int place_of(int (*function)(int, const void *))
{
    for (int i = 0; i < n_pcs; i++) {
        uintptr_t start, end;
        if (unwind_procedure(unwind, i == 0 ? pcs[i] : pcs[i] - 1, &start, &end) &&
            start == (uintptr_t)function)
            return i;
    }
    return -1;
}

static NOIPA int innermost(int depth, const void *unused)
{
    volatile char room[3000];
    (void)unused;
    room[0] = (char)depth;
    raise(SIGUSR1);
    return room[0];
}

/* A frame whose size is not known at compile time needs a frame pointer. */
static NOIPA int middle(int depth, const void *unused)
{
    volatile char *room = __builtin_alloca((size_t)depth * 100 + 1);
    (void)unused;
    room[0] = 1;
    return innermost(depth, NULL) + room[0];
}

/* Aligned locals move the stack pointer by what is only known at run time. */
static NOIPA int aligned(int depth, const void *unused)
{
    volatile char room[256] __attribute__((aligned(128)));
    (void)unused;
    room[depth] = 2;
    return middle(depth, NULL) + room[depth];
}

static int compare(const void *left, const void *right)
{
    (void)right;
    if (*(const int *)left == 7)
        aligned(3, NULL);
    return 0;
}

static NOIPA int through_library(int depth, const void *unused)
{
    int items[] = {7, 7};
    (void)unused;
    qsort(items, 2, sizeof items[0], compare);
    return items[0] + depth;
}

static void every_caller_is_found(void)
{
    through_library(5, NULL);
    CHECK(place_of(innermost) > 0); /* below the frames of raise() */
    CHECK(place_of(middle) == place_of(innermost) + 1);
    CHECK(place_of(aligned) == place_of(middle) + 1);
    CHECK(place_of(through_library) > place_of(aligned) + 1); /* qsort is in between */
    CHECK(place_of(NULL) == -1);
}

static void a_walk_starts_where_the_thread_stands(void)
{
    innermost(1, NULL);
    CHECK(place_of(innermost) > 0);
    CHECK(place_of(middle) == -1);
}

static void a_second_walk_is_the_same(void)
{
    uintptr_t before[MOST_FRAMES];
    int n;
    through_library(5, NULL);
    n = place_of(through_library); /* what calls it may be unrolled */
    memcpy(before, pcs, sizeof pcs);
    for (int i = 0; i < 3; i++) {
        through_library(5, NULL);
        CHECK_EQ(place_of(through_library), n);
        CHECK(memcmp(before, pcs, (size_t)n * sizeof pcs[0]) == 0);
    }
}

static void procedures_are_the_linkers(void)
{
    uintptr_t start, end;
    CHECK(unwind_procedure(unwind, (uintptr_t)innermost + 3, &start, &end));
    CHECK(start == (uintptr_t)innermost && end > start + 3);
    CHECK(!unwind_is_fragment(unwind, start));
    CHECK(unwind_procedure(unwind, (uintptr_t)dlsym(RTLD_DEFAULT, "qsort"), &start, &end));
    CHECK(!unwind_procedure(unwind, (uintptr_t)&pcs, &start, &end));
}

static void unknown_code_ends_the_walk_and_asks_for_a_new_list(void)
{
    struct unwind_frame frame = {.pc = 0x10, .is_interrupted = true};
    CHECK(unwind_read_objects() == 0);
    CHECK(!unwind_is_outdated());
    CHECK(!unwind_step(unwind, &frame));
    CHECK(unwind_is_outdated());
    CHECK(unwind_read_objects() == 0);
    CHECK(!unwind_is_outdated());
}

/* Registers that hold nonsense: the walk ends, and nothing faults. */
static void nonsense_in_registers_does_no_harm(void)
{
    uint64_t noise = 88172645463325252ull;
    for (int i = 0; i < 20000; i++) {
        struct unwind_frame frame = {.pc = (uintptr_t)middle + (size_t)i % 64,
                                     .is_interrupted = i % 2};
        for (unsigned k = 0; k < UNWIND_REGISTERS; k++) {
            noise ^= noise << 13, noise ^= noise >> 7, noise ^= noise << 17;
            frame.registers[k] =
                i % 3 == 0 ? noise >> (noise & 63) : (uintptr_t)&frame + noise % 512;
        }
        for (int k = 0; k < MOST_FRAMES && unwind_step(unwind, &frame); k++)
            ;
    }
    CHECK(true);
}

static void objects_are_ascending_and_found(void)
{
    const struct object_list *list = objects_list();
    CHECK(list != NULL && list->n > 1);
    for (uint32_t i = 0; list != NULL && i < list->n; i++) {
        CHECK(list->codes[i].start < list->codes[i].end);
        CHECK(i == 0 || list->codes[i - 1].end <= list->codes[i].start);
        CHECK(objects_find(list, list->codes[i].start) == &list->codes[i]);
        CHECK(objects_find(list, list->codes[i].end - 1) == &list->codes[i]);
    }
    CHECK(objects_find(list, 0) == NULL && objects_find(list, UINTPTR_MAX) == NULL);
    CHECK(objects_find(NULL, (uintptr_t)middle) == NULL);
}

int main(void)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    unwind = pages_alloc(sizeof *unwind);
    CHECK(unwind != NULL);
    unwind->peek = pages_alloc(sizeof *unwind->peek);
    CHECK(unwind->peek != NULL && unwind_read_objects() == 0);
    sigaction(SIGUSR1, &action, NULL);
    every_caller_is_found();
    a_walk_starts_where_the_thread_stands();
    a_second_walk_is_the_same();
    procedures_are_the_linkers();
    objects_are_ascending_and_found();
    nonsense_in_registers_does_no_harm();
    unknown_code_ends_the_walk_and_asks_for_a_new_list();
    return 0;
}
