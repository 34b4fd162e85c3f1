/* What a judge by held-out experts is asked to be (algos/offline/judge/held_out.h). */
#ifndef TACET_ALGOS_JUDGE_TERMS_H
#define TACET_ALGOS_JUDGE_TERMS_H

#define HELD_OUT_MAX_NOISE 100000.0 /* noise multiplier that the judge's sums can be given */

/* Public. */
struct judge_terms {
    double held_out;  /* share of the experts, in (0, 0.5]; 0: no such judge */
    double low, high; /* discounted returns; an expert's mean counts as if it were within */
    double share;     /* of the run's epsilon and delta that finds the noise, in (0, 1) */
};

#endif
