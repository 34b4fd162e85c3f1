/* How a state becomes the input of a network in training:
 *   scale (normalised - center),  normalised = (number - middle) 2 / (high - low)
 * number by number, with scale and center of the settings and the ranges of their features, which
 * are all public; without features a number is itself. The result of a run reads plain states: all
 * of it is moved into its first layer. Within algos/offline. */
#ifndef TACET_ALGOS_OFFLINE_TRAINER_INPUT_H
#define TACET_ALGOS_OFFLINE_TRAINER_INPUT_H

#include "algos/offline/dp_trainer.h"

/* TO[dim] of the state FROM[dim]. */
void trainer_input_write(const struct trainer_settings *settings, size_t dim, const float *from,
                         float *to);

/* Moves all of it into the weights and biases of the first layer of PARAMETERS. */
void trainer_input_fold(const struct trainer_settings *settings, float *parameters);

#endif
