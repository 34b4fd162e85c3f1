/* What an algorithm that learns from a teacher asks of it, and hears. The teacher is somewhere
 * else, behind a mechanism and budgets; whoever carries the question pays for the answer. */
#ifndef TACET_ALGOS_TEACHER_QUESTION_H
#define TACET_ALGOS_TEACHER_QUESTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One batch in one roll-out. The same ROLLOUT is only ever asked about the same states: CHECKPOINT
 * holds them, and is on disk before anything is charged, so that a run that broke off between the
 * charge and the answer asks again and hears the stored answer. All borrowed. */
struct teacher_question {
    uint64_t rollout;    /* counted from 0 */
    const float *states; /* count x state_dim */
    uint32_t count;
    double concentration; /* at most this is to be told; 0: whatever the teacher tells */
    const unsigned char *checkpoint;
    size_t checkpoint_size;
};

struct teacher_told {
    bool silent;   /* nobody pays any more, or it is gone: it is not to be asked again */
    double radius; /* holds an answer's noise 19 times of 20 */
    double cost_epsilon, cost_delta;   /* of this batch on the payer's account */
    double spent_epsilon, spent_delta; /* of that account as of now */
    const char *message;               /* static; why it cannot be asked */
};

/* The terms that a request was planned with; all zero without a teacher. */
struct teacher_terms {
    double concentration;  /* the teacher's own; 0 where its mechanism has none */
    double least;          /* below it an answer costs as much and says less: 1 / min_probability */
    uint32_t states_max;   /* of one batch */
    bool protects_experts; /* the teacher's unit is an expert; else an observation */
    bool over_private_data; /* its policy was trained without privacy on private data, which the
                               unit does not protect */
};

#endif
