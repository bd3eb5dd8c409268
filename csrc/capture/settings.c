/* settings.c - see settings.h. */
#include "capture/settings.h"

#include "base/arena.h" /* pages */

#include <stdio.h> /* snprintf */
#include <string.h>
#include <unistd.h>

static const char *copy_text(char **to, const char *text)
{
    char *start = *to;
    size_t n = strlen(text) + 1;
    memcpy(start, text, n);
    *to += n;
    return start;
}

static const char *stem_of(const struct capture_options *options)
{
    return options->stem == NULL ? options->path : options->stem;
}

struct settings *settings_keep(const struct capture_options *options)
{
    const size_t metas_bytes = options->n_metas * sizeof options->metas[0];
    size_t n_bytes = sizeof(struct settings) + metas_bytes + strlen(stem_of(options)) + 1;
    struct settings *kept;
    struct capture_meta *metas;
    char *texts;
    for (size_t i = 0; i < options->n_metas; i++)
        n_bytes += strlen(options->metas[i].key) + strlen(options->metas[i].value) + 2;
    kept = pages_alloc(n_bytes);
    if (kept == NULL)
        return NULL;
    metas = (struct capture_meta *)(kept + 1);
    texts = (char *)metas + metas_bytes;
    kept->n_bytes = n_bytes;
    kept->options = *options;
    kept->options.path = NULL; /* each child has one of its own */
    kept->options.stem = copy_text(&texts, stem_of(options));
    kept->options.own_folder = NULL;
    kept->options.threads = NULL; /* they are not in the child */
    kept->options.n_threads = 0;
    kept->options.replace = false;
    kept->options.quiet = true;
    for (size_t i = 0; i < options->n_metas; i++) {
        metas[i].key = copy_text(&texts, options->metas[i].key);
        metas[i].value = copy_text(&texts, options->metas[i].value);
    }
    kept->options.metas = metas;
    if (options->binding != NULL) {
        kept->binding = *options->binding;
        kept->options.binding = &kept->binding;
    }
    return kept;
}

void settings_free(struct settings *settings)
{
    if (settings != NULL)
        pages_free(settings, settings->n_bytes);
}

int settings_child_path(const struct settings *settings, unsigned attempt, char *path,
                        size_t n_bytes)
{
    int n = attempt == 0 ? snprintf(path, n_bytes, "%s.%ld", settings->options.stem, (long)getpid())
                         : snprintf(path, n_bytes, "%s.%ld.%u", settings->options.stem,
                                    (long)getpid(), attempt + 1);
    return n > 0 && (size_t)n < n_bytes ? 0 : -1;
}
