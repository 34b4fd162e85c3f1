/* Experts as text: the NDJSON lines that the upload takes. Numbers are float32 with nine digits,
 * which read back to the same bits. A failed write shows in ferror(OUT), which the caller checks.
 */
#ifndef TACET_CLI_EXPERT_LINES_H
#define TACET_CLI_EXPERT_LINES_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "algos/data/trajectory.h"
#include "algos/policy.h"

/* {"expert":"NAME","states":[[…]…],"actions":[…],"rewards":[…],"terminated":…,"truncated":…}
 *
 * The name needs no escapes in JSON. */
void expert_lines_trajectory(FILE *out, const char *expert, const struct trajectory *trajectory,
                             uint32_t state_dim);

/* {"expert":"e000017","policy":{"activation":…,"layers":[{"weight":[[…]…],"bias":[…]}…],"output":…}}
 * where "policy" is what PUT /v1/datasets/{id}/experts/{expert}/policy takes. */
void expert_lines_policy(FILE *out, uint64_t expert, const struct policy *policy);

#endif
