/* The words of a command line, and what comes back. */
#include "tests/http/epsilon_run.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/http/server_process.h"

#define ARGUMENTS_MAX 20

int epsilon_run(char *out, size_t size, const char *line)
{
    char copy[1000];
    char *words[ARGUMENTS_MAX + 1] = {0}, *rest = copy;
    snprintf(copy, sizeof copy, "%s", line);
    for (unsigned n = 0; (rest = strtok(n == 0 ? copy : NULL, " ")) != NULL; n++) {
        cr_assert_lt(n, ARGUMENTS_MAX);
        words[n] = rest;
    }
    char *const *w = words;
    return tacet_run(out, size, "epsilon", w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8],
                     w[9], w[10], w[11], w[12], w[13], w[14], w[15], w[16], w[17], w[18], w[19],
                     NULL);
}

json_t *epsilon_object(const char *line)
{
    char out[4096], with[1100];
    snprintf(with, sizeof with, "%s --json", line);
    int code = epsilon_run(out, sizeof out, with);
    json_t *json = json_loads(out, JSON_REJECT_DUPLICATES, NULL);
    char *end = strchr(out, '\n');
    cr_assert(code == 0 && json != NULL && end != NULL && end[1] == '\0', "%s: %d, %s", line, code,
              out);
    return json;
}

double epsilon_number(const json_t *json, const char *name)
{
    const json_t *value = json_object_get(json, name);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}
