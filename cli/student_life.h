/* A student of a teacher: it learns in a world of its own by PPO and asks over HTTP, in each
 * roll-out, what the teacher would do. When answers are no longer paid for, it goes on alone. */
#ifndef TACET_CLI_STUDENT_LIFE_H
#define TACET_CLI_STUDENT_LIFE_H

#include <stdbool.h>
#include <stdint.h>

#include "algos/online/ppo.h"
#include "api/wire/problem_line.h"
#include "api/wire/student_messages.h"

struct http_out;

struct student_plan {
    const char *teacher;   /* its id; NULL: a student without help */
    struct http_out *door; /* carries the student's token; NULL without a teacher */
    const struct env *env;
    struct ppo_settings settings;
    uint32_t questions; /* per roll-out */
    double lambda;
    uint64_t transitions; /* to play, rounded up to whole roll-outs */
    double learning_rate; /* falls to 0 on the way */
    uint64_t seed;        /* of the weights and the world */
};

/* The learning curve: the mean return of the last PPO_RECENT episodes, after each roll-out. */
struct student_point {
    uint64_t transitions;
    double mean_return;
};

struct student_report {
    struct student_point *curve; /* points of them; the caller frees it */
    uint64_t points;
    uint64_t asked;           /* states that were answered */
    uint64_t repeats;         /* calls that were made again because no answer had come */
    uint64_t alone_since;     /* transitions played when the teacher fell silent; 0: it did not */
    struct student_answer at; /* as of the last answer; all zero before any */
    char refusal[PROBLEM_LINE_SIZE]; /* why the teacher is silent */
    char failure[PROBLEM_LINE_SIZE]; /* "" when the run came to its end */
};

/* Checks that the teacher answers states of the plan's world. False: WHY has a line that says what
 * does not fit. */
bool student_check_teacher(const struct student_plan *plan, char why[PROBLEM_LINE_SIZE]);

/* Trains the student from beginning to end. The costs so far are in *OUT also after a failure. */
void student_run(const struct student_plan *plan, struct student_report *out);

#endif
