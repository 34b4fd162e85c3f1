/* Compares what two datasets say of their states and actions. */
#include <string.h>

#include "api/call/fields.h"
#include "api/data/datasets.h"

/* The dataset at POINTER beside the one that is learned from. */
struct comparison {
    struct call *call;
    const char *pointer;
    const struct description *there, *here; /* here: learned from */
};

static const char *unit_text(struct call *call, const char *unit)
{
    return unit[0] == '\0' ? "no unit" : arena_format(&call->arena, "\"%s\"", unit);
}

static const char *scale_text(const struct description_feature *feature)
{
    if (feature->category_count > 0)
        return "categories";
    return feature->logarithmic ? "a number on a logarithmic scale" : "a number on a linear scale";
}

/* Lists of COUNT names of WHAT, which may be categories of FEATURE. */
static enum problem same_names(const struct comparison *c, const char *what,
                               const char *const *there, const char *const *here, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (strcmp(there[i], here[i]) != 0)
            return call_invalid(c->call, c->pointer,
                                "has \"%s\" as %s %u; the job's dataset has \"%s\"", there[i], what,
                                i, here[i]);
    return PROBLEM_NONE;
}

static enum problem same_feature(const struct comparison *c, unsigned i)
{
    const struct description_feature *there = &c->there->features[i], *here = &c->here->features[i];
    struct call *call = c->call;
    if (strcmp(there->name, here->name) != 0)
        return call_invalid(call, c->pointer,
                            "has \"%s\" as feature %u; the job's dataset has \"%s\"", there->name,
                            i, here->name);
    if (strcmp(scale_text(there), scale_text(here)) != 0)
        return call_invalid(call, c->pointer, "has %s as %s; the job's dataset has %s", here->name,
                            scale_text(there), scale_text(here));
    if (strcmp(there->unit, here->unit) != 0)
        return call_invalid(call, c->pointer, "gives %s in %s; the job's dataset gives it in %s",
                            here->name, unit_text(call, there->unit), unit_text(call, here->unit));
    if (there->category_count != here->category_count)
        return call_invalid(call, c->pointer, "has %u categories of %s; the job's dataset has %u",
                            there->category_count, here->name, here->category_count);
    if (there->low != here->low || there->high != here->high)
        return call_invalid(call, c->pointer,
                            "has %s from %.9g to %.9g; the job's dataset has it from %.9g to %.9g",
                            here->name, there->low, there->high, here->low, here->high);
    return same_names(c, arena_format(&call->arena, "category of %s, number", here->name),
                      there->categories, here->categories, here->category_count);
}

static const char *bins_text(const struct description_bins *bins)
{
    return bins->count > 0 ? "bins of a number" : "no bins of a number";
}

static enum problem same_bins(const struct comparison *c)
{
    const struct description_bins *there = &c->there->bins, *here = &c->here->bins;
    struct call *call = c->call;
    if ((there->count > 0) != (here->count > 0))
        return call_invalid(call, c->pointer,
                            "has actions that are %s; those of the job's dataset "
                            "are %s",
                            bins_text(there), bins_text(here));
    if (here->count == 0)
        return PROBLEM_NONE;
    if (strcmp(there->unit, here->unit) != 0)
        return call_invalid(call, c->pointer,
                            "gives the actions' number in %s; the job's dataset gives it in %s",
                            unit_text(call, there->unit), unit_text(call, here->unit));
    if (there->low != here->low || there->high != here->high)
        return call_invalid(call, c->pointer,
                            "has the actions' number from %.9g to %.9g; the job's dataset has it "
                            "from %.9g to %.9g",
                            there->low, there->high, here->low, here->high);
    for (unsigned i = 0; i < here->count; i++)
        if (there->edges[i] != here->edges[i])
            return call_invalid(call, c->pointer,
                                "has %.9g as edge %u of the actions; the job's dataset has %.9g",
                                there->edges[i], i, here->edges[i]);
    return PROBLEM_NONE;
}

static enum problem same_description(const struct comparison *c)
{
    const struct description *there = c->there, *here = c->here;
    enum problem problem = PROBLEM_NONE;
    for (unsigned i = 0; i < here->feature_count && i < there->feature_count; i++) {
        problem = same_feature(c, i);
        if (problem != PROBLEM_NONE)
            return problem;
    }
    if (there->feature_count != here->feature_count)
        return call_invalid(c->call, c->pointer, "has %u features; the job's dataset has %u",
                            there->feature_count, here->feature_count);
    if (there->action_count != here->action_count)
        return call_invalid(c->call, c->pointer, "has %u actions; the job's dataset has %u",
                            there->action_count, here->action_count);
    problem = same_names(c, "action", there->actions, here->actions, here->action_count);
    if (problem == PROBLEM_NONE)
        problem = same_bins(c);
    return problem;
}

enum problem dataset_same_meaning(struct call *call, const char *pointer,
                                  const struct dataset_row *there, const struct dataset_row *here)
{
    struct comparison c = {.call = call, .pointer = pointer};
    struct description *ours, *theirs;
    enum problem problem = dataset_describe(call, here->id, &ours);
    if (problem == PROBLEM_NONE)
        problem = dataset_describe(call, there->id, &theirs);
    if (problem != PROBLEM_NONE)
        return problem;
    c.here = ours;
    c.there = theirs;
    if (ours && theirs)
        return same_description(&c);
    bool one_world =
        here->environment[0] != '\0' && strcmp(here->environment, there->environment) == 0;
    if ((!ours && !theirs) || one_world)
        return PROBLEM_NONE;
    return call_invalid(call, pointer,
                        "%s its features, and the job's dataset %s: nothing says that their "
                        "numbers mean the same. Make the dataset with the same \"description\"",
                        theirs ? "describes" : "does not describe", theirs ? "does not" : "does");
}
