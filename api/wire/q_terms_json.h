/* Terms of a released Q-function as JSON: what is stored beside it, shown to callers and signed. */
#ifndef TACET_API_WIRE_Q_TERMS_JSON_H
#define TACET_API_WIRE_Q_TERMS_JSON_H

#include <jansson.h>
#include <stdbool.h>

#include "algos/release/q_release.h"

/* {"form","state_dim","action_count","bounds":[[low,high]...],"outside":"refuse"|"clamp","shards",
 * "sensitivity","sigma","mu","noise_to_range", and what the form has: "value_limit","lipschitz",
 * "kernel":{"name","beta"},"bits","knots"; "radius","features","seed"; "value_limit","nodes"}.
 * Exact: q_terms_read gives the same numbers back. New reference. */
json_t *q_terms_json(const struct q_terms *terms);

/* Reads what q_terms_json gave; false: JSON is malformed. */
bool q_terms_read(const json_t *json, struct q_terms *out);

#endif
