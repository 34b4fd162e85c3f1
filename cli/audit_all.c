/* The table of `tacet audit --all`: first a row for each noise, then a row for each training. */
#include "cli/audit_all.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algos/catalogue/algorithms.h"
#include "algos/offline/one_run_audit.h"
#include "algos/online/play_audit.h"
#include "algos/privacy/audit/event_search.h"
#include "memory/memory.h"

#define MOST_VERDICTS 128
#define LEVEL         (AUDIT_ALL_FALSE_ALARM / MOST_VERDICTS) /* of one verdict */

enum { CANARIES = 1000, ONE_RUNS = 16, PLAY_RUNS = 64, LEAST_ONE_RUNS = 2, WORLD_RUNS = 20000 };

struct audit_row {
    char name[64];
    const char *how;
    double delta, claimed, shown;
    bool refuted;
};

struct audit_table {
    enum membership_sabotage sabotage;
    uint64_t draws;
    uint32_t one_runs, play_runs, world_runs;
    bool json, refuted;
};

static void print_verdict(struct audit_table *table, const struct audit_row *row)
{
    const char *verdict = row->refuted ? "refuted" : "stands";
    const char *form = table->json ? "{\"mechanism\":\"%s\",\"delta\":%g,\"claimed\":%.6g,"
                                     "\"shown\":%.6g,\"verdict\":\"%s\",\"how\":\"%s\"}\n"
                                   : "%-36s %-7g %8.4f %8.4f  %-8s %s\n";
    printf(form, row->name, row->delta, row->claimed, row->shown, verdict, row->how);
    fflush(stdout);
    table->refuted = table->refuted || row->refuted;
}

/* ---- noises */

/* The worst of the settings of one noise, from the case FIRST on; *NEXT is the next noise's first.
 */
static bool search_noise(struct audit_table *table, unsigned first, unsigned *next)
{
    const char *name = event_case_at(first)->name;
    struct noise_source *noise = noise_source_new("audit");
    struct audit_row row = {.how = ""};
    const struct event_case *asked;
    if (!noise)
        return false;
    snprintf(row.name, sizeof row.name, "%s", name);
    for (*next = first; (asked = event_case_at(*next)) && strcmp(asked->name, name) == 0; ++*next) {
        const struct event_finding found = event_search(asked, table->draws, LEVEL, noise);
        const double claimed = event_case_epsilon(asked);
        row.refuted = row.refuted || found.epsilon > claimed;
        if (row.claimed > 0.0 && found.epsilon / claimed <= row.shown / row.claimed)
            continue;
        row.delta = asked->delta;
        row.claimed = claimed;
        row.shown = found.epsilon;
        row.how = found.kind;
    }
    noise_source_free(noise);
    print_verdict(table, &row);
    return true;
}

/* ---- trainings */

/* What the runs show about PLAN, as a row. */
static bool judge_runs(struct audit_table *table, struct audit_row *row,
                       const struct dp_sgd_plan *plan, const struct one_run_guesses *seen,
                       uint32_t runs)
{
    struct one_run_claim claim;
    if (!one_run_claim_of(plan, &claim))
        return false;
    row->delta = plan->delta;
    row->claimed = plan->epsilon;
    row->shown = one_run_shown(plan, seen, runs, LEVEL);
    row->refuted = one_run_p_value_of_all(&claim, seen, runs) <= LEVEL;
    print_verdict(table, row);
    return true;
}

static enum algorithm_status collect_runs(const struct audit_table *table,
                                          const struct one_run_attack *attack,
                                          struct one_run_guesses seen[ONE_RUNS])
{
    enum algorithm_status status = ALGORITHM_OK;
    struct rng coins;
    rng_seed(&coins, 1, 0);
    for (uint32_t i = 0; i < table->one_runs && status == ALGORITHM_OK; i++)
        status = one_run_attack_run(attack, table->sabotage, &coins, NULL, NULL, &seen[i]);
    return status;
}

static bool audit_one_run(struct audit_table *table, const struct algorithm *algorithm,
                          enum one_run_canary canary, bool exact)
{
    bool biases = canary == ONE_RUN_BIASES;
    const struct one_run_settings settings = {.algorithm = algorithm,
                                              .canary = canary,
                                              .exact = exact,
                                              .canaries = CANARIES,
                                              .batch_size = biases ? CANARIES : CANARIES / 4,
                                              .steps = biases ? 1 : 20,
                                              .noise_multiplier = 2.0,
                                              .delta = 1e-5,
                                              .seed = 1};
    struct audit_row row = {.how =
                                biases ? "1000 canaries, in biases" : "1000 canaries, in inputs"};
    struct one_run_guesses seen[ONE_RUNS];
    struct one_run_attack *attack = NULL;
    const char *message;
    snprintf(row.name, sizeof row.name, "%s, %s", algorithm->name, exact ? "exact" : "float");
    if (one_run_attack_new(&settings, &attack, &message) != ALGORITHM_OK)
        return false;
    bool played = collect_runs(table, attack, seen) == ALGORITHM_OK &&
                  judge_runs(table, &row, one_run_attack_claim(attack), seen, table->one_runs);
    one_run_attack_free(attack);
    return played;
}

