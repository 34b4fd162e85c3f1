/* What the reference implementations recorded: tests/golden/environments. */
#ifndef TACET_TESTS_UNIT_ENVS_RECORDINGS_H
#define TACET_TESTS_UNIT_ENVS_RECORDINGS_H

#include <jansson.h>

/* The cases of WORLD's file; the test fails when it cannot be read. Release with json_decref. */
json_t *recordings_of(const char *world);

#endif
