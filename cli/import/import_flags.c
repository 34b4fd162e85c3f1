/* Flags of an import. */
#include "cli/import/import_flags.h"

#include <math.h>
#include <string.h>

#include "api/wire/deflate.h"

#define MAX_STEPS   1000000
#define MAX_EXPERTS 1000000000

/* In the order of enum description_last_state. */
static const char *const LAST_STATES[] = {"own_row", "repeat", "drop", "repeat_or_drop", NULL};

#define FLAG_OPTIONS struct import_options

static const struct flag TABLE[] = {
    {"description", AS_TEXT(description), NULL, "FILE",
     "the dataset's description (JSON, docs/own-data.md)", FLAG_REQUIRED},
    {"dry-run", AS_SWITCH(dry_run), NULL, "",
     "say what was understood and what is wrong; write and send nothing, also with --upload", 0},
    {"output", AS_TEXT(output), NULL, "FILE",
     "where trajectories go as NDJSON (standard output; .gz and .zst are compressed)", 0},
    {"max-steps", AS_COUNT(max_steps, 1, MAX_STEPS), NULL, "N",
     "most actions of an episode; required for a new dataset", 0},
    {"experts-by", AS_TEXT(experts_by), NULL, "KEY",
     "of arrays: the array, or in HDF5 the attribute, that says each episode's expert", 0},
    {"episodes-per-expert", AS_COUNT(episodes_per_expert, 1, MAX_EXPERTS), NULL, "N",
     "of arrays: so many episodes, one after another, are one expert's", 0},
    {"expert-per-episode", AS_SWITCH(expert_per_episode), NULL, "",
     "of arrays: each episode is an expert's only one", 0},
    {"ends-by", AS_TEXT(ends_by), NULL, "ARRAY",
     "of arrays without timeouts: one more array that is 1 at the last step of each episode, or "
     "terminals where all have terminated",
     0},
    {"last-state", AS_CHOICE(last_state, LAST_STATES), NULL, "RULE",
     "of arrays without the states after the last actions: repeat, drop or repeat_or_drop", 0},
    UPLOAD_FLAG_ROWS(to, "the trajectories", "FILE"),
    {"accept-erased", AS_SWITCH(accept_erased), NULL, "",
     "send also experts whose data were erased from the dataset; without it they are refused", 0},
    {"discount", AS_NUMBER(discount, 0, 1), NULL, "G", "of the new dataset; required for one",
     FLAG_ABOVE},
    {"nominal-experts", AS_COUNT(nominal_experts, 1, MAX_EXPERTS), NULL, "N",
     "of the new dataset: how many experts it is said to have, a public number", 0},
};

const struct flags import_flags = {
    .program = "tacet import",
    .usage =
        "usage: tacet import FILE --description D.json --dry-run\n"
        "       tacet import FILE --description D.json [flags] > trajectories.ndjson\n"
        "       tacet import FILE --description D.json --upload URL --dataset ID [--seal]\n"
        "       tacet import FILE --description D.json --upload URL --epsilon E --max-steps N\n"
        "                    --discount G [flags]\n\n"
        "Turns a table or arrays into trajectories: CSV with a header, NPZ, HDF5 of Minari and of\n"
        "D4RL. All of FILE is checked first; when anything in it would be refused, nothing is\n"
        "written or sent and the exit code is 1.\n\n",
    FLAG_TABLE(TABLE),
    .notes =
        "\nNPZ and D4RL's HDF5 hold flat arrays: observations, actions, rewards, terminals,\n"
        "timeouts (or --ends-by) and, if they have them, next_observations. Minari's HDF5 has\n"
        "one group for each episode. An observation holds the description's features in their "
        "order and\n"
        "units, a category as its index.\n",
    .takes_arguments = true,
    .once = true,
};

static int import_check_new(const struct import_options *o)
{
    const struct upload_given of_new[] = {{"discount", !isnan(o->discount)},
                                          {"nominal-experts", o->nominal_experts > 0}};
    if (!o->to.url || o->to.dataset)
        return upload_flags_none(&import_flags, of_new, sizeof of_new / sizeof of_new[0],
                                 "is of a new dataset: it goes with --upload, without --dataset");
    if (isnan(o->discount))
        return cli_complain(&import_flags, CLI_USAGE, "--discount is required for a new dataset");
    if (o->max_steps == 0)
        return cli_complain(&import_flags, CLI_USAGE,
                            "--max-steps is required for a new dataset: it is public, so it is "
                            "not taken from the data");
    return 0;
}

static int import_check_outputs(struct import_options *o)
{
    const struct upload_given of_upload[] = {{"accept-erased", o->accept_erased}};
    const struct upload_given output[] = {{"output", o->output}};
    int status = 0;
    if (o->dry_run)
        status = upload_flags_none(&import_flags, output, 1, "does nothing with --dry-run");
    if (status == 0 && !o->to.url)
        status = upload_flags_none(&import_flags, of_upload, 1, "goes with --upload");
    if (status == 0 && o->to.url)
        status = upload_flags_none(&import_flags, output, 1, "and --upload do not go together");
    o->encoding = o->output ? deflate_of_ending(o->output) : INFLATE_IDENTITY;
    return status;
}

static int import_check_experts(const struct import_options *o)
{
    int given = (o->experts_by != NULL) + (o->episodes_per_expert > 0) + o->expert_per_episode;
    if (given <= 1)
        return 0;
    return cli_complain(&import_flags, CLI_USAGE,
                        "--experts-by, --episodes-per-expert and --expert-per-episode do not go "
                        "together");
}

int import_flags_read(int argc, char **argv, struct import_options *out)
{
    struct flags_found found;
    *out = (struct import_options){
        .to = {.epsilon = NAN, .delta = NAN}, .last_state = -1, .discount = NAN};
    int status = cli_read_flags(&import_flags, argc, argv, out, &found);
    if (status != CLI_GO_ON)
        return status;
    if (found.arguments != 1)
        return cli_complain(&import_flags, CLI_USAGE, "name one file to import");
    out->path = argv[0];
    status = import_check_experts(out);
    if (status == 0)
        status = upload_flags_check(&import_flags, &out->to);
    if (status == 0)
        status = import_check_new(out);
    if (status == 0)
        status = import_check_outputs(out);
    if (status == 0 && !out->dry_run)
        status = upload_flags_token(&import_flags, &out->to);
    return status == 0 ? CLI_GO_ON : status;
}
