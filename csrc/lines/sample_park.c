/* sample_park.c - see sample_park.h. */
#include "lines/sample_park.h"

#include <stddef.h>

static uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

void park_begin(struct park *park, uint64_t now_ns, uint64_t mean_ns, uint64_t next_mean_ns,
                const struct park_gap *before)
{
    *park = (struct park){
        .n_looks = 1,
        .first_ns = now_ns,
        .last_ns = now_ns,
        .first_mean_ns = mean_ns,
        .second_mean_ns = next_mean_ns,
        .lead_ns = before->off_ns,
        .is_lead_known = before->n_waits == 1 && !before->is_shared,
    };
}

struct park_charge park_again(struct park *park, uint64_t now_ns)
{
    struct park_charge charge = {.known_ns = now_ns - park->last_ns};
    park->last_ns = now_ns;
    if (park->n_looks++ != 1)
        return charge;
    if (park->is_lead_known)
        charge.known_ns += park->lead_ns;
    else
        charge.guess_ns = park->first_mean_ns;
    return charge;
}

/* 1 - e^-x */
static double chance(double x)
{
    double left = x < 64 ? 1 - x / 4096 : 0;
    for (int i = 0; i < 12; i++)
        left *= left;
    return 1 - left;
}

/*
 * P0 is that of the time to the first look, P1 that of the first look in the wait and the second
 * one behind it; both times are exponential.
 */
static double seen_once(double length, double first, double second)
{
    double difference = first - second;
    if (length <= 0 || first <= 0) /* the first look was at no random moment */
        return length + first;
    if (difference < first / 1000 && difference > -first / 1000)
        return length + first;
    return length + length * difference / second / chance(length * difference / (first * second));
}

struct park_charge park_end(struct park *park, uint64_t mean_ns, const struct park_gap *gap)
{
    struct park_charge charge = {0};
    bool is_known = gap != NULL && gap->n_waits == 0 && !gap->is_shared;
    if (park->n_looks == 1 && is_known && park->is_lead_known)
        charge.guess_ns =
            (uint64_t)seen_once((double)(park->lead_ns + gap->off_ns), (double)park->first_mean_ns,
                                (double)park->second_mean_ns);
    else if (park->n_looks == 1)
        charge.guess_ns = park->first_mean_ns;
    else if (park->n_looks > 1 && is_known)
        charge.known_ns = gap->off_ns;
    else if (park->n_looks > 1 && gap != NULL)
        charge.guess_ns =
            mean_ns > 2 * park->second_mean_ns ? lesser(gap->off_ns, mean_ns) : mean_ns;
    park->n_looks = 0;
    return charge;
}
