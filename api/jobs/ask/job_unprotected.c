/* Jobs without a mechanism on private data: the steward's word for them, and what they cannot
 * have. */
#include "api/jobs/ask/job_parts.h"

#include <string.h>

#include "api/jobs/ask/job_kind.h"

enum problem job_unprotected_fit(struct call *call, const char *understood,
                                 const struct job_plan *plan)
{
    bool unprotected = job_plan_is_unprotected(plan);
    if (!unprotected && understood) {
        return call_invalid(
            call, "/i_understand",
            "has a meaning only with mechanism \"none\" on a private dataset, without shards");
    }
    if (unprotected && (!understood || strcmp(understood, "not_private") != 0)) {
        return call_invalid(call, "/i_understand",
                            "must be \"not_private\": mechanism \"none\" protects nobody in this "
                            "private dataset; its budget will never again cover everything that is "
                            "revealed, and the dataset and its later certificates will say so; use "
                            "\"dpsgd\" instead, or \"shards\" behind a teacher of unit \"expert\"");
    }
    if (unprotected && plan->request.choice.candidates > 0) {
        return call_invalid(
            call, "/choose",
            "is not possible with mechanism \"none\" on private data: the length of its episodes "
            "would reveal something about the data; use \"dpsgd\", whose choice costs nothing");
    }
    if (unprotected && plan->evaluate.name[0] != '\0') {
        return call_invalid(
            call, "/evaluate",
            "is not possible with mechanism \"none\" on private data: a return is a number that "
            "depends on the data; use \"dpsgd\", whose evaluation costs nothing");
    }
    return PROBLEM_NONE;
}
