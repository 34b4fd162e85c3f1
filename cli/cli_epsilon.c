/* tacet epsilon: from flags or a file of events to a plan, from the plan to figures. It reads no
 * database and no environment: those are settings of the service. */
#include "cli/cli_epsilon.h"

#include <errno.h>
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

enum { EXIT_FAILED = 1, EXIT_USAGE = 2 };

#define EVENTS_MAX  ((size_t)1 << 20) /* bytes of --events */
#define LEAST_NOISE 0.05              /* what --find looks at, over sensitivity */
#define MOST_NOISE  1e6
#define MOST_STEPS  1e12

static void print_help(void)
{
    puts("usage: tacet epsilon --mechanism NAME [flags] --delta D\n"
         "       tacet epsilon --events FILE --delta D\n\n"
         "Says what a mechanism costs, certified from above and from below, by the accountants\n"
         "that the service charges by.\n");
    const struct epsilon_mechanism *mechanism;
    for (unsigned i = 0; (mechanism = epsilon_mechanism_at(i)); i++) {
        printf("  %s: %s\n     ", mechanism->name, mechanism->summary);
        for (unsigned flag = 0; flag < FLAG_COUNT; flag++)
            if (mechanism->needs & FLAG_BIT(flag))
                printf(" --%s", epsilon_flag_name((enum epsilon_flag)flag));
        puts("");
    }
    puts("");
    epsilon_flags_help();
    puts("  --find            NAME   solve for noise-multiplier (sigma, scale) or steps\n"
         "  --events          FILE   a tree of DpEvents in JSON, or an array of them; - reads\n"
         "                           standard input\n"
         "  --json                   print one JSON object\n"
         "  --help                   this text");
}

/* ---- figures */

static int complain_of(enum accountant_status status)
{
    if (status == ACCOUNTANT_NO_MEMORY)
        return epsilon_complain(EXIT_FAILED, "out of memory");
    return epsilon_complain(EXIT_FAILED, "no finite figure can be certified: too little noise, "
                                         "more left to chance than delta, or extreme numbers");
}

static void add_report(const struct privacy_question *question, const struct privacy_report *report,
                       struct epsilon_lines *out)
{
    bool delta = question->for_delta;
    const struct privacy_interval *figure = &report->figure;
    if (delta) {
        epsilon_lines_upper(out, "delta", figure->upper, "certified from above");
        epsilon_lines_lower(out, "delta_lower", figure->lower, "certified from below");
        epsilon_lines_number(out, "epsilon", question->at, "at which delta is told");
    } else {
        bool pair = strcmp(report->accountant, accountant_renyi.name) == 0;
        epsilon_lines_upper(out, "epsilon", figure->upper, "certified from above");
        epsilon_lines_lower(out, "epsilon_lower", figure->lower,
                            pair ? "what one pair of neighbours costs" : "certified from below");
        epsilon_lines_number(out, "delta", question->at, "at which epsilon is told");
    }
    epsilon_lines_text(out, "accountant", report->accountant, "whose figures these are");
    epsilon_lines_upper(out, delta ? "delta_renyi" : "epsilon_renyi", report->renyi,
                        "by Renyi divergence at its best order");
    epsilon_lines_number(out, delta ? "delta_exact" : "epsilon_exact", report->exact,
                         "exact but for floating point");
}

/* What the paper says of a Dirichlet teacher's answers, for comparison. */
static void add_paper(const struct composition *plan, double delta, struct epsilon_lines *out)
{
    const struct mechanism *m = &plan->part[0].mechanism;
    if (plan->count != 1 || m->kind != MECHANISM_DIRICHLET)
        return;
    struct dirichlet d = {m->dirichlet.actions, m->dirichlet.concentration,
                          m->dirichlet.min_probability, m->dirichlet.sensitivity};
    double epsilon = dirichlet_paper_total(&d, (double)plan->part[0].times, delta);
    epsilon_lines_number(out, "epsilon_paper", isfinite(epsilon) ? epsilon : (double)NAN,
                         "by the published formula, which is no guarantee");
}

