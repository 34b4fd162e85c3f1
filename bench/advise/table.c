/* The C table of measured runs. */
#include "bench/advise/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "algos/advice/advice.h"

static const char *const method_constants[ADVICE_METHODS] = {
    [ADVICE_DPSGD] = "DPSGD",         [ADVICE_LINEAR] = "LINEAR", [ADVICE_SELECTIVE] = "SELECTIVE",
    [ADVICE_CONSENSUS] = "CONSENSUS", [ADVICE_GRID] = "GRID",     [ADVICE_SHARDS] = "SHARDS",
    [ADVICE_RELEASE] = "RELEASE"};

bool table_write(const struct outcomes *outcomes, const char *path)
{
    FILE *file = fopen(path, "w");
    if (!file) {
        fprintf(stderr, "%s: cannot be written\n", path);
        return false;
    }
    fputs("/* Measured runs. Written by `make advise-table` from docs/results/advice.tsv: do not "
          "edit. */\n"
          "#include \"algos/advice/advice.h\"\n\n"
          "/* clang-format off */\n"
          "const struct advice_run advice_runs[] = {\n",
          file);
    for (size_t i = 0; i < outcomes->count; i++) {
        const struct outcome *r = &outcomes->all[i];
        double quality = outcomes_quality(outcomes, r);
        int method = advice_method_find(r->method);
        if (method < 0 || !isfinite(quality)) /* without privacy, or the experts themselves */
            continue;
        fprintf(file, "    {\"%s\", \"%s\", ADVICE_%s, %u, %g, %.4g, %.3f},\n", r->world,
                r->algorithm, method_constants[method], r->experts, r->epsilon, r->signal, quality);
    }
    fputs("};\n/* clang-format on */\n"
          "const unsigned advice_run_count = sizeof advice_runs / sizeof advice_runs[0];\n",
          file);
    if (fclose(file) == 0)
        return true;
    fprintf(stderr, "%s: cannot be written\n", path);
    return false;
}
