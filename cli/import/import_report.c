/* The report of a dry run: counts, columns beside their declared ranges, actions, warnings. */
#include "cli/import/import_report.h"

#include <inttypes.h>
#include <string.h>

#define NUMBERS_SHOWN 8u

struct import_summary import_summary_new(void)
{
    return (struct import_summary){.experts = expert_names_new()};
}

void import_summary_free(struct import_summary *summary)
{
    expert_names_free(summary->experts);
}

bool import_summary_add(struct import_summary *summary, const struct trajectory *trajectory,
                        const char *expert)
{
    uint32_t number;
    bool first = summary->episodes == 0;
    if (!expert_names_number(summary->experts, expert, UINT32_MAX, &number))
        return false;
    if (first) {
        summary->shortest = trajectory->length;
        summary->reward_low = summary->reward_high = trajectory->rewards[0];
    }
    for (uint32_t t = 0; t < trajectory->length; t++) {
        double reward = trajectory->rewards[t];
        summary->reward_low = reward < summary->reward_low ? reward : summary->reward_low;
        summary->reward_high = reward > summary->reward_high ? reward : summary->reward_high;
    }
    if (trajectory->length < summary->shortest)
        summary->shortest = trajectory->length;
    if (trajectory->length > summary->longest)
        summary->longest = trajectory->length;
    summary->episodes++;
    summary->terminated += trajectory->terminated;
    summary->steps += trajectory->length;
    return true;
}

/* ---- the whole */

static void report_counts(FILE *out, const struct import_source *source,
                          const struct import_summary *summary)
{
    const struct description *description = source->request.description;
    fprintf(out, "%s: %s, %" PRIu64 " rows (one row: %s)\n\n", source->request.path,
            source->kind->name, source->rows, description->row);
    fprintf(out, "experts   %" PRIu32 " (%s)\n", expert_names_count(summary->experts),
            description->expert);
    fprintf(out, "episodes  %" PRIu64 ", %" PRIu64 " of them terminated", summary->episodes,
            summary->terminated);
    if (summary->episodes > 0)
        fprintf(out, "; %" PRIu32 " to %" PRIu32 " actions in one", summary->shortest,
                summary->longest);
    fprintf(out, "\nactions   %" PRIu64, summary->steps);
    if (summary->episodes > 0)
        fprintf(out, "; rewards from %.6g to %.6g", summary->reward_low, summary->reward_high);
    if (source->request.tally->rewards_missing > 0)
        fprintf(out, "; %" PRIu64 " missing, which count as %.6g",
                source->request.tally->rewards_missing, description->table.fill_reward);
    if (summary->faults > 0)
        fputs("; of whole episodes without faults", out);
    fputs("\n", out);
    if (source->ignored[0] != '\0')
        fprintf(out, "ignored   %s\n", source->ignored);
}

/* ---- columns */

static void report_column(FILE *out, const char *name, const char *unit, const char *declared,
                          const struct table_found *found)
{
    char range[64] = "-";
    if (found->values > 0)
        snprintf(range, sizeof range, "%.6g to %.6g", found->low, found->high);
    fprintf(out, "%-20s %-12s %-24s %-24s %8" PRIu64 " %8" PRIu64 "\n", name, unit, declared, range,
            found->outside, found->missing);
}

static void report_categories(FILE *out, const struct description_feature *feature,
                              const struct table_found *found)
{
    fprintf(out, "%-20s", feature->name);
    for (unsigned c = 0; c < feature->category_count; c++)
        fprintf(out, "%s %s %" PRIu64, c > 0 ? "," : "", feature->categories[c],
                found->categories[c]);
    if (found->missing > 0)
        fprintf(out, "; missing %" PRIu64, found->missing);
    fputs("\n", out);
}

static void report_columns(FILE *out, const struct import_source *source)
{
    const struct description *description = source->request.description;
    const struct table_tally *tally = source->request.tally;
    char declared[64];
    fprintf(out, "\n%-20s %-12s %-24s %-24s %8s %8s\n", "feature", "unit", "declared", "found",
            "outside", "missing");
    for (unsigned f = 0; f < description->feature_count; f++) {
        const struct description_feature *feature = &description->features[f];
        snprintf(declared, sizeof declared, "%.6g to %.6g%s", feature->low, feature->high,
                 feature->logarithmic ? " (log)" : "");
        if (feature->category_count == 0)
            report_column(out, feature->name, feature->unit, declared, &tally->features[f]);
    }
    const struct description_bins *bins = &description->bins;
    snprintf(declared, sizeof declared, "%.6g to %.6g", bins->low, bins->high);
    if (bins->count > 0)
        report_column(out, "(the action)", bins->unit, declared, &tally->dose);
    for (unsigned f = 0; f < description->feature_count; f++)
        if (description->features[f].category_count > 0)
            report_categories(out, &description->features[f], &tally->features[f]);
    fprintf(out, "\n%-20s %8s\n", "action", "taken");
    for (unsigned a = 0; a < description->action_count; a++)
        fprintf(out, "%-20s %8" PRIu64 "\n", description->actions[a], tally->actions[a]);
    fputs("\n", out);
}

