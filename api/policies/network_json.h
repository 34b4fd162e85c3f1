/* Networks as JSON:
 * {"activation":"relu"|"tanh","layers":[{"weight":[[out x in]],"bias":[out]}],
 *  "output":"softmax"|"argmax"|"q"}.
 * What is written may also have "output":"bcq","threshold":x: two heads (algos/policy.h). */
#ifndef TACET_API_POLICIES_NETWORK_JSON_H
#define TACET_API_POLICIES_NETWORK_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "algos/policy.h"

struct call;

/* Reads the network OBJECT that stands at POINTER in the body, which must map STATE_DIM numbers to
 * ACTION_COUNT; all faults are gathered. A certificate that a download carries is passed over.
 * Weights become the nearest float32 and must be finite there. NULL: the faults are in the call.
 * The caller frees it with policy_free. */
struct policy *network_read(struct call *call, const json_t *object, const char *pointer,
                            uint32_t state_dim, uint32_t action_count);

/* POLICY as text of that form, one line; numbers read back as the same float32. The
 * caller frees it; NULL: it is too large. */
char *network_write(const struct policy *policy, size_t *out_size);

/* The word for ACTIVATION, "relu" or "tanh". */
const char *network_activation_name(enum mlp_activation activation);

/* The word for OUTPUT, "bcq" included. */
const char *network_output_name(enum policy_output output);

#endif
