/* A membership audit of the offline algorithms: what somebody who sees a released policy can prove
 * about the epsilon of its training (Jagielski et al. 2020, "Auditing differentially private
 * machine learning"; Nasr et al. 2023).
 *
 * Two worlds, in which an algorithm trains on made-up data by its own trainer: in one there is a
 * canary, an expert whose examples are as absurd as can be, in the other there is not. All else is
 * the attacker's knowledge: settings, first weights, the other experts (who are empty, which tells
 * the worlds apart best). A score of one policy is how far its weights moved in the direction in
 * which the canary alone would move them. Scores of many runs in both worlds bound epsilon from
 * below; a sound trainer stays under what its plan certifies, and one whose clip or noise is broken
 * does not. No one's data take part, so all of it may be shown. */
#ifndef TACET_ALGOS_OFFLINE_MEMBERSHIP_AUDIT_H
#define TACET_ALGOS_OFFLINE_MEMBERSHIP_AUDIT_H

#include "algos/algorithm.h"

struct membership_settings {
    const struct algorithm *algorithm; /* offline, with MECHANISM_DPSGD */
    uint32_t experts;         /* each joins a step with probability 1 / experts; 1 .. 1000 */
    uint32_t steps;           /* 1 .. 1000 */
    double noise_multiplier;  /* 0.05 .. 1e6 */
    double delta;             /* 1e-50 .. 0.5 */
    uint64_t seed;            /* of the first weights */
    struct dp_sgd_work *work; /* what planning may take; NULL: any work. Borrowed */
    bool in_float;            /* attacks trainings in float; else exact ones */
};

/* Deliberate faults, which show that the audit finds faults. Each is a plan that differs from the
 * certified one; the trainer is never changed. */
enum membership_sabotage {
    MEMBERSHIP_SOUND,
    MEMBERSHIP_HALF_NOISE,  /* half the certified noise */
    MEMBERSHIP_NO_CLIP,     /* a clip norm that no gradient reaches, with the noise of the
                             * certified clip norm */
    MEMBERSHIP_DOUBLE_CLIP, /* twice the certified clip norm, with that noise */
    MEMBERSHIP_SABOTAGES
};

/* Their names in requests and flags, ended by NULL. */
extern const char *const membership_sabotages[MEMBERSHIP_SABOTAGES + 1];

/* Makes PLAN the one that this fault leaves. */
void membership_sabotage_plan(enum membership_sabotage sabotage, struct dp_sgd_plan *plan);

struct membership_attack;

/* Plans the training and computes the canary's direction. On ALGORITHM_OK the caller frees *OUT
 * with membership_attack_free. Other results: as struct algorithm's plan and train. */
enum algorithm_status membership_attack_new(const struct membership_settings *settings,
                                            struct membership_attack **out, const char **message);

/* Frees the attack and its data; takes NULL. */
void membership_attack_free(struct membership_attack *attack);

/* The claim under audit: steps, rate, noise, and certified epsilon at delta. */
const struct dp_sgd_plan *membership_attack_claim(const struct membership_attack *attack);

/* The shape of the network that the attack trains. */
const struct mlp_shape *membership_attack_shape(const struct membership_attack *attack);

/* Trains once and scores the result, in the world WITH the canary or in the other. NOISE NULL: the
 * system's noise; else NOISE (tests). *SCORE is never NaN. Several threads may run one attack. */
enum algorithm_status membership_attack_run(const struct membership_attack *attack,
                                            enum membership_sabotage sabotage, bool with,
                                            struct noise_source *noise, double *score);

/* What the scores prove; membership_lower_bound says how. */
struct membership_finding {
    double epsilon;
    uint32_t p, q, counted;
};

/* What COUNT scores of each world prove. The first halves choose an event {score >= t} or {score <
 * t} and the world in which it is to be the likelier; the second halves, which the choice has not
 * seen, count it there (P of COUNTED) and in the other world (Q of COUNTED). With Clopper and
 * Pearson's bounds p below the one rate and q above the other, each wrong with probability at most
 * FALSE_ALARM / 2, an (epsilon, delta)-private training has p <= e^epsilon q + delta; so EPSILON =
 * ln((p - delta) / q), at least 0, is a lower bound but for a chance of FALSE_ALARM. The arrays are
 * sorted in parts. */
struct membership_finding membership_lower_bound(double *with, double *without, uint32_t count,
                                                 double delta, double false_alarm);

/* The audit as an algorithm of the table: POST /v1/jobs {"algorithm":"audit"}. Takes neither
 * dataset nor world and gives findings: epsilon_certified, epsilon_shown, delta, likely, unlikely,
 * counted, false_alarm (above); with "method":"one_run" right and guesses, of all trainings,
 * instead of the three counts (one_run_audit.h). They are a function of public settings, made-up
 * data and noise, so they may be shown to anybody. */
extern const struct algorithm audit_algorithm;

/* The probability that the audit contradicts a true claim. */
#define AUDIT_ALGORITHM_FALSE_ALARM 1e-6

#endif
