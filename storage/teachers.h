/* Teachers and how far each client is in its roll-outs. */
#ifndef TACET_STORAGE_TEACHERS_H
#define TACET_STORAGE_TEACHERS_H

#include <stdbool.h>
#include <stdint.h>

#include "storage/db.h"
#include "storage/id.h"

struct teacher_row {
    char id[ID_SIZE];
    char owner[ID_SIZE];
    char policy[ID_SIZE];
    char mechanism[24]; /* "dirichlet" */
    char unit[16];      /* "observation" */
    double concentration, min_probability, vanishing, temperature, radius;
    double lipschitz, sensitivity; /* certified at creation */
    double renyi_order;            /* of all its accounts */
    char account[ID_SIZE];         /* the cap over all clients */
    bool has_client_budget;        /* else only clients with a grant may ask */
    double client_epsilon, client_delta;
    int64_t created_ms;
};

enum db_status teachers_insert(struct db *db, const struct teacher_row *row);
enum db_status teachers_find(struct db *db, const char *id, struct teacher_row *out);
/* OWNER NULL: anybody's. Oldest first. */
enum db_status teachers_list(struct db *db, const char *owner, int64_t after_ms, const char *after_id, unsigned limit,
                             struct teacher_row *out, unsigned *out_count);

/* Roll-outs that CLIENT has begun at TEACHER (0 at first); begin_rollout adds one and gives the new number. */
enum db_status teachers_rollout(struct db *db, const char *teacher, const char *client, int64_t *out_rollout);
enum db_status teachers_begin_rollout(struct db *db, const char *teacher, const char *client, int64_t *out_rollout);

#endif
