/* What a dataset says of itself: what a row is, who the expert is, its features and its actions by
 * name, and the columns of the table that it may be uploaded as.
 *
 *   {"row":"one hour of one stay","expert":"the clinician, with every stay that they treated",
 *    "features":[{"name":"lactate","unit":"mmol/l","low":0.3,"high":20,"scale":"log"},
 *                {"name":"diabetes","categories":["no","yes"]}],
 *    "outside":"refuse","actions":["wait","treat"],
 *    "table":{"expert":"clinician","episode":"stay","time":"hour","action":"treatment",
 *             "reward":"reward","terminated":"ended","last_state":"own_row","missing":"refuse"}}
 *
 * Instead of names, "actions" may be bins of a number: {"unit":"ml","low":0,"high":2000,
 * "edges":[0,500],"names":["none","some","much"]}. "missing" may be {"previous":[FEATURE...],
 * "fill":{FEATURE: number or category}}. "missing_reward":0 fills in for missing rewards.
 *
 * All of it is public. A linear feature is one coordinate of a state, as it is; a logarithmic one
 * is a coordinate that holds its decimal logarithm; a feature of k categories is k coordinates, one
 * of them 1 and the others 0. */
#ifndef TACET_API_DATA_DESCRIPTION_H
#define TACET_API_DATA_DESCRIPTION_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "algos/data/features.h"
#include "api/json/json_text.h"

struct call;

#define DESCRIPTION_DIM_MAX     1024 /* coordinates */
#define DESCRIPTION_ACTIONS_MAX 1024
#define DESCRIPTION_TEXT_MAX    200 /* bytes of "row" and "expert" */
#define DESCRIPTION_NAME_MAX    64  /* bytes of a name or a unit */
#define DESCRIPTION_COLUMN_MAX  128 /* bytes of a column's name */
#define DESCRIPTION_FAULT_SIZE  320

struct description_feature {
    const char *name, *unit; /* unit: "" for none */
    bool logarithmic;        /* then low > 0 */
    double low, high; /* of the feature itself, not of its logarithm; 0 and 1 of categories */
    unsigned category_count; /* 0: a number */
    const char *const *categories;
    uint32_t coordinate; /* the first of its coordinates */
    bool carries;        /* a missing value is the one before it in its episode */
    bool fills;          /* a missing value, where that is not, is FILL: a number or a category */
    double fill;
};

/* Actions that are bins of a continuous column: action i is from above edges[i - 1] to edges[i]. */
struct description_bins {
    const char *unit; /* "" for none */
    double low, high; /* of the column */
    const double *edges;
    unsigned count; /* edges, one fewer than actions; 0: the actions are no bins */
};

/* The state after the last action of an episode. */
enum description_last_state {
    LAST_STATE_OWN_ROW,        /* a row of its own, without action and reward */
    LAST_STATE_REPEAT,         /* the last row's state once more: for episodes that terminated */
    LAST_STATE_DROP,           /* the last row's state; its action and reward are dropped */
    LAST_STATE_REPEAT_OR_DROP, /* repeated where the episode terminated, dropped elsewhere */
};

/* Columns of a table, by their names. Features are columns of their own names. */
struct description_table {
    const char *expert, *episode, *action, *reward, *terminated;
    const char *time;      /* NULL: rows of an episode stand in its order */
    const char *truncated; /* NULL: an episode that is not terminated is truncated */
    enum description_last_state last_state;
    bool fills_reward; /* a missing reward counts as FILL_REWARD */
    double fill_reward;
};

/* Texts belong to JSON. */
struct description {
    json_t *json; /* as it was sent */
    const char *row, *expert;
    bool clips; /* "outside":"clip" */
    unsigned feature_count, action_count;
    struct description_feature *features;
    const char *const *actions;
    struct description_bins bins;
    uint32_t dim;            /* coordinates of a state */
    struct features *ranges; /* of the coordinates */
    bool has_table;
    struct description_table table;
};

/* Reads OBJECT, which stands at POINTER of the body. NULL: the faults are in the call. The caller
 * frees the result with description_free. */
struct description *description_read(struct call *call, json_t *object, const char *pointer);

/* Reads a description from TEXT, such as one that was stored. NULL: FAULT has the first fault. The
 * caller frees the result with description_free. */
struct description *description_parse(const char *text, struct json_fault *fault);

/* The same of a description for a new dataset, with description_table_check. */
struct description *description_parse_new(const char *text, struct json_fault *fault);

/* Frees a description; takes NULL. */
void description_free(struct description *description);

/* Whether features and actions are the same. False: DETAIL says what differs first, as "WHAT is
 * OURS, not THEIRS" (description_agrees.c). */
bool description_agrees(const struct description *ours, const struct description *theirs,
                        char detail[DESCRIPTION_FAULT_SIZE]);

/* Whether OURS agrees with the description in DATASET, the text of GET /v1/datasets/{id}: in all
 * but "row" and "table", which are each contributor's own. A dataset without a description agrees
 * with all. False: DETAIL says what differs first. */
bool description_fits_dataset(const struct description *ours, const char *dataset,
                              char detail[DESCRIPTION_FAULT_SIZE]);

/* How many coordinates of a state are FEATURE's. */
unsigned description_width(const struct description_feature *feature);

/* Gives DESCRIPTION (NULL is fine) to the call, which frees it at its end. Returns DESCRIPTION. */
struct description *description_own(struct call *call, struct description *description);

/* Finds fault with what a new DESCRIPTION, at POINTER of the body, says of its table, though one
 * that is stored may say it: a feature is the column of the action, the reward, an end or the
 * expert. */
void description_table_check(struct call *call, const struct description *description,
                             const char *pointer);

/* Reads the table in OBJECT, which stands at POINTER, for OUT, whose features are read
 * (description_table.c). Faults go into the call. */
void description_table_read(struct call *call, struct description *out, const json_t *object,
                            const char *pointer);

/* Brings the coordinates of FEATURE within STATE[dim] into its range, if the description clips, or
 * if they are outside by no more than the rounding of a text. False: they do not fit, DETAIL says
 * why in a sentence that names the feature, and *OUT_COORDINATE is the one in fault. */
bool description_fit(const struct description *description, unsigned feature, float *state,
                     uint32_t *out_coordinate, char detail[DESCRIPTION_FAULT_SIZE]);

#endif
