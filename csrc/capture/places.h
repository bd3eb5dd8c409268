/*
 * places.h - what the walk asks the dictionary: nodes of places, and those that get none.
 */
#ifndef PROFTRACE_CAPTURE_PLACES_H
#define PROFTRACE_CAPTURE_PLACES_H

#include "interp/frames.h"

/* Lets a reader ask the capture's dictionary from now on. */
void places_use(struct frame_reader *reader);

#endif
