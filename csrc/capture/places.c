/* places.c - see places.h. */
#include "capture/places.h"

#include "capture/state.h"

#include <errno.h>

static uint32_t intern_node(uint32_t parent, const struct frame_place *place)
{
    int saved = errno;
    struct brief_lock brief;
    uint32_t node;
    state_lock_briefly(&brief);
    node = state_thread_is_recorded() ? definitions_node(&capture.dict, parent, place) : parent;
    state_unlock_briefly(&brief);
    errno = saved;
    return node;
}

static void hide_place(const struct frame_place *place)
{
    int saved = errno;
    struct brief_lock brief;
    state_lock_briefly(&brief);
    definitions_hide(&capture.dict, place);
    state_unlock_briefly(&brief);
    errno = saved;
}

void places_use(struct frame_reader *reader)
{
    reader->intern = intern_node;
    reader->hide = hide_place;
}
