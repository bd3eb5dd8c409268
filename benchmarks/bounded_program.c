/* What bounded captures are measured on: places that allocate, each with sizes of its own. */
#include <stdint.h>
#include <stdlib.h>

#define SLOTS 20000u /* blocks that are live at a time, of one place */

/* Makes n blocks and frees those whose slots they take; returns how many bytes it asked for. */
uint64_t churn(uint64_t n, uint32_t seed, uint32_t least, uint32_t most);

uint64_t churn(uint64_t n, uint32_t seed, uint32_t least, uint32_t most)
{
    void **slots = calloc(SLOTS, sizeof *slots);
    uint64_t state = seed, bytes = 0;
    if (slots == NULL)
        return 0;
    for (uint64_t i = 0; i < n; i++) {
        uint32_t slot, size;
        state = state * 6364136223846793005u + 1442695040888963407u;
        slot = (uint32_t)(state >> 33) % SLOTS;
        size = least + (uint32_t)(state >> 48) % (most - least);
        free(slots[slot]);
        slots[slot] = malloc(size);
        bytes += size;
    }
    return bytes; /* what is live stays: it leaks */
}
