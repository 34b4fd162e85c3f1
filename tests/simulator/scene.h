/* The service that every life begins with: people, data, teachers and a Q-release, made once
 * through the front door, and the prices that its first questions and jobs had. */
#ifndef TACET_TESTS_SIMULATOR_SCENE_H
#define TACET_TESTS_SIMULATOR_SCENE_H

#include "tests/simulator/model.h"
#include "tests/simulator/service.h"

#define SCENE_STUDENTS 3
#define SCENE_TEACHERS 4
#define SCENE_COUNTS   3 /* a question has 1 to 3 states */
#define SCENE_JOBS     3 /* kinds */
#define SCENE_POINTS   6 /* at which the release is asked */
#define SCENE_CUT      2 /* a variant of an upload */
#define SCENE_BUDGETS  3 /* limits that an account may be given */

enum scene_person {
    SCENE_STEWARD = SCENE_STUDENTS, /* students come first */
    SCENE_SECOND,                   /* another steward of the same project */
    SCENE_CONTRIBUTOR,
    SCENE_AUDITOR,
    SCENE_STRANGER, /* a steward who owns nothing */
    SCENE_ADMIN,
    SCENE_PEOPLE
};

struct scene_teacher {
    char id[ID_SIZE];
    bool random;                                                  /* what a spent one does */
    int account, dataset_account, client_account[SCENE_STUDENTS]; /* in the model; -1: none */
    struct model_amount price[SCENE_COUNTS + 1]; /* by the number of states, for the client and the
                                                    dataset */
    struct model_amount cap_price[SCENE_COUNTS + 1]; /* for the teacher's account */
    struct model_amount first; /* what the dataset pays besides with its first answer */
};

struct scene_limits { /* of an account */
    double unit;      /* the epsilons are 4, 5 and 6 times this */
    double delta;
    bool two;         /* stewards decide */
    unsigned student; /* whose it is; SCENE_STUDENTS: nobody's */
    struct model_amount of[SCENE_BUDGETS];
};

struct scene {
    char directory[96];
    unsigned char seed[32], public_key[32]; /* of the first key that signs */
    char client[SCENE_PEOPLE][ID_SIZE], token[SCENE_PEOPLE][160];
    char policy[ID_SIZE], dataset[ID_SIZE], open[ID_SIZE], release[ID_SIZE];
    int dataset_account;
    struct scene_teacher teachers[SCENE_TEACHERS];
    struct model_amount job_price[SCENE_JOBS];
    char *values[SCENE_POINTS]; /* what the release answers there */
    struct model model;         /* of the ledger as it then is */
    struct scene_limits limits[MODEL_ACCOUNTS];
    int64_t clock_ms;
};

/* Makes it in DIRECTORY, which does not exist. Stops the test when it cannot. */
struct scene *scene_make(const char *directory);
void scene_free(struct scene *scene);

/* The epsilon of an account's limit BUDGET. */
double scene_epsilon(const struct scene_limits *limits, unsigned budget);

/* The path and the body of a call that sets an account's limit. */
void scene_limit(const struct model_account *account, const struct scene_limits *limits,
                 unsigned budget, char path[128], char body[512]);

/* The body of a question for teacher I of COUNT states that NUMBER and VARIANT choose. */
void scene_question(unsigned number, unsigned variant, unsigned count, char out[256]);

/* The body of a job of that KIND; two variants cost the same. */
void scene_job(const struct scene *scene, unsigned kind, unsigned variant, char out[512]);

/* A body of COUNT trajectories of one step each, of as many experts. SCENE_CUT: it ends early. */
void scene_upload(unsigned number, unsigned variant, unsigned count, char out[512]);

/* The number of the expert of trajectory I, below 32. */
unsigned scene_expert(unsigned number, unsigned i);

/* The body that asks the release at POINT. */
void scene_point(unsigned point, char out[128]);

/* Copies the text of member NAME of JSON into OUT; "" when it is not there. */
void scene_text(const char *json, const char *name, char out[ID_SIZE]);

#endif
