/* Gradient descent on one flat vector: SGD with momentum and Adam, one loop each. */
#ifndef TACET_ALGOS_NN_OPTIMIZER_H
#define TACET_ALGOS_NN_OPTIMIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum optimizer_kind {
    OPTIMIZER_SGD,  /* v = momentum v + g; p -= rate v (Polyak's heavy ball, as in torch) */
    OPTIMIZER_ADAM, /* Kingma and Ba 2015, algorithm 1, bias corrected */
};

struct optimizer_settings {
    enum optimizer_kind kind;
    double momentum; /* SGD: momentum; Adam: beta1; 0 <= . < 1 */
    double beta2;    /* Adam: 0 <= . < 1 */
    double epsilon;  /* Adam: added to the root of the second moment */
};

/* State is open so that a checkpoint can store it: STEP and the COUNT floats of each moment. */
struct optimizer {
    struct optimizer_settings settings;
    uint64_t step; /* steps taken */
    size_t count;  /* parameters */
    float *first;  /* SGD: velocity; Adam: first moment; owned */
    float *second; /* Adam: second moment, NULL for SGD; owned */
};

/* Fills OUT with zero moments; false: no room. Free with optimizer_clear (also after failure). */
bool optimizer_init(struct optimizer *out, const struct optimizer_settings *settings, size_t count);

/* Frees the moments; also takes an optimizer that optimizer_init refused. */
void optimizer_clear(struct optimizer *optimizer);

/* One step down GRADIENT[count] at LEARNING_RATE, which the caller may schedule. */
void optimizer_step(struct optimizer *optimizer, float *parameters, const float *gradient,
                    double learning_rate);

/* A range of the parameters. A caller may do a step range by range, to do more with each range
 * while it is in the cache. */
struct optimizer_part {
    size_t first, count;
};

/* Begins a step in parts; called once, before the parts. */
void optimizer_begin(struct optimizer *optimizer);

/* Moves PART of PARAMETERS; called once for each part. PARAMETERS and GRADIENT are the whole
 * vectors. */
void optimizer_move(const struct optimizer *optimizer, struct optimizer_part part,
                    float *parameters, const float *gradient, double learning_rate);

#endif
