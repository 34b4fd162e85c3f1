/* Takes the files in with the assembler's .incbin. The Makefile names them as prerequisites of this
 * object and keeps it out of link-time optimisation, which moves such symbols about. */
#include "api/embedded.h"

#include <string.h>

#define TAKE_IN(path) ".incbin \"" path "\"\n"

/* FILES: TAKE_IN of each, one after another. */
#define EMBED(symbol, files)                                                                       \
    __asm__(".pushsection .rodata\n"                                                               \
            ".balign 16\n"                                                                         \
            ".global tacet_" #symbol "\n"                                                          \
            "tacet_" #symbol ":\n" files ".global tacet_" #symbol "_end\n"                         \
            "tacet_" #symbol "_end:\n"                                                             \
            ".byte 0\n"                                                                            \
            ".popsection\n");                                                                      \
    extern const char tacet_##symbol[] __attribute__((visibility("hidden")));                      \
    extern const char tacet_##symbol##_end[] __attribute__((visibility("hidden")))

EMBED(home, TAKE_IN("web/index.html"));
EMBED(script, TAKE_IN("web/dom.js") TAKE_IN("web/form.js") TAKE_IN("web/job_form.js")
                  TAKE_IN("web/jobs.js") TAKE_IN("web/budgets.js") TAKE_IN("web/certificates.js")
                      TAKE_IN("web/overview.js") TAKE_IN("web/teachers.js") TAKE_IN("web/yaml.js")
                          TAKE_IN("web/docs.js") TAKE_IN("web/status.js"));
EMBED(style, TAKE_IN("web/status.css"));
EMBED(openapi, TAKE_IN("openapi.yaml"));

static const struct {
    const char *path, *bytes, *end, *content_type;
} files[EMBEDDED_FILES] = {
    {"/", tacet_home, tacet_home_end, "text/html; charset=utf-8"},
    {"/status.js", tacet_script, tacet_script_end, "text/javascript; charset=utf-8"},
    {"/status.css", tacet_style, tacet_style_end, "text/css; charset=utf-8"},
    {"/openapi.yaml", tacet_openapi, tacet_openapi_end, "application/yaml; charset=utf-8"},
};

struct embedded_file embedded_file(const char *path)
{
    unsigned which = EMBEDDED_FILES - 1;
    while (which > 0 && strcmp(files[which].path, path) != 0)
        which--;
    return embedded_at(which);
}

struct embedded_file embedded_at(unsigned which)
{
    return (struct embedded_file){.bytes = files[which].bytes,
                                  .size = (size_t)(files[which].end - files[which].bytes),
                                  .content_type = files[which].content_type,
                                  .index = which,
                                  .is_home = which == 0};
}
