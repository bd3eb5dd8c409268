/* sample_error.c - see sample_error.h. */
#include "lines/sample_error.h"

static double root_of(double square)
{
    double root = 1;
    for (int i = 0; i < 60 && root * root < square; i++)
        root *= 2;
    for (int i = 0; i < 8; i++)
        root = (root + square / root) / 2;
    return root;
}

uint64_t sample_add_error(uint64_t error, double squares, double gap)
{
    double of_samples = gap + root_of(squares + 0.75 * gap * gap);
    if (squares <= 0 && gap <= 0)
        return error;
    return (uint64_t)(root_of((double)error * (double)error + of_samples * of_samples) + 0.5);
}
