/*
 * settings.h - a copy of what a capture was started with: a followed child starts its own with it.
 */
#ifndef PROFTRACE_CAPTURE_SETTINGS_H
#define PROFTRACE_CAPTURE_SETTINGS_H

#include "capture/capture.h"

struct settings {
    size_t n_bytes;                 /* of the pages that hold all of it */
    struct capture_options options; /* all that it points to is in these pages */
    struct interp_binding binding;
};

/* Pages of its own, or NULL without memory. */
NODISCARD struct settings *settings_keep(const struct capture_options *options);
void settings_free(struct settings *settings);

/*
 * The name of a child's log: the stem, the process id and, from the second attempt on, a number: a
 * process that becomes another one keeps its id. -1: it is too long.
 */
NODISCARD int settings_child_path(const struct settings *settings, unsigned attempt, char *path,
                                  size_t n_bytes);

#endif
