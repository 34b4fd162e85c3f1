/* Compares what two datasets say of their states and actions. */
#include <string.h>

#include "api/call/fields.h"
#include "api/data/datasets.h"

enum problem dataset_same_meaning(struct call *call, const char *pointer,
                                  const struct dataset_row *there, const struct dataset_row *here)
{
    struct description *ours, *theirs;
    char detail[DESCRIPTION_FAULT_SIZE];
    enum problem problem = dataset_describe(call, here->id, &ours);
    if (problem == PROBLEM_NONE)
        problem = dataset_describe(call, there->id, &theirs);
    if (problem != PROBLEM_NONE)
        return problem;
    if (ours && theirs && !description_agrees(theirs, ours, detail))
        return call_invalid(call, pointer, "is not described as the job's dataset is: %s", detail);
    if (ours && theirs)
        return PROBLEM_NONE;
    bool named = here->environment[0] != '\0' && there->environment[0] != '\0';
    bool same_name = strcmp(here->environment, there->environment) == 0;
    if (named ? same_name : !ours && !theirs)
        return PROBLEM_NONE;
    if (!ours && !theirs)
        return call_invalid(call, pointer,
                            "is of environment %s, and the job's dataset of %s: their numbers do "
                            "not mean the same",
                            there->environment, here->environment);
    return call_invalid(call, pointer,
                        "%s its features, and the job's dataset %s: nothing says that their "
                        "numbers mean the same. Make the dataset with the same \"description\"",
                        theirs ? "describes" : "does not describe", theirs ? "does not" : "does");
}
