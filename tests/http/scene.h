/* A server with people on it: an admin, a steward, students, and a teacher to ask. */
#ifndef TACET_TESTS_HTTP_SCENE_H
#define TACET_TESTS_HTTP_SCENE_H

#include "tests/http/desk.h"

#define SCENE_STUDENTS     4 /* that scene_make makes */
#define SCENE_STUDENTS_MAX 64

struct scene {
    struct http_client *client;
    char admin[160], steward[160], auditor[160];
    struct {
        char id[64], token[160];
    } students[SCENE_STUDENTS_MAX];
    unsigned student_count;
    char policy[64], teacher[64];
    char queries[128]; /* path of the teacher's queries */
};

/* The server runs. The teacher's Dirichlet mechanism answers states of CartPole; BUDGET and
 * CLIENT_BUDGET are epsilons at delta 1e-5. */
void scene_make(struct scene *scene, struct server_process *server, double budget,
                double client_budget);
void scene_clear(struct scene *scene);

/* The desk of the scene's steward on the scene's connection: valid as long as both; never closed.
 */
struct desk scene_desk(const struct scene *scene, struct server_process *server);

/* Makes students until there are COUNT. */
void scene_more_students(struct scene *scene, unsigned count);

/* A client made over HTTP. */
void scene_person(struct scene *scene, const char *role, char out_id[64], char out_token[160]);

/* Writes a dataset's worth of random walks as NDJSON: malloc'ed. The same SEED gives the same. */
char *scene_trajectories(unsigned experts, unsigned trajectories, unsigned steps, unsigned seed);

/* An open dataset without anything in it; its nominal number of experts is 40. */
void scene_open_dataset(struct http_client *client, const char *steward, char out_id[64]);

/* A sealed one of EXPERTS random walkers with 2 trajectories of 20 steps each. */
void scene_dataset(struct http_client *client, const char *steward, unsigned experts,
                   char out_id[64]);

#endif
