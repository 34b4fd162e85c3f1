/* Compares what two descriptions say of states and actions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/data/description.h"
#include "api/json/json_text.h"

static bool text_agrees(const char *what, const char *ours, const char *theirs, char *detail)
{
    if (strcmp(ours, theirs) == 0)
        return true;
    snprintf(detail, DESCRIPTION_FAULT_SIZE, "%s is \"%.80s\", not \"%.80s\"", what, ours, theirs);
    return false;
}

static bool number_agrees(const char *what, double ours, double theirs, char *detail)
{
    if (ours == theirs)
        return true;
    snprintf(detail, DESCRIPTION_FAULT_SIZE, "%s is %.15g, not %.15g", what, ours, theirs);
    return false;
}

static bool names_agree(const char *what, const char *const *ours, unsigned count,
                        const char *const *theirs, unsigned other_count, char *detail)
{
    char place[128];
    snprintf(place, sizeof place, "the number of %.100s", what);
    if (!number_agrees(place, count, other_count, detail))
        return false;
    for (unsigned i = 0; i < count; i++) {
        snprintf(place, sizeof place, "number %u of %.100s", i, what);
        if (!text_agrees(place, ours[i], theirs[i], detail))
            return false;
    }
    return true;
}

static const char *scale_name(const struct description_feature *feature)
{
    if (feature->category_count > 0)
        return "categories";
    return feature->logarithmic ? "log" : "linear";
}

static bool feature_agrees(const struct description_feature *ours,
                           const struct description_feature *theirs, unsigned number, char *detail)
{
    char place[128];
    snprintf(place, sizeof place, "feature %u", number);
    if (!text_agrees(place, ours->name, theirs->name, detail))
        return false;
    snprintf(place, sizeof place, "the scale of %.64s", ours->name);
    if (!text_agrees(place, scale_name(ours), scale_name(theirs), detail))
        return false;
    snprintf(place, sizeof place, "the unit of %.64s", ours->name);
    if (!text_agrees(place, ours->unit, theirs->unit, detail))
        return false;
    snprintf(place, sizeof place, "the lowest value of %.64s", ours->name);
    if (!number_agrees(place, ours->low, theirs->low, detail))
        return false;
    snprintf(place, sizeof place, "the highest value of %.64s", ours->name);
    if (!number_agrees(place, ours->high, theirs->high, detail))
        return false;
    snprintf(place, sizeof place, "categories of %.64s", ours->name);
    return names_agree(place, ours->categories, ours->category_count, theirs->categories,
                       theirs->category_count, detail);
}

static bool bins_agree(const struct description_bins *ours, const struct description_bins *theirs,
                       char *detail)
{
    if (!number_agrees("the number of edges of the actions' bins", ours->count, theirs->count,
                       detail))
        return false;
    for (unsigned i = 0; i < ours->count; i++) {
        char place[64];
        snprintf(place, sizeof place, "edge %u of the actions' bins", i);
        if (!number_agrees(place, ours->edges[i], theirs->edges[i], detail))
            return false;
    }
    return ours->count == 0 ||
           (text_agrees("the unit of the action", ours->unit, theirs->unit, detail) &&
            number_agrees("the lowest action", ours->low, theirs->low, detail) &&
            number_agrees("the highest action", ours->high, theirs->high, detail));
}

bool description_agrees(const struct description *ours, const struct description *theirs,
                        char detail[DESCRIPTION_FAULT_SIZE])
{
    if (!number_agrees("the number of features", ours->feature_count, theirs->feature_count,
                       detail))
        return false;
    for (unsigned i = 0; i < ours->feature_count; i++)
        if (!feature_agrees(&ours->features[i], &theirs->features[i], i, detail))
            return false;
    return names_agree("the actions", ours->actions, ours->action_count, theirs->actions,
                       theirs->action_count, detail) &&
           bins_agree(&ours->bins, &theirs->bins, detail);
}

static const char *outside_name(const struct description *description)
{
    return description->clips ? "clip" : "refuse";
}

/* Who is protected, and what happens to values outside, too. */
static bool description_same(const struct description *ours, const struct description *theirs,
                             char *detail)
{
    return text_agrees("the expert", ours->expert, theirs->expert, detail) &&
           text_agrees("the rule of values outside", outside_name(ours), outside_name(theirs),
                       detail) &&
           description_agrees(ours, theirs, detail);
}

bool description_fits_dataset(const struct description *ours, const char *dataset,
                              char detail[DESCRIPTION_FAULT_SIZE])
{
    struct json_fault fault;
    json_t *answer = NULL;
    snprintf(detail, DESCRIPTION_FAULT_SIZE, "the dataset's description cannot be read");
    if (json_text_parse(dataset, strlen(dataset), &answer, &fault) != JSON_TEXT_GOOD)
        return false;
    const json_t *described = json_object_get(answer, "description");
    char *text = json_dumps(described, JSON_COMPACT | JSON_ENCODE_ANY);
    struct description *theirs = text ? description_parse(text, &fault) : NULL;
    bool agrees =
        json_is_null(described) || !described || (theirs && description_same(ours, theirs, detail));
    description_free(theirs);
    free(text);
    json_decref(answer);
    return agrees;
}