static int price(const struct epsilon_options *options, const struct composition *plan,
                 struct epsilon_lines *out)
{
    bool for_delta = options->given & FLAG_BIT(FLAG_EPSILON);
    struct privacy_question question = {for_delta,
                                        options->value[for_delta ? FLAG_EPSILON : FLAG_DELTA]};
    struct privacy_report report;
    enum accountant_status status = privacy_report_make(plan, &question, PRIVACY_FULL, &report);
    if (status != ACCOUNTANT_OK)
        return complain_of(status);
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

static enum composition_status member(const void *context, double parameter,
                                      struct composition *out)
{
    struct family family = *(const struct family *)context;
    family.options.value[family.flag] = parameter;
    return family.mechanism->plan(&family.options, out) == 0 ? COMPOSITION_OK : COMPOSITION_BAD;
}

/* The accountant of the family: that of any member. */
static const struct accountant *accountant_of(const struct family *family, double parameter)
{
    struct composition plan = {0};
    const struct accountant *accountant = NULL;
    if (member(family, parameter, &plan) == COMPOSITION_OK)
        accountant = privacy_report_accountant(&plan);
    composition_clear(&plan);
    return accountant;
}

static int search(const struct family *family, double *out)
{
    const double *v = family->options.value;
    bool steps = family->flag == FLAG_STEPS;
    double unit = family->options.given & FLAG_BIT(FLAG_SENSITIVITY) ? v[FLAG_SENSITIVITY] : 1.0;
    struct accountant_budget budget = {v[FLAG_TARGET_EPSILON], v[FLAG_DELTA]};
    struct accountant_found found;
    const struct accountant *accountant = accountant_of(family, steps ? 1.0 : unit);
    if (!accountant)
        return EXIT_USAGE; /* the plan has said why */
    enum accountant_search_status status =
        steps ? accountant_most_runs(accountant, member, family, &budget, MOST_STEPS, &found)
              : accountant_least_noise(accountant, member, family, &budget, LEAST_NOISE * unit,
                                       MOST_NOISE * unit, &found);
    switch (status) {
    case ACCOUNTANT_SEARCH_OK:
        *out = found.parameter;
        return 0;
    case ACCOUNTANT_SEARCH_NO_MEMORY:
        return epsilon_complain(EXIT_FAILED, "out of memory");
    case ACCOUNTANT_SEARCH_NOTHING_FITS:
    case ACCOUNTANT_SEARCH_BAD:
    case ACCOUNTANT_SEARCH_UNSUPPORTED:
        break;
    }
    return epsilon_complain(EXIT_FAILED, "not even %s costs as little as --target-epsilon",
                            steps ? "one step" : "noise of a million times the sensitivity");
}

/* The flag that --find names. */
static int find_flag(const struct epsilon_options *options,
                     const struct epsilon_mechanism *mechanism, enum epsilon_flag *out)
{
    *out = epsilon_flag_find(options->find);
    bool solvable =
        mechanism->plan && *out != FLAG_COUNT && (*out == FLAG_STEPS || *out == mechanism->noise);
    if (!solvable)
        return epsilon_complain(EXIT_USAGE, "--find: \"%s\" is nothing to solve %s for",
                                options->find, mechanism->name);
    if (options->given & FLAG_BIT(*out))
        return epsilon_complain(EXIT_USAGE, "--%s is given, but it is what --find solves for",
                                epsilon_flag_name(*out));
    return 0;
}

/* "noise_multiplier" of FLAG_NOISE_MULTIPLIER. */
static const char *name_of_found(enum epsilon_flag flag)
{
    return flag == FLAG_NOISE_MULTIPLIER ? "noise_multiplier" : epsilon_flag_name(flag);
}

static int solve(const struct epsilon_options *options, const struct epsilon_mechanism *mechanism,
                 struct epsilon_lines *out)
{
    struct family family = {.mechanism = mechanism, .options = *options};
    int status = find_flag(options, mechanism, &family.flag);
    unsigned given = FLAG_BIT(FLAG_DELTA) | FLAG_BIT(FLAG_TARGET_EPSILON);
    unsigned needs = (mechanism->needs & ~FLAG_BIT(family.flag)) | given;
    if (status == 0)
        status = epsilon_flags_check(options, needs, mechanism->may, mechanism->name);
    double found = 0.0;
    if (status == 0)
        status = search(&family, &found);
    if (status != 0)
        return status;
    struct composition plan = {0};
    family.options.value[family.flag] = found;
    epsilon_lines_number(out, name_of_found(family.flag), found,
                         family.flag == FLAG_STEPS ? "the most" : "the least");
    status = mechanism->plan(&family.options, &plan);
    if (status == 0)
        status = price(&family.options, &plan, out);
    composition_clear(&plan);
    return status;
}

/* ---- --events */

/* All of FILE, malloc'ed; NULL after one line. */
static char *read_file(const char *name, size_t *out_size)
{
    bool standard = strcmp(name, "-") == 0;
    FILE *file = standard ? stdin : fopen(name, "rb");
    char *bytes = file ? malloc(EVENTS_MAX + 1) : NULL;
    if (!file) {
        epsilon_complain(EXIT_USAGE, "--events: cannot read %s: %s", name, strerror(errno));
        return NULL;
    }
    bool good = bytes != NULL;
    *out_size = good ? fread(bytes, 1, EVENTS_MAX + 1, file) : 0;
    if (!good)
        epsilon_complain(EXIT_FAILED, "out of memory");
    else if (ferror(file))
        good = epsilon_complain(EXIT_USAGE, "--events: cannot read %s", name) == 0;
    else if (*out_size > EVENTS_MAX)
        good = epsilon_complain(EXIT_USAGE, "--events: %s is larger than 1 MiB", name) == 0;
    if (!standard)
        fclose(file);
    if (good)
        return bytes;
    free(bytes);
    return NULL;
}

static int read_events(const char *name, struct composition *out)
{
    struct event events = {0};
    char fault[EVENT_TEXT_FAULT_SIZE];
    const char *why = NULL;
    size_t size = 0;
    char *bytes = read_file(name, &size);
    if (!bytes)
        return EXIT_USAGE;
    int status = 0;
    if (!event_text_read(bytes, size, &events, fault))
        status = epsilon_complain(EXIT_USAGE, "--events: %s", fault);
    else if (event_flatten(&events, out, &why) != EVENT_OK)
        status = epsilon_complain(EXIT_USAGE, "--events: cannot be priced: %s", why);
    event_clear(&events);
    free(bytes);
    return status;
}

/* ---- the command */

/* Exactly one of --delta and --epsilon. */
static int check_question(const struct epsilon_options *options)
{
    bool delta = options->given & FLAG_BIT(FLAG_DELTA);
    bool epsilon = options->given & FLAG_BIT(FLAG_EPSILON);
    if (delta && epsilon)
        return epsilon_complain(EXIT_USAGE, "--epsilon: --delta is given already");
    return delta || epsilon ? 0 : epsilon_complain(EXIT_USAGE, "--delta is missing");
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
        status = mechanism ? mechanism->plan(options, &plan) : read_events(options->events, &plan);
    if (status == 0)
        status = price(options, &plan, out);
    composition_clear(&plan);
    return status;
}

static int answer(const struct epsilon_options *options, struct epsilon_lines *out)
{
    bool target = options->given & FLAG_BIT(FLAG_TARGET_EPSILON);
    if ((!options->mechanism) == (options->events == NULL))
        return epsilon_complain(EXIT_USAGE, "either --mechanism or --events is needed");
    if (target != (options->find != NULL))
        return epsilon_complain(EXIT_USAGE, "--target-epsilon and --find go together");
    if (options->events && options->find)
        return epsilon_complain(EXIT_USAGE, "--find: is nothing for --events");
    if (options->events)
        return answer_plan(options, NULL, out);
    const struct epsilon_mechanism *mechanism = epsilon_mechanism_find(options->mechanism);
    if (!mechanism)
        return epsilon_complain(EXIT_USAGE, "--mechanism: there is no \"%s\"; --help lists them",
                                options->mechanism);
    if (options->find)
        return solve(options, mechanism, out);
    if (mechanism->plan)
        return answer_plan(options, mechanism, out);
    int status = epsilon_flags_check(options, mechanism->needs, mechanism->may, mechanism->name);
    return status != 0 ? status : mechanism->answer(options, out);
}

int cli_epsilon(int argc, char **argv)
{
    struct epsilon_options options;
    struct epsilon_lines lines = {0};
    int status = epsilon_flags_read(argc, argv, &options);
    if (status != 0)
        return status;
    if (options.help) {
        print_help();
        return 0;
    }
    status = answer(&options, &lines);
    if (status != 0)
        return status;
    if (!epsilon_lines_print(&lines, options.json))
        return epsilon_complain(EXIT_FAILED, "cannot write to standard output");
    return 0;
}
