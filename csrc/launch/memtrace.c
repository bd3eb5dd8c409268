/*
 * memtrace.c - the command `memtrace`.
 *
 * Each run of a program starts here, and an interpreter that only reads options takes longer than
 * all else that recording costs a short program. So a plain `memtrace run` becomes the program's
 * interpreter straight away, with the environment that run/launch.py would give it; every other
 * command line becomes `memtrace-python`, the same command in Python, which lies beside this file.
 * The two agree by tests (tests/end_to_end/test_launcher.py).
 */
#include "launch/boot_text.h"
#include "launch/plain_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define PYTHON_COMMAND "memtrace-python"
#define BOOT_ROOM ((size_t)100 << 10) /* one variable may have 128 KiB */

extern char **environ;

/* Of the capture library: there if this process is itself recorded. */
extern void proftrace_capture_stop(void) __attribute__((weak));

/* Where this installation is. */
struct places {
    char folder[PATH_MAX]; /* of the commands */
    char python[PATH_MAX]; /* the interpreter of PYTHON_COMMAND */
    char root[PATH_MAX];   /* the folder that has the package */
    char boot[PATH_MAX];
    char library[PATH_MAX];
};

static bool join(char out[PATH_MAX], const char *folder, const char *name)
{
    const int n = snprintf(out, PATH_MAX, "%s/%s", folder, name);
    return n > 0 && n < PATH_MAX;
}

static bool find_folder(struct places *places)
{
    const ssize_t n = readlink("/proc/self/exe", places->folder, sizeof places->folder - 1);
    const char *name;
    char *slash;
    if (n > 0) {
        places->folder[n] = '\0';
    } else { /* there is no /proc */
        name = (const char *)getauxval(AT_EXECFN);
        if (name == NULL || realpath(name, places->folder) == NULL)
            return false;
    }
    slash = strrchr(places->folder, '/');
    if (slash == NULL || slash == places->folder)
        return false;
    *slash = '\0';
    return true;
}

/* The first line of the Python command names its interpreter, if it is a plain one. */
static bool find_python(struct places *places)
{
    char path[PATH_MAX], line[PATH_MAX + 2] = "";
    FILE *script;
    bool is_there;
    if (!join(path, places->folder, PYTHON_COMMAND) || (script = fopen(path, "re")) == NULL)
        return false;
    is_there = fgets(line, sizeof line, script) != NULL && strncmp(line, "#!/", 3) == 0;
    fclose(script);
    line[strcspn(line, "\n")] = '\0';
    if (!is_there || strpbrk(line, " \t\r") != NULL || strlen(line) >= PATH_MAX)
        return false;
    strcpy(places->python, line + 2);
    return access(places->python, X_OK) == 0;
}

/* Whether the interpreter lies in the folder of the commands: then the package is in its library.
 */
static bool belongs_together(const struct places *places)
{
    char folder[PATH_MAX], resolved[PATH_MAX];
    strcpy(folder, places->python);
    *strrchr(folder, '/') = '\0';
    return realpath(folder, resolved) != NULL && strcmp(resolved, places->folder) == 0;
}

static bool find_package(struct places *places)
{
    char path[PATH_MAX], package[PATH_MAX];
    return join(path, places->folder, "../lib/" PYTHON_FOLDER "/site-packages") &&
           realpath(path, places->root) != NULL && join(package, places->root, "proftrace") &&
           realpath(package, path) != NULL && strcmp(package, path) == 0 &&
           join(places->boot, package, "run/boot") && access(places->boot, X_OK) == 0 &&
           strchr(places->boot, ':') == NULL &&
           join(places->library, package, "libproftrace_capture.so") &&
           strpbrk(places->library, ": ") == NULL && access(places->library, R_OK) == 0;
}

/* What a variable changes that the Python command looks at, it is asked about. */
static bool environment_is_plain(void)
{
    static const char *const names[] = {"PYTHONPATH", "PYTHONHOME", "PYTHONPLATLIBDIR",
                                        "LD_PRELOAD", "PROFTRACE_BOOT"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (getenv(names[i]) != NULL)
            return false;
    }
    return proftrace_capture_stop == NULL;
}

static void add_program(struct boot_text *text, const struct plain_run *run)
{
    const char *name = run->kind == TARGET_COMMAND ? "-c" : run->value;
    boot_text_add_item(text, "program", name);
    boot_text_add(text, "'argv': [");
    boot_text_add_string(text, name);
    for (char **word = run->arguments; *word != NULL; word++) {
        boot_text_add(text, ", ");
        boot_text_add_string(text, *word);
    }
    boot_text_add(text, "]");
}

static void add_settings(struct boot_text *text, const struct plain_run *run)
{
    boot_text_add_item(text, "output", run->output);
    boot_text_add_truth(text, "force", run->force);
    boot_text_add_truth(text, "quiet", run->quiet);
    boot_text_add_truth(text, "native", false);
    boot_text_add_truth(text, "verify_stacks", false);
    boot_text_add_zero(text, "sample_bytes");
    boot_text_add_truth(text, "aggregate", false);
    boot_text_add_zero(text, "ring_bytes");
    boot_text_add_truth(text, "python_allocators", run->python_allocators);
    boot_text_add_truth(text, "follow_fork", false);
    boot_text_add_truth(text, "follow_children", false);
    add_program(text, run);
}

/* The value of PROFTRACE_BOOT. */
static bool write_boot(char *room, const struct plain_run *run, const struct places *places)
{
    struct boot_text text = boot_text_over(room, BOOT_ROOM);
    boot_text_add(&text, "{'tool': 'memtrace', 'settings': {");
    add_settings(&text, run);
    boot_text_add(&text, "}, 'environ': {'PYTHONPATH': None, 'LD_PRELOAD': None}, ");
    boot_text_add_item(&text, "root", places->root);
    boot_text_add_item(&text, "tag", PYTHON_TAG);
    boot_text_add(&text, "}");
    return !text.bad;
}

/* Becomes the interpreter. Comes back if that cannot be, with the environment as it was. */
static void become_target(const struct plain_run *run, const struct places *places, int argc)
{
    static char boot[BOOT_ROOM];
    char **command = calloc((size_t)argc + 4, sizeof *command);
    size_t n = 0;
    if (command == NULL || !write_boot(boot, run, places))
        return;
    command[n++] = (char *)places->python;
    if (run->kind != TARGET_SCRIPT)
        command[n++] = (char *)(run->kind == TARGET_MODULE ? "-m" : "-c");
    command[n++] = (char *)run->value;
    for (char **word = run->arguments; *word != NULL; word++)
        command[n++] = *word;
    if (setenv("PYTHONPATH", places->boot, 1) == 0 &&
        setenv("LD_PRELOAD", places->library, 1) == 0 && setenv("PROFTRACE_BOOT", boot, 1) == 0)
        execve(places->python, command, environ);
    unsetenv("PYTHONPATH");
    unsetenv("LD_PRELOAD");
    unsetenv("PROFTRACE_BOOT");
}

int main(int argc, char **argv)
{
    static struct places places;
    static struct plain_run run;
    char command[PATH_MAX];
    const bool known = find_folder(&places);
    if (known && argc > 2 && strcmp(argv[1], "run") == 0 && environment_is_plain() &&
        find_python(&places) && belongs_together(&places) && find_package(&places) &&
        plain_run_read(&run, argv + 2))
        become_target(&run, &places, argc);
    if (known && join(command, places.folder, PYTHON_COMMAND))
        execv(command, argv);
    fputs("memtrace: cannot start " PYTHON_COMMAND ", which belongs beside this command\n", stderr);
    return 1;
}
