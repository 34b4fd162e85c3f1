/* A one-run audit of the offline algorithms: many canaries in one training, each there or not by a
 * fair coin (Steinke, Nasr and Jagielski 2023). Where a membership audit (membership_audit.h) asks
 * what thousands of short trainings show about one canary, this one takes the steps, the batches
 * and the noise that a job has, in a few trainings.
 *
 * The data are made up. Every canary is an expert with one transition, whose gradient points where
 * no other's does: it has an input of its own, or, in the state of zeros, an action of its own, so
 * that biases alone move. Its score is how far the weights that are its own went in the direction
 * in which it alone would move them. The highest scores are guessed to be there and the lowest not,
 * a fixed number of each. one_run_bound.h says what the guesses prove. No one's data take part. */
#ifndef TACET_ALGOS_OFFLINE_ONE_RUN_AUDIT_H
#define TACET_ALGOS_OFFLINE_ONE_RUN_AUDIT_H

#include "algos/algorithm.h"
#include "algos/offline/membership_audit.h"
#include "algos/offline/one_run_bound.h"

enum one_run_canary {
    ONE_RUN_INPUTS, /* one input each; nearly all of the gradient is in the first layer */
    ONE_RUN_BIASES, /* the state of zeros and one action each */
};

struct one_run_settings {
    const struct algorithm *algorithm; /* offline, with MECHANISM_DPSGD */
    enum one_run_canary canary;
    bool exact;               /* the trainer's arithmetic */
    uint32_t canaries;        /* 20 .. 4000; also the nominal number of experts */
    uint32_t batch_size;      /* 1 .. canaries */
    uint32_t steps;           /* 1 .. 1000000 */
    double noise_multiplier;  /* 0.05 .. 1e6 */
    double delta;             /* 1e-50 .. 0.5 */
    uint64_t seed;            /* of the first weights */
    struct dp_sgd_work *work; /* what planning may take; NULL: any work. Borrowed */
};

struct one_run_attack;

/* The plan of one training alone; other results as below. */
enum algorithm_status one_run_attack_plan(const struct one_run_settings *settings,
                                          struct algorithm_plan *out, const char **message);

/* Plans the training and computes the canaries' directions. On ALGORITHM_OK the caller frees *OUT
 * with one_run_attack_free. Other results: as struct algorithm's plan and train. */
enum algorithm_status one_run_attack_new(const struct one_run_settings *settings,
                                         struct one_run_attack **out, const char **message);

/* Frees the attack; takes NULL. */
void one_run_attack_free(struct one_run_attack *attack);

/* The claim under audit. */
const struct dp_sgd_plan *one_run_attack_claim(const struct one_run_attack *attack);

/* Tosses the canaries' coins (COINS), trains once and counts the right guesses. HOOKS NULL: none.
 * NOISE NULL: the system's noise; else NOISE (tests). */
enum algorithm_status one_run_attack_run(const struct one_run_attack *attack,
                                         enum membership_sabotage sabotage, struct rng *coins,
                                         const struct algorithm_hooks *hooks,
                                         struct noise_source *noise, struct one_run_guesses *out);

#endif
