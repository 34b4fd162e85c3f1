/* Small jobs that ask a teacher, for several test files. */
#ifndef TACET_TESTS_UNIT_API_KICKSTART_DESK_H
#define TACET_TESTS_UNIT_API_KICKSTART_DESK_H

#include "tests/unit/api/domain.h"

/* Members of "parameters": a job of so many roll-outs, so many states asked about in each. */
#define KICKSTART_SMALL                                                                            \
    "\"hidden\":[8],\"worlds\":4,\"rollout_steps\":16,\"minibatch\":32,\"transitions\":320,"       \
    "\"questions\":8"
enum { KICKSTART_ROLLOUTS = 5, KICKSTART_QUESTIONS = 8 };

/* A teacher of basic accounting, so that spent epsilon counts answers; gives its id. */
const char *kickstart_teacher(struct fixture *f, double client_epsilon);
/* The same with this "when_spent". */
const char *kickstart_teacher_when(struct fixture *f, double client_epsilon, const char *spent);

/* A job's body: further MEMBERS and PARAMETERS begin with their comma. */
const char *kickstart_job(const char *id, const char *members, const char *parameters);

/* What the client of ROLE has spent with the teacher ID. */
double kickstart_spent(struct fixture *f, const char *id, const char *role);

/* For domain_turn: stops at the question of the number in the int at CONTEXT. */
bool kickstart_stop_at(void *context);

#endif
