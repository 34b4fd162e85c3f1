/* tacet epsilon: makes a plan from flags or a file of events, and computes figures from the plan.
 * It reads no database and no environment: those are settings of the service. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algos/privacy/accounting/accountant_search.h"
#include "algos/privacy/accounting/privacy_report.h"
#include "algos/privacy/answers/dirichlet_paper.h"
#include "api/wire/event_text.h"
#include "cli/epsilon_flags.h"
#include "cli/epsilon_lines.h"
#include "cli/epsilon_mechanisms.h"

#define EVENTS_MAX  ((size_t)1 << 20) /* bytes of --events */
#define LEAST_NOISE 0.05              /* what --find looks at, over sensitivity */
#define MOST_NOISE  1e6
#define MOST_STEPS  1e12

/* ---- figures */

static void add_report(const struct privacy_question *question, const struct privacy_report *report,
                       struct epsilon_lines *out)
{
    bool delta = question->for_delta;
    const struct privacy_interval *figure = &report->figure;
    if (delta) {
        epsilon_lines_number(out, EPSILON_UPPER, "delta", figure->upper, "certified upper bound");
        epsilon_lines_number(out, EPSILON_LOWER, "delta_lower", figure->lower,
                             "certified lower bound");
        epsilon_lines_number(out, EPSILON_EXACT, "epsilon", question->at,
                             "at which delta is stated");
    } else {
        bool pair = strcmp(report->accountant, accountant_renyi.name) == 0;
        epsilon_lines_number(out, EPSILON_UPPER, "epsilon", figure->upper, "certified upper bound");
        epsilon_lines_number(out, EPSILON_LOWER, "epsilon_lower", figure->lower,
                             pair ? "what one pair of neighbours costs" : "certified lower bound");
        epsilon_lines_number(out, EPSILON_EXACT, "delta", question->at,
                             "at which epsilon is stated");
    }
    epsilon_lines_text(out, "accountant", report->accountant, "that gives these figures");
    epsilon_lines_number(out, EPSILON_UPPER, delta ? "delta_renyi" : "epsilon_renyi", report->renyi,
                         "by Renyi divergence at its best order");
    epsilon_lines_number(out, EPSILON_EXACT, delta ? "delta_exact" : "epsilon_exact", report->exact,
                         "exact but for floating point");
}

/* Adds the published formula's value for a Dirichlet teacher, for comparison. */
static void add_paper(const struct composition *plan, double delta, struct epsilon_lines *out)
{
    const struct mechanism *m = &plan->part[0].mechanism;
    if (plan->count != 1 || m->kind != MECHANISM_DIRICHLET)
        return;
    struct dirichlet d = {m->dirichlet.actions, m->dirichlet.concentration,
                          m->dirichlet.min_probability, m->dirichlet.sensitivity};
    double epsilon = dirichlet_paper_total(&d, (double)plan->part[0].times, delta);
    epsilon_lines_number(out, EPSILON_EXACT, "epsilon_paper",
                         isfinite(epsilon) ? epsilon : (double)NAN,
                         "by the published formula, which is no guarantee");
}

static int price_plan(const struct epsilon_options *options, const struct composition *plan,
                      struct epsilon_lines *out)
{
    bool for_delta = options->given & FLAG_BIT(FLAG_EPSILON);
    struct privacy_question question = {for_delta,
                                        options->value[for_delta ? FLAG_EPSILON : FLAG_DELTA]};
    struct privacy_report report;
    enum accountant_status status = privacy_report_make(plan, &question, PRIVACY_FULL, &report);
    if (status != ACCOUNTANT_OK)
        return cli_complain(&epsilon_flags, CLI_FAILED,
                            "no finite epsilon can be certified: the noise is too small, the "
                            "probability of failure exceeds delta, or numbers are extreme");
    add_report(&question, &report, out);
    if (!for_delta)
        add_paper(plan, question.at, out);
    return 0;
}

/* ---- --find */

struct family {
    const struct epsilon_mechanism *mechanism;
    struct epsilon_options options;
    enum epsilon_flag flag;
};