static bool collect_worlds(const struct audit_table *table, const struct membership_attack *attack,
                           double *scores[2])
{
    for (uint32_t i = 0; i < 2 * table->world_runs; i++)
        if (membership_attack_run(attack, table->sabotage, i % 2 != 0, NULL,
                                  &scores[i % 2][i / 2]) != ALGORITHM_OK)
            return false;
    return true;
}

static bool audit_two_worlds(struct audit_table *table, const struct algorithm *algorithm)
{
    const struct membership_settings settings = {.algorithm = algorithm,
                                                 .experts = 2,
                                                 .steps = 2,
                                                 .noise_multiplier = 1.0,
                                                 .delta = 1e-2,
                                                 .seed = 1};
    struct audit_row row = {.how = "one canary, two worlds"};
    struct membership_attack *attack = NULL;
    const char *message;
    snprintf(row.name, sizeof row.name, "%s", algorithm->name);
    if (membership_attack_new(&settings, &attack, &message) != ALGORITHM_OK)
        return false;
    double *scores[2] = {memory_new(table->world_runs, sizeof(double)),
                         memory_new(table->world_runs, sizeof(double))};
    bool played = collect_worlds(table, attack, scores);
    if (played) {
        const struct dp_sgd_plan *plan = membership_attack_claim(attack);
        row.delta = plan->delta;
        row.claimed = plan->epsilon;
        row.shown =
            membership_lower_bound(scores[1], scores[0], table->world_runs, plan->delta, LEVEL)
                .epsilon;
        row.refuted = row.shown > row.claimed;
        print_verdict(table, &row);
    }
    free(scores[0]);
    free(scores[1]);
    membership_attack_free(attack);
    return played;
}

static bool audit_algorithm_all_ways(struct audit_table *table, const struct algorithm *algorithm)
{
    for (int i = 0; i < 4; i++)
        if (!audit_one_run(table, algorithm, i & 1 ? ONE_RUN_BIASES : ONE_RUN_INPUTS, !(i & 2)))
            return false;
    return audit_two_worlds(table, algorithm);
}

/* In float the steps of dqn take a sample of the users. */
static bool audit_play(struct audit_table *table, enum play_audit_way way, bool exact)
{
    static const char *const how[PLAY_AUDIT_WAYS] = {
        "1024 canaries, who play while it learns", "256 canaries, in a fixed buffer",
        "1024 canaries, each in one update", "1024 canaries, and the update after"};
    const struct play_audit_settings settings = play_audit_usual(way, exact, !exact);
    struct audit_row row = {.how = how[way]};
    struct one_run_guesses seen[PLAY_RUNS];
    struct play_attack *attack = NULL;
    const char *message;
    struct rng coins;
    snprintf(row.name, sizeof row.name, "%s, %s", play_audit_algorithm(way),
             exact ? "exact" : "float");
    if (play_attack_new(&settings, &attack, &message) != ALGORITHM_OK)
        return false;
    enum algorithm_status status = ALGORITHM_OK;
    rng_seed(&coins, 1, 0);
    for (uint32_t i = 0; i < table->play_runs && status == ALGORITHM_OK; i++)
        status = play_attack_run(attack, table->sabotage, &coins, NULL, &seen[i]);
    bool played = status == ALGORITHM_OK &&
                  judge_runs(table, &row, play_attack_claim(attack), seen, table->play_runs);
    play_attack_free(attack);
    return played;
}

enum audit_all_result audit_everything(enum membership_sabotage sabotage, double effort, bool json)
{
    struct audit_table table = {.sabotage = sabotage,
                                .draws = (uint64_t)(effort * (double)EVENT_DRAWS),
                                .one_runs = (uint32_t)fmax(LEAST_ONE_RUNS, effort * ONE_RUNS),
                                .play_runs = (uint32_t)fmax(LEAST_ONE_RUNS, effort * PLAY_RUNS),
                                .world_runs = (uint32_t)ceil(effort * WORLD_RUNS),
                                .json = json};
    unsigned count;
    const struct algorithm *const *all = algorithm_all(&count);
    if (!json)
        printf("%-36s %-7s %8s %8s  %-8s %s\n", "mechanism", "delta", "claimed", "shown", "verdict",
               "how");
    for (unsigned i = 0; event_case_at(i);)
        if (!search_noise(&table, i, &i))
            return AUDIT_ALL_FAILED;
    for (unsigned i = 0; i < count; i++)
        if (all[i]->kind == ALGORITHM_LEARNS_FROM_DATA && all[i]->mechanisms[MECHANISM_DPSGD] &&
            !audit_algorithm_all_ways(&table, all[i]))
            return AUDIT_ALL_FAILED;
    for (int i = 0; i < 2 * PLAY_AUDIT_WAYS; i++)
        if (!audit_play(&table, (enum play_audit_way)(i / 2), !(i & 1)))
            return AUDIT_ALL_FAILED;
    return table.refuted ? AUDIT_ALL_REFUTED : AUDIT_ALL_STANDS;
}
