/* Running `tacet epsilon`. */
#ifndef TACET_TESTS_HTTP_EPSILON_RUN_H
#define TACET_TESTS_HTTP_EPSILON_RUN_H

#include <jansson.h>
#include <stddef.h>

/* Runs `tacet epsilon LINE`, words separated by blanks: its exit code; OUT receives what it printed
 * on both channels. */
int epsilon_run(char *out, size_t size, const char *line);

/* Its JSON object, which is one line; the test ends when it is none. The caller drops it. */
json_t *epsilon_object(const char *line);

/* A number of that object; NAN when there is none. */
double epsilon_number(const json_t *json, const char *name);

#endif
