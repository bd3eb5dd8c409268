#include "captured.h"

#include "capture/capture.h"
#include "check.h"

void start_capture(const char *path)
{
    struct capture_options options = {.path = path, .replace = true, .quiet = true};
    const char *no_stacks;
    CHECK(proftrace_capture_start(&options, &no_stacks) == 0);
}
