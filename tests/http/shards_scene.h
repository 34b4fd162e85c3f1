/* A teacher of shards in a scene: a dataset, its ensemble and what an answer costs. */
#ifndef TACET_TESTS_HTTP_SHARDS_SCENE_H
#define TACET_TESTS_HTTP_SHARDS_SCENE_H

#include <stdint.h>

#include "tests/http/scene.h"

struct shards_wish {
    unsigned shards, hidden; /* of cql, on 60 random walkers */
    double sigma;            /* of gaussian_simplex */
    const char *budgets;     /* "budget" and, if wished, "client_budget": members of the request */
};

struct shards_teacher {
    char id[64], account[64], dataset_account[64];
    int64_t price;     /* units of one answer, on the client's and the dataset's account */
    int64_t cap_price; /* on the teacher's account, which counts at an order of its own */
    int64_t opening;   /* units that the dataset pays before the first answer */
};

/* Trains and waits; the server has a worker. */
void shards_teach(struct scene *scene, const struct shards_wish *wish, struct shards_teacher *out);

/* The units that one answer of TEACHER costs its own account, as its certificate says. */
int64_t shards_cap_price(const struct scene *scene, const char *teacher);

/* What ACCOUNT has spent, in units, which is no more than its limit; nothing is held. */
int64_t shards_spent(struct scene *scene, const char *account);

#endif
