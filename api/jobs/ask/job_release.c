/* The privacy that is asked of a released Q-function. */
#include "api/jobs/ask/job_parts.h"

#include <string.h>

#include "api/call/fields.h"

void job_release_read(struct call *call, const json_t *privacy, bool logged,
                      struct algorithm_request *out)
{
    static const char *const units[] = {"expert", "reward", NULL};
    const char *understood = NULL;
    int unit = 0;
    const struct field fields[] = {
        field_positive("epsilon", &out->epsilon, 1000),
        field_positive("delta", &out->delta, 0.5),
        field_optional(field_bool("force", &out->force)),
        field_optional(field_choice("unit", &unit, units)),
        field_optional(field_text("i_understand", &understood, 1, 31)),
    };
    if (!fields_read(call, privacy, "/privacy", fields, sizeof fields / sizeof fields[0]))
        return;
    out->protects_rewards = unit == 1;
    if (understood && (!out->protects_rewards || !logged)) {
        call_invalid(call, "/privacy/i_understand",
                     "has no meaning but with unit \"reward\" and a dataset");
    } else if (out->protects_rewards && logged &&
               (!understood || strcmp(understood, "states_are_public") != 0)) {
        call_invalid(call, "/privacy/i_understand",
                     "must be \"states_are_public\": unit reward protects what the states and "
                     "actions of the dataset were worth, and neither those nor who they are of");
    }
}

bool job_release_drowns(const struct job_plan *plan)
{
    return !plan->request.force && plan->plan.release.noise_to_range > 1;
}