static enum composition_status family_member(const void *context, double parameter,
                                             struct composition *out)
{
    struct family family = *(const struct family *)context;
    family.options.value[family.flag] = parameter;
    return family.mechanism->plan(&family.options, out) == 0 ? COMPOSITION_OK : COMPOSITION_BAD;
}

/* The accountant for all members of the family; NULL after one line on standard error. */
static const struct accountant *accountant_of(const struct family *family, double parameter)
{
    struct composition plan = {0};
    const struct accountant *accountant = NULL;
    if (family_member(family, parameter, &plan) == COMPOSITION_OK)
        accountant = privacy_report_accountant(&plan);
    composition_clear(&plan);
    return accountant;
}

static int search_family(const struct family *family, double *out)
{
    const double *v = family->options.value;
    bool steps = family->flag == FLAG_STEPS;
    double unit = family->options.given & FLAG_BIT(FLAG_SENSITIVITY) ? v[FLAG_SENSITIVITY] : 1.0;
    struct accountant_budget budget = {v[FLAG_TARGET_EPSILON], v[FLAG_DELTA]};
    struct accountant_found found = {0};
    const struct accountant *accountant = accountant_of(family, steps ? 1.0 : unit);
    if (!accountant)
        return CLI_USAGE; /* one line was printed */
    enum accountant_search_status status =
        steps ? accountant_most_runs(accountant, family_member, family, &budget, MOST_STEPS, &found)
              : accountant_least_noise(accountant, family_member, family, &budget,
                                       LEAST_NOISE * unit, MOST_NOISE * unit, &found);
    *out = found.parameter;
    if (status == ACCOUNTANT_SEARCH_OK)
        return 0;
    return cli_complain(&epsilon_flags, CLI_FAILED,
                        "not even %s costs as little as --target-epsilon",
                        steps ? "one step" : "noise of a million times the sensitivity");
}

/* Finds the flag that --find names. */
static int find_solved_flag(const struct epsilon_options *options,
                            const struct epsilon_mechanism *mechanism, enum epsilon_flag *out)
{
    *out = epsilon_flag_find(options->find);
    bool solvable = mechanism->plan && *out != EPSILON_FLAGS &&
                    (*out == FLAG_STEPS || *out == mechanism->noise);
    if (!solvable)
        return cli_complain(&epsilon_flags, CLI_USAGE,
                            "--find: \"%s\" is not a value that can be solved for with %s",
                            options->find, mechanism->name);
    if (options->given & FLAG_BIT(*out))
        return cli_complain(&epsilon_flags, CLI_USAGE,
                            "--%s is given, but it is what --find solves for",
                            epsilon_flag_name(*out));
    return 0;
}

/* "noise_multiplier" of FLAG_NOISE_MULTIPLIER. */
static const char *name_of_found(enum epsilon_flag flag)
{
    return flag == FLAG_NOISE_MULTIPLIER ? "noise_multiplier" : epsilon_flag_name(flag);
}

static int solve_for(const struct epsilon_options *options,
                     const struct epsilon_mechanism *mechanism, struct epsilon_lines *out)
{
    struct family family = {.mechanism = mechanism, .options = *options};
    int status = find_solved_flag(options, mechanism, &family.flag);
    unsigned given = FLAG_BIT(FLAG_DELTA) | FLAG_BIT(FLAG_TARGET_EPSILON);
    unsigned needs = (mechanism->needs & ~FLAG_BIT(family.flag)) | given;
    if (status == 0)
        status = epsilon_flags_check(options, needs, mechanism->may, mechanism->name);
    double found = 0.0;
    if (status == 0)
        status = search_family(&family, &found);
    if (status != 0)
        return status;
    struct composition plan = {0};
    family.options.value[family.flag] = found;
    epsilon_lines_number(out, EPSILON_EXACT, name_of_found(family.flag), found,
                         family.flag == FLAG_STEPS ? "the most" : "the least");
    status = mechanism->plan(&family.options, &plan);
    if (status == 0)
        status = price_plan(&family.options, &plan, out);
    composition_clear(&plan);
    return status;
}

