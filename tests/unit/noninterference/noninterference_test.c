/* Nothing that a caller can see, beside the output of a mechanism, tells neighbours apart: the
 * whole service runs on both with the same public coins, and two transcripts are compared. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "algos/catalogue/algorithms.h"
#include "api/match.h"
#include "tests/unit/noninterference/kinds.h"

TestSuite(noninterference, .timeout = 3600);

#define ROUTES_MOST 256
#define SHOWN       20

/* The expert x as it mostly is, and all else. */
static const struct secret ordinary = {.name = "the ordinary expert",
                                       .steps = 10,
                                       .first = 0.02,
                                       .further = 0.03,
                                       .reward = 1,
                                       .weight = 0.3,
                                       .question = 0.01,
                                       .gradient = 0.5,
                                       .unprotected_pulse_ms = 1100,
                                       .public_epsilon = 1e6};

/* A neighbour that is yet to differ, but for the pace of its clock. */
static struct secret neighbour_called(const char *name)
{
    struct secret secret = ordinary;
    secret.name = name;
    secret.unprotected_pulse_ms = 1300;
    return secret;
}

static struct secret neighbour_without(void)
{
    struct secret secret = neighbour_called("an expert who is not there");
    secret.steps = 0;
    return secret;
}

/* ---- runs */

enum reach { REACH_ALL, REACH_DATA, REACH_REQUESTS, REACH_EXTREMES };

struct run {
    const char *name; /* of its secret */
    struct transcript *t;
    unsigned answered[ROUTES_MOST];
    struct job_tally *tally;
    size_t tally_count;
};

static struct run run_with(const struct secret *secret, enum reach scope)
{
    struct run run = {.name = secret->name};
    struct play *p = play_open(secret, run.answered, fixture_open);
    if (scope == REACH_ALL || scope == REACH_DATA)
        kinds_play(p, scope == REACH_DATA, &run.tally, &run.tally_count);
    if (scope == REACH_ALL || scope == REACH_REQUESTS)
        play_meddle(p);
    if (scope == REACH_EXTREMES)
        extremes_play(p);
    run.t = play_close(p);
    return run;
}

static void run_clear(struct run *run)
{
    transcript_free(run->t);
    free(run->tally);
}

/* The differences between a run with SECRET and ONE. */
static size_t differences(const struct run *one, const struct secret *secret, enum reach scope,
                          FILE *out)
{
    struct run two = run_with(secret, scope);
    size_t found = transcript_compare(one->t, two.t, SHOWN, out);
    if (out && found > 0)
        fprintf(out, "%zu differences in all between %s (-) and %s (+)\n", found, one->name,
                secret->name);
    run_clear(&two);
    return found;
}

static void expect_alike(const struct secret *secrets, size_t count, enum reach scope)
{
    struct run one = run_with(&ordinary, scope);
    for (size_t i = 0; i < count; i++)
        cr_expect_eq(differences(&one, &secrets[i], scope, stderr), 0, "%s", secrets[i].name);
    run_clear(&one);
}

/* ---- what was covered */

/* Whether ROUTE registers or deletes a client's world, which takes a runner and starts a program.
 * Its row says what its client sent, and nothing of any dataset. */
static bool is_of_registered_worlds(const struct route *route)
{
    return strncmp(route->pattern, "/v1/environments", 16) == 0 &&
           strcmp(route->method, "GET") != 0;
}

/* Every route has answered somebody well. */
static void expect_routes(const struct run *run)
{
    unsigned count, good = 0;
    const struct route *routes = route_all(&count);
    cr_assert_leq(count, ROUTES_MOST);
    for (unsigned i = 0; i < count; i++) {
        cr_expect(run->answered[i] > 0 || is_of_registered_worlds(&routes[i]),
                  "%s %s answered nobody with success: give play.c a request that it takes",
                  routes[i].method, routes[i].pattern);
        good += run->answered[i] > 0;
    }
    fprintf(stderr, "endpoints: %u of %u, asked by each of %d callers\n", good, count, CALLERS);
}

/* Each mechanism of each algorithm ran to its end in every life; each option was taken somewhere.
 */
