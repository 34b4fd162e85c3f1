/* Reads a server's answers about a teacher for a student, and writes the student's messages. The
 * bytes come from outside, so every number is checked before its use. */
#ifndef TACET_API_WIRE_STUDENT_MESSAGES_H
#define TACET_API_WIRE_STUDENT_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads GET /v2/models/{teacher}: what a state and an answer are made of. NULL, or a sentence
 * (static) that says what is not right. */
const char *student_model_read(const char *body, size_t size, uint32_t *out_state_dim,
                               uint32_t *out_actions);

/* The body of a query about STATES[count x dim] that wishes for CONCENTRATION (0: for none).
 * The caller frees it. */
char *student_query_write(const float *states, uint32_t count, uint32_t dim, double concentration);

/* The members of an answer beside its probabilities, as of this answer. */
struct student_answer {
    double radius, spent_epsilon, spent_delta, remaining_epsilon;
    double cost_epsilon, cost_delta; /* what it added to what was spent */
    bool random;                     /* a budget is spent: it says nothing of the teacher */
};

/* Reads the answer to a query: OUT_PROBABILITIES[count x actions]. NULL, or a
 * sentence. */
const char *student_answer_read(const char *body, size_t size, uint32_t count, uint32_t actions,
                                double *out_probabilities, struct student_answer *out);

#endif