/* ---- --events */

static int read_event_file(const char *name, struct composition *out)
{
    struct event events = {0};
    char fault[EVENT_TEXT_FAULT_SIZE], error[CLI_ERROR_SIZE];
    const char *why = NULL;
    size_t size = 0;
    char *bytes = cli_read_file(name, EVENTS_MAX, &size, error);
    if (!bytes)
        return cli_complain(&epsilon_flags, CLI_USAGE, "--events: %s", error);
    int status = 0;
    if (!event_text_read(bytes, size, &events, fault))
        status = cli_complain(&epsilon_flags, CLI_USAGE, "--events: %s", fault);
    else if (event_flatten(&events, out, &why) != EVENT_OK)
        status = cli_complain(&epsilon_flags, CLI_USAGE, "--events: cannot be priced: %s", why);
    event_clear(&events);
    free(bytes);
    return status;
}

/* ---- the command */

/* Checks that exactly one of --delta and --epsilon is given. */
static int check_question(const struct epsilon_options *options)
{
    bool delta = options->given & FLAG_BIT(FLAG_DELTA);
    bool epsilon = options->given & FLAG_BIT(FLAG_EPSILON);
    if (delta && epsilon)
        return cli_complain(&epsilon_flags, CLI_USAGE, "--epsilon: --delta is given already");
    return delta || epsilon ? 0 : cli_complain(&epsilon_flags, CLI_USAGE, "--delta is missing");
}

static int answer_plan(const struct epsilon_options *options,
                       const struct epsilon_mechanism *mechanism, struct epsilon_lines *out)
{
    unsigned question = FLAG_BIT(FLAG_DELTA) | FLAG_BIT(FLAG_EPSILON);
    struct composition plan = {0};
    int status = mechanism ? epsilon_flags_check(options, mechanism->needs,
                                                 mechanism->may | question, mechanism->name)
                           : epsilon_flags_check(options, 0, question, "--events");
    if (status == 0)
        status = check_question(options);
    if (status == 0)
        status =
            mechanism ? mechanism->plan(options, &plan) : read_event_file(options->events, &plan);
    if (status == 0)
        status = price_plan(options, &plan, out);
    composition_clear(&plan);
    return status;
}

static int find_answer(const struct epsilon_options *options, struct epsilon_lines *out)
{
    bool target = options->given & FLAG_BIT(FLAG_TARGET_EPSILON);
    if (!options->mechanism == !options->events)
        return cli_complain(&epsilon_flags, CLI_USAGE, "either --mechanism or --events is needed");
    if (target == !options->find)
        return cli_complain(&epsilon_flags, CLI_USAGE, "--target-epsilon and --find go together");
    if (options->events && options->find)
        return cli_complain(&epsilon_flags, CLI_USAGE, "--find: is nothing for --events");
    if (options->events)
        return answer_plan(options, NULL, out);
    const struct epsilon_mechanism *mechanism = epsilon_mechanism_find(options->mechanism);
    if (!mechanism)
        return cli_complain(&epsilon_flags, CLI_USAGE,
                            "--mechanism: there is no \"%s\"; --help lists them",
                            options->mechanism);
    if (options->find)
        return solve_for(options, mechanism, out);
    if (mechanism->plan)
        return answer_plan(options, mechanism, out);
    int status = epsilon_flags_check(options, mechanism->needs, mechanism->may, mechanism->name);
    return status != 0 ? status : mechanism->answer(options, out);
}

int cli_epsilon(int argc, char **argv)
{
    struct epsilon_options options = {.given = 0};
    struct epsilon_lines lines = {0};
    struct flags_found found;
    int status = cli_read_flags(&epsilon_flags, argc, argv, &options, &found);
    if (status != CLI_GO_ON)
        return status;
    options.given = found.given;
    status = find_answer(&options, &lines);
    if (status != 0)
        return status;
    if (!epsilon_lines_print(&lines, options.json))
        return cli_complain(&epsilon_flags, CLI_FAILED, "cannot write to standard output");
    return CLI_DONE;
}
