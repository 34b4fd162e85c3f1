/* Lines of results by cell. */
#include "bench/gp/found.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void take_run(struct found *f, char *rest)
{
    char *at = rest;
    if (f->count == FOUND_SEEDS)
        return;
    f->final[f->count] = strtod(at, &at);
    f->low = strtod(at, &at);
    f->high = strtod(at, &at);
    f->seconds += strtod(at, &at);
    for (int i = 0; i < METHODS_BLOCKS; i++) {
        char *end = at;
        f->curve[i][f->count] = strtod(at, &end);
        f->has_curve = end != at;
        at = end;
    }
    f->count++;
}

void found_cell(const char *path, const char *cell, struct found *out)
{
    char line[1024];
    size_t length = strlen(cell);
    FILE *file = fopen(path, "r");
    memset(out, 0, sizeof *out);
    out->low = out->high = NAN;
    while (file && fgets(line, sizeof line, file)) {
        char *rest = line + length;
        if (strncmp(line, cell, length) == 0 && *rest == '\t' && strchr(rest, '\n')) {
            (void)strtoul(rest, &rest, 10); /* the seed */
            take_run(out, rest);
        }
    }
    if (file)
        fclose(file);
}

const struct found_row found_rewards[FOUND_ROWS] = {
    {"our unit reward", "", NULL},
    {"BGP16, DP-LSW", "lsw-", "lsw-reward-plain"},
    {"input perturbation, least squares", "input-lsw-", "lsw-reward-plain"},
    {"input perturbation, network", "input-network-", "plain"},
    {"DP-SGD", "dpsgd-", "plain"}};
const struct found_row found_experts[FOUND_ROWS] = {
    {"our unit expert, 300 shards", "", NULL},
    {"BGP16, DP-LSW", "lsw-", "lsw-expert-plain"},
    {"BGP16, DP-LSL", "lsl-", "lsl-expert-plain"},
    {"input perturbation", "local-", "local-expert-plain"},
    {"BGP16, DP-LSW as published: claimed epsilon", "published-", "lsw-expert-plain"}};
const double found_distances[FOUND_VALUES] = {0.001, 0.01, 0.1, 1};
const double found_epsilons[FOUND_VALUES] = {0.1, 0.45, 0.9, 3};

struct found found_at(const char *results, const struct found_row *row, const char *form,
                      double value)
{
    char suffix[32], name[96];
    struct found f;
    snprintf(suffix, sizeof suffix, form, value);
    snprintf(name, sizeof name, "%s%s", row->key, suffix);
    found_cell(results, name, &f);
    return f;
}
