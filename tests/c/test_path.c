/* test_path.c - see test_path.h. */
#include "test_path.h"

#include "check.h"

#include <sys/types.h>
#include <unistd.h>

static char folder[] = "/tmp/proftrace-test-XXXXXX";
static pid_t folder_owner;

static void remove_folder(void)
{
    char command[64];
    if (getpid() != folder_owner)
        return; /* a child that ends with exit() */
    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (system(command) != 0)
        fprintf(stderr, "%s is left behind\n", folder);
}

const char *test_path(const char *name)
{
    static char paths[16][80];
    static int next;
    char *path = paths[next++ % 16];
    if (folder_owner == 0) { /* not by its name: that may end with an X for good */
        CHECK(mkdtemp(folder) != NULL);
        folder_owner = getpid();
        atexit(remove_folder);
    }
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}
