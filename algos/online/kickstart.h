/* Kickstarting with answers that carry noise: what pulls a student towards a teacher, and how a
 * student asks. The objective is J(theta) - E[phi] over the states that were answered ("Privacy-
 * preserving kickstarting deep reinforcement learning with privacy-aware learners", arXiv
 * 2102.09599, eq. 17), with
 *   phi = |pi_theta(s) - answer|_2 where that exceeds lambda * radius, else 0.
 * The paper's radius (its Lemma 1) holds an answer less often than it says; the radius that an
 * answer is given with is used instead (teacher_error_radius). */
#ifndef TACET_ALGOS_ONLINE_KICKSTART_H
#define TACET_ALGOS_ONLINE_KICKSTART_H

#include <stdbool.h>
#include <stdint.h>

enum kickstart_reply {
    KICKSTART_ANSWERED,
    KICKSTART_SILENT, /* nothing was asked for: nobody pays. It is not asked again */
    KICKSTART_BROKEN, /* there is no going on; the guide's owner knows why */
};

/* Whom a student asks, once in each roll-out. */
struct kickstart_guide {
    void *context;
    uint32_t questions; /* states per roll-out, at least 1 and at most the roll-out's transitions */
    double lambda;      /* >= 0; at 0 the student takes noise for advice ("unaware") */
    /* COUNT states [count x state_dim], as the world gives them -> distributions [count x actions]
     * and the radius that holds an answer's noise with the probability the teacher states. */
    enum kickstart_reply (*ask)(void *context, float *states, uint32_t count,
                                double *out_probabilities, double *out_radius);
};

/* phi of softmax(LOGITS[actions]) and ANSWER[actions]; adds WEIGHT * dphi/dlogits to GRADIENT. With
 * p the policy and g = (p - answer) / |p - answer|, dphi/dlogit_a = p_a (g_a - sum_b p_b g_b). */
double kickstart_penalty(const float *logits, uint32_t actions, const double *answer,
                         double allowed, double weight, float *gradient);

#endif