static void expect_kinds(const struct run *run)
{
    size_t ran = 0, refused = 0;
    for (size_t i = 0; i < run->tally_count; i++) {
        const struct job_tally *kind = &run->tally[i], *other = run->tally;
        ran += kind->accepted;
        refused += !kind->accepted;
        cr_expect(kind->accepted || strcmp(kind->option, "plain") != 0,
                  "%s with %s was refused: give kinds.c what it needs", kind->algorithm,
                  kind->mechanism);
        cr_expect(kind->succeeded || strcmp(kind->option, "plain") != 0 ||
                      strncmp(kind->life, "cancelled", 9) == 0,
                  "%s with %s did not succeed (%s)", kind->algorithm, kind->mechanism, kind->life);
        bool learns = algorithm_find(kind->algorithm)->kind == ALGORITHM_LEARNS_FROM_DATA;
        cr_expect(kind->happened || !learns || strcmp(kind->life, "runs") == 0,
                  "%s with %s was over before it was %s", kind->algorithm, kind->mechanism,
                  kind->life);
        while (strcmp(other->option, kind->option) != 0 || !other->succeeded)
            cr_assert(++other < run->tally + run->tally_count,
                      "no job succeeded with the option %s", kind->option);
    }
    fprintf(stderr,
            "kinds of jobs: %zu of %zu (algorithm x mechanism x option, and x life): %zu ran, %zu "
            "are refused\n",
            ran + refused, run->tally_count, ran, refused);
}

static void expect_masks(const struct run *run)
{
    size_t count;
    const struct mask *masks = mask_all(&count);
    fprintf(stderr, "masked of %zu values in %zu answers:\n", transcript_lines(run->t),
            transcript_blocks(run->t));
    for (size_t i = 0; i < count; i++) {
        cr_expect_gt(transcript_masked(run->t, i), 0, "nothing is masked by %s %s: remove the row",
                     masks[i].request, masks[i].field);
        fprintf(stderr, "  %7zu  %s, %s: %s (%s)\n", transcript_masked(run->t, i), masks[i].request,
                masks[i].who, masks[i].field, masks[i].reason);
    }
}

/* ---- neighbours */

Test(noninterference, of_an_expert_who_is_there_or_not)
{
    const struct secret without = neighbour_without();
    struct run one = run_with(&ordinary, REACH_ALL);
    cr_expect_eq(differences(&one, &without, REACH_ALL, stderr), 0);
    expect_routes(&one);
    expect_kinds(&one);
    expect_masks(&one);
    run_clear(&one);
}

Test(noninterference, of_extreme_data)
{
    struct secret one = neighbour_called("one transition");
    struct secret rewards = neighbour_called("huge rewards");
    struct secret states = neighbour_called("huge states");
    struct secret stays = neighbour_called("a state that is never left");
    struct secret network = neighbour_called("a network of huge weights");
    one.steps = 1;
    rewards.reward = 3e38;
    states.first = 3e38;
    states.further = -3e38;
    stays.steps = 20;
    stays.first = stays.further = stays.reward = 0;
    stays.truncated = true;
    network.weight = 3e38;
    const struct secret secrets[] = {one, rewards, states, stays, network};
    expect_alike(secrets, sizeof secrets / sizeof secrets[0], REACH_DATA);
}

Test(noninterference, of_settings_at_the_ends_of_their_ranges)
{
    struct secret without = neighbour_without(), huge = neighbour_called("huge numbers");
    huge.first = huge.reward = huge.weight = 3e38;
    huge.further = -3e38;
    struct run one = run_with(&without, REACH_EXTREMES);
    cr_expect_eq(differences(&one, &huge, REACH_EXTREMES, stderr), 0);
    run_clear(&one);
}

Test(noninterference, of_what_is_asked_and_reported)
{
    struct secret secrets[] = {neighbour_called("another question within the radius"),
                               neighbour_called("another gradient")};
    secrets[0].question = 0.019;
    secrets[1].gradient = -1e30;
    expect_alike(secrets, sizeof secrets / sizeof secrets[0], REACH_REQUESTS);
}

/* ---- that a difference would be seen */

Test(noninterference, is_none_between_two_runs_on_one_input)
{
    expect_alike(&ordinary, 1, REACH_REQUESTS);
}

Test(noninterference, finds_another_public_setting)
{
    struct secret other = neighbour_called("another limit");
    struct run one = run_with(&ordinary, REACH_REQUESTS);
    other.public_epsilon = 999999;
    cr_expect_gt(differences(&one, &other, REACH_REQUESTS, NULL), 0);
    run_clear(&one);
}

Test(noninterference, finds_a_count_of_transitions_in_a_name)
{
    struct secret one = ordinary, two = neighbour_without();
    one.planted = two.planted = true;
    struct run first = run_with(&one, REACH_REQUESTS);
    cr_expect_gt(differences(&first, &two, REACH_REQUESTS, NULL), 0);
    run_clear(&first);
}
