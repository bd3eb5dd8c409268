/*
 * frame_nodes.h - which node a frame of the chain has.
 *
 * That depends on the node below it and on where it stands; a thread remembers what it was told of
 * the last places, by instruction address.
 */
#ifndef PROFTRACE_INTERP_FRAME_NODES_H
#define PROFTRACE_INTERP_FRAME_NODES_H

#include "interp/frames.h"

/* Top bits of a memory key: two frames at one instruction may still differ in these. */
#define KEY_GENERATOR (1ull << 63)
#define KEY_ENTRY (1ull << 62)

/* Gives the frames of the chain from `from` up their nodes again; returns that of the last. */
uint32_t frame_nodes_intern(struct frame_reader *reader, struct frame_cache *cache, uint32_t from);

#endif