/* ---- warnings */

/* Warns of values that are clipped, though they lie farther outside than the range is wide. */
static void warn_of_far(FILE *out, const struct description_feature *feature,
                        const struct table_found *found)
{
    double width = feature->high - feature->low, ratio = feature->high / feature->low;
    double lowest = feature->logarithmic ? feature->low / ratio : feature->low - width;
    double highest = feature->logarithmic ? feature->high * ratio : feature->high + width;
    if (found->low < lowest)
        fprintf(out, "warning: %s has the value %.6g, far below %.6g: is it a typing error?\n",
                feature->name, found->low, feature->low);
    if (found->high > highest)
        fprintf(out, "warning: %s has the value %.6g, far above %.6g: is it a typing error?\n",
                feature->name, found->high, feature->high);
}

/* Warns of a feature that says nothing, or is cut. */
static void warn_of_feature(FILE *out, const struct description *description, unsigned f,
                            const struct table_found *found)
{
    const struct description_feature *feature = &description->features[f];
    unsigned seen = 0;
    for (unsigned c = 0; c < feature->category_count; c++)
        seen += found->categories[c] > 0;
    bool same = feature->category_count > 0 ? seen == 1 : found->low >= found->high;
    if (found->values > 1 && same)
        fprintf(out, "warning: %s has one value in all rows\n", feature->name);
    if (found->outside == 0 || !description->clips)
        return;
    fprintf(out, "warning: of %s, %" PRIu64 " value%s outside of the range will be clipped\n",
            feature->name, found->outside, found->outside == 1 ? "" : "s");
    warn_of_far(out, feature, found);
}

static void report_warnings(FILE *out, const struct import_source *source,
                            const struct import_summary *summary)
{
    const struct description *description = source->request.description;
    const struct table_tally *tally = source->request.tally;
    if (summary->episodes == 0)
        return;
    if (expert_names_count(summary->experts) == 1)
        fputs("warning: there is one expert: noise that hides one hides all of the data\n", out);
    for (unsigned a = 0; a < description->action_count; a++)
        if (tally->actions[a] == 0)
            fprintf(out, "warning: the action %s is never taken: nothing can be learnt about it\n",
                    description->actions[a]);
    if (summary->reward_low >= summary->reward_high)
        fputs("warning: all rewards are alike: only behaviour_cloning can learn from them\n", out);
    for (unsigned f = 0; f < description->feature_count; f++)
        warn_of_feature(out, description, f, &tally->features[f]);
}

void import_report_numbers(FILE *out, const struct import_source *source)
{
    const struct description *description = source->request.description;
    unsigned shown =
        description->action_count < NUMBERS_SHOWN ? description->action_count : NUMBERS_SHOWN;
    if (source->request.tally->action_numbers == 0)
        return;
    fputs("warning: actions are given by number:", out);
    for (unsigned a = 0; a < shown; a++)
        fprintf(out, "%s %u was read as %s", a > 0 ? "," : "", a, description->actions[a]);
    fputs(shown < description->action_count ? ", and so on\n" : "\n", out);
}

void import_report_names(FILE *out, const struct import_source *source, const char *dataset)
{
    if (dataset && source->request.experts == IMPORT_EXPERTS_OF_EPISODES)
        fputs(
            "warning: experts are named by their place in the file: e000000 and so on. If another "
            "file was imported into this dataset in this way, its experts have the same names and "
            "count as the same experts: use --experts-by\n",
            out);
}

void import_report_new(FILE *out, const struct import_summary *summary, double delta,
                       uint64_t nominal_experts)
{
    uint64_t experts = expert_names_count(summary->experts);
    if (delta * (double)experts >= 1)
        fprintf(out,
                "warning: delta %.3g is not below 1/%" PRIu64 ", and the file has %" PRIu64
                " experts: with such a delta a mechanism may reveal one person entirely. Choose a "
                "delta well below 1/experts\n",
                delta, experts, experts);
    if (nominal_experts > 2 * experts || (nominal_experts > 0 && 2 * nominal_experts < experts))
        fprintf(
            out,
            "warning: nominal_experts is %" PRIu64 ", but the file has %" PRIu64
            " experts: noise and batches are planned for nominal_experts. It is public: say what "
            "you would say without the file, or leave it out\n",
            nominal_experts, experts);
}

void import_report(FILE *out, const struct import_source *source,
                   const struct import_summary *summary)
{
    report_counts(out, source, summary);
    report_columns(out, source);
    report_warnings(out, source, summary);
    import_report_numbers(out, source);
    if (summary->faults == 0)
        fputs("Nothing is wrong. ", out);
    else
        fprintf(out, "%" PRIu64 " fault%s: all of the file would be refused. ", summary->faults,
                summary->faults == 1 ? "" : "s");
    fputs("Nothing was written or sent. These numbers are statistics of private\n"
          "data: keep them, and take no range, bound or scale from them.\n",
          out);
}
