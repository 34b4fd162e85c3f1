/* A released Q-function on a running server: dataset, job, release. */
#ifndef TACET_TESTS_HTTP_Q_SCENE_H
#define TACET_TESTS_HTTP_Q_SCENE_H

#include "tests/http/http_client.h"

struct q_scene {
    char dataset[64], release[64];
    char path[160];    /* of the release */
    char queries[192]; /* and of its queries */
};

/* A form "path" over [0, 1], two actions, learned from 20 experts by a job of STEWARD. */
void q_scene_make(struct q_scene *scene, struct http_client *client, const char *steward);

/* The answer to one question about X. */
struct http_answer q_scene_ask(const struct q_scene *scene, struct http_client *client,
                               const char *token, double x);

#endif
