/* Waits of known length, looked at at random moments: what is charged is right on average. */
#include "lines/sample_park.h"

#include "lines/sample_meter.h"

#include "check.h"

#define ROUNDS 200000

static uint64_t noise = 12345;

/*
 * One wait of `length_ns`; the looks to the first in it have one mean, those in it another. Edges
 * are known or not. Returns what is charged for it, and how much of that is known.
 */
static uint64_t wait_once(uint64_t length_ns, uint64_t first, uint64_t second, bool knows_edges,
                          uint64_t *known)
{
    struct park park = {0};
    struct park_charge charge = {0};
    struct park_gap lead = {.n_waits = knows_edges ? 1 : 2};
    struct park_gap end = {.n_waits = knows_edges ? 0 : 1};
    uint64_t at = meter_wait_ns(&noise, first), sum = 0, last = at;
    *known = 0;
    if (at >= length_ns)
        return 0;
    lead.off_ns = at;
    park_begin(&park, at, first, second, &lead);
    for (at += meter_wait_ns(&noise, second); at < length_ns; at += meter_wait_ns(&noise, second)) {
        charge = park_again(&park, at);
        sum += charge.known_ns + charge.guess_ns;
        *known += charge.known_ns;
        last = at;
    }
    end.off_ns = length_ns - last;
    charge = park_end(&park, second, &end);
    *known += charge.known_ns;
    CHECK_EQ(park.n_looks, 0);
    return sum + charge.known_ns + charge.guess_ns;
}

static void check_mean(uint64_t length_ns, uint64_t first, uint64_t second, bool knows_edges,
                       double slack)
{
    double sum = 0;
    uint64_t known;
    for (int i = 0; i < ROUNDS; i++)
        sum += (double)wait_once(length_ns, first, second, knows_edges, &known);
    sum /= ROUNDS * (double)length_ns;
    if (sum < 1 - slack || sum > 1 + slack)
        fprintf(stderr, "wait of %llu us, looks of %llu and %llu us: %.4f\n",
                (unsigned long long)length_ns / 1000, (unsigned long long)first / 1000,
                (unsigned long long)second / 1000, sum);
    CHECK(sum > 1 - slack && sum < 1 + slack);
}

/* Two looks at it, and it is known to the last ns. */
static void check_long_waits(void)
{
    uint64_t known;
    for (int i = 0; i < 1000; i++) {
        CHECK_EQ(wait_once(100000000, 4000000, 1000000, true, &known), 100000000);
        CHECK_EQ(known, 100000000);
    }
}

/* Nobody looks any more. */
static void check_ends(void)
{
    struct park park = {0};
    struct park_gap before = {.off_ns = 7, .n_waits = 1};
    CHECK_EQ(park_end(&park, 10, NULL).guess_ns, 0);
    park_begin(&park, 100, 50, 10, &before);
    CHECK_EQ(park_end(&park, 10, NULL).guess_ns, 50);
    park_begin(&park, 100, 50, 10, &before);
    CHECK_EQ(park_again(&park, 120).known_ns, 27);
    CHECK_EQ(park_again(&park, 150).known_ns, 30);
    CHECK_EQ(park_end(&park, 10, NULL).known_ns, 0);
    /* Another wait in the same gap: how much of it is whose is not known. */
    before.is_shared = true;
    before.off_ns = 80;
    park_begin(&park, 100, 50, 10, &before);
    CHECK_EQ(park_again(&park, 120).guess_ns, 50);
    CHECK_EQ(park_end(&park, 10, &before).guess_ns, 10);
    park_begin(&park, 100, 50, 10, &before);
    CHECK_EQ(park_again(&park, 120).guess_ns, 50);
    CHECK_EQ(park_end(&park, 100, &before).guess_ns, 80); /* no more than there was */
    /* The very first look is at no random moment. */
    before = (struct park_gap){.n_waits = 1};
    park_begin(&park, 100, 0, 10, &before);
    before = (struct park_gap){.off_ns = 30};
    CHECK_EQ(park_end(&park, 10, &before).guess_ns, 30);
}

int main(void)
{
    static const uint64_t lengths[] = {100000, 500000, 1000000, 3000000, 8000000, 30000000};
    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        check_mean(lengths[i], 1000000, 1000000, true, 0.03);
        check_mean(lengths[i], 4000000, 1000000, true, 0.06);
        check_mean(lengths[i], 1000000, 2000000, true, 0.03);
        check_mean(lengths[i], 1000000, 1000000, false, 0.1);
    }
    check_long_waits();
    check_ends();
    return 0;
}
