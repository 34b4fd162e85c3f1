/* Advice: candidates, signals, outlooks, and what would be enough. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "algos/advice/advice.h"
#include "algos/catalogue/algorithms.h"
#include "algos/offline/consensus_plan.h"

static const double low[6] = {-1, -1, -1, -1, -1, -1}, high[6] = {1, 1, 1, 1, 1, 1};

static struct advice_facts facts_of(uint32_t experts, double epsilon, bool world, bool bounds)
{
    return (struct advice_facts){.experts = experts,
                                 .state_dim = 6,
                                 .action_count = 4,
                                 .max_episode_steps = 48,
                                 .discount = 0.99,
                                 .min_action_probability = 0.02,
                                 .epsilon = epsilon,
                                 .delta = 1e-6,
                                 .world = world ? env_find("ward") : NULL,
                                 .low = bounds ? low : NULL,
                                 .high = bounds ? high : NULL};
}

static bool advice_offers(const struct advice_facts *facts, enum advice_method method)
{
    struct advice_candidate one;
    for (unsigned i = 0; advice_candidate(facts, i, &one); i++)
        if (one.method == method)
            return true;
    return false;
}

Test(advice, offers_what_the_facts_allow)
{
    struct advice_facts facts = facts_of(100, 3, false, false);
    cr_assert(advice_offers(&facts, ADVICE_DPSGD));
    cr_assert(!advice_offers(&facts, ADVICE_CONSENSUS) && !advice_offers(&facts, ADVICE_SELECTIVE));
    cr_assert(!advice_offers(&facts, ADVICE_GRID));
    facts = facts_of(100, 3, true, false);
    cr_assert(advice_offers(&facts, ADVICE_CONSENSUS) && advice_offers(&facts, ADVICE_SELECTIVE));
    facts = facts_of(100, 3, false, true);
    cr_assert(advice_offers(&facts, ADVICE_GRID) && !advice_offers(&facts, ADVICE_CONSENSUS));
    facts.state_dim = 40; /* two points of each number are too many states */
    cr_assert(!advice_offers(&facts, ADVICE_GRID));
}

Test(advice, has_a_plan_for_every_candidate_within_its_budget)
{
    const struct advice_facts facts = facts_of(2000, 3, true, true);
    struct advice_candidate one;
    unsigned planned = 0;
    for (unsigned i = 0; advice_candidate(&facts, i, &one); i++) {
        struct algorithm_request request;
        struct algorithm_plan plan;
        enum advice_method method = ADVICE_METHODS;
        const char *message = "";
        advice_request(&facts, &one, &request);
        enum algorithm_status status = one.algorithm->plan(&request, &plan, &message);
        if (one.method == ADVICE_SELECTIVE && status == ALGORITHM_INFEASIBLE)
            continue;
        cr_assert_eq(status, ALGORITHM_OK, "%s: %s", one.algorithm->name, message);
        cr_assert_leq(plan.privacy.epsilon, facts.epsilon);
        cr_assert_gt(advice_signal(&request, &plan, &method), 0);
        cr_assert_eq(method, one.method);
        if (one.method == ADVICE_GRID)
            cr_assert_leq(consensus_grid_size(&request.stage.grid), 1000);
        planned++;
    }
    cr_assert_geq(planned, 8);
}

Test(advice, measures_the_signal_over_the_noise)
{
    struct algorithm_request request = {.mechanism = MECHANISM_DPSGD, .nominal_experts = 50};
    struct algorithm_plan plan = {
        .privacy = {.batch_size = 30, .steps = 10000, .noise_multiplier = 15},
        .parameter_count = 400};
    enum advice_method method;
    cr_assert_float_eq(advice_signal(&request, &plan, &method), 30 * 100.0 / (15 * 20), 1e-12);
    cr_assert_eq(method, ADVICE_DPSGD);
    request.mechanism = MECHANISM_CONSENSUS;
    plan.stage.consensus.noise = 20;
    cr_assert_float_eq(advice_signal(&request, &plan, &method), 2.5, 1e-12);
    cr_assert_eq(method, ADVICE_CONSENSUS);
    request.mechanism = MECHANISM_NONE;
    cr_assert(isnan(advice_signal(&request, &plan, &method)));
}

/* Every method and algorithm of the table. */
static bool next_family(unsigned *at, enum advice_method *method, const char **algorithm)
{
    for (; *at < advice_run_count; (*at)++) {
        bool first = true;
        for (unsigned k = 0; k < *at && first; k++)
            first = advice_runs[k].method != advice_runs[*at].method ||
                    strcmp(advice_runs[k].algorithm, advice_runs[*at].algorithm) != 0;
        if (first) {
            *method = advice_runs[*at].method;
            *algorithm = advice_runs[(*at)++].algorithm;
            return true;
        }
    }
    return false;
}

Test(advice, expects_more_of_more_signal)
{
    static const char *const worlds[] = {"", "ward", "cartpole"};
    enum advice_method method;
    const char *algorithm;
    unsigned known = 0;
    for (unsigned at = 0; next_family(&at, &method, &algorithm);) {
        for (size_t w = 0; w < sizeof worlds / sizeof worlds[0]; w++) {
            struct advice_outlook before = {.expected = -INFINITY};
            for (double signal = 1e-3; signal < 1e4; signal *= 1.7) {
                struct advice_outlook now;
                advice_look(method, algorithm, worlds[w], NULL, signal, &now);
                if (now.verdict == ADVICE_UNKNOWN)
                    break; /* too few runs */
                known++;
                cr_assert_geq(now.expected, before.expected - 1e-9, "%s at %g", algorithm, signal);
                cr_assert(now.low <= now.expected && now.expected <= now.high);
                cr_assert_geq(now.verdict, before.verdict);
                cr_assert_gt(now.runs, 1);
                before = now;
            }
        }
    }
    cr_assert_gt(known, 100);
}

Test(advice, says_nothing_of_what_was_not_measured)
{
    struct advice_outlook look;
    advice_look(ADVICE_DPSGD, "reinforce", "", NULL, 3, &look);
    cr_assert(look.verdict == ADVICE_UNKNOWN && isnan(look.expected));
    advice_look(ADVICE_DPSGD, "cql", "", NULL, NAN, &look);
    cr_assert_eq(look.verdict, ADVICE_UNKNOWN);
    advice_look(ADVICE_DPSGD, "cql", "", NULL, 1e9, &look);
    cr_assert(!look.measured);
}

/* A plan of a dozen steps has next to no noise, and learns nothing. */
Test(advice, praises_no_run_that_is_far_shorter_than_any_measured_one)
{
    struct advice_facts facts = facts_of(2000, 8, false, false);
    struct advice_candidate one;
    struct algorithm_request request;
    struct algorithm_plan plan;
    struct advice_outlook look;
    const char *message;
    cr_assert(advice_candidate(&facts, 0, &one));
    advice_request(&facts, &one, &request);
    int steps =
        parameters_index(one.algorithm->parameters, one.algorithm->parameter_count, "steps");
    request.parameters.value[steps].number[0] = 500;
    cr_assert_eq(one.algorithm->plan(&request, &plan, &message), ALGORITHM_OK);
    advice_look_at(&request, &plan, one.algorithm->name, "", &look);
    cr_assert_eq(look.verdict, ADVICE_UNKNOWN);
}

Test(advice, ranks_by_what_is_expected)
{
    const struct advice_facts facts = facts_of(300, 3, true, true);
    struct advice_ranked ranked[ADVICE_RANKED_MAX], some[ADVICE_RANKED_MAX];
    unsigned count = advice_rank(&facts, NULL, -1, ranked);
    cr_assert_gt(count, 5);
    for (unsigned i = 1; i < count; i++) {
        const struct advice_outlook *last = &ranked[i - 1].outlook, *next = &ranked[i].outlook;
        cr_expect(next->expected <= last->expected || next->verdict == ADVICE_HOPELESS);
    }
    const struct algorithm *cql = algorithm_find("cql");
    unsigned fewer = advice_rank(&facts, cql, MECHANISM_DPSGD, some);
    cr_assert(fewer > 0 && fewer < count);
    for (unsigned i = 0; i < fewer; i++)
        cr_assert(some[i].candidate.algorithm == cql &&
                  some[i].request.mechanism == MECHANISM_DPSGD);
    cr_assert_eq(advice_rank(&facts, algorithm_find("ppo"), -1, some), 0);
}

/* The first grid of FACTS, with POINTS of each number instead (0: with its own): its verdict. */
static enum advice_verdict grid_verdict(const struct advice_facts *facts, const char *world,
                                        uint32_t points)
{
    struct advice_candidate one;
    struct algorithm_request request;
    struct algorithm_plan plan;
    struct advice_outlook look;
    const char *message;
    unsigned i = 0;
    do
        cr_assert(advice_candidate(facts, i++, &one));
    while (one.method != ADVICE_GRID);
    advice_request(facts, &one, &request);
    for (uint32_t d = 0; points > 0 && d < facts->state_dim; d++)
        request.stage.grid.points[d] = points;
    request.stage.labels = consensus_grid_size(&request.stage.grid);
    cr_assert_eq(one.algorithm->plan(&request, &plan, &message), ALGORITHM_OK);
    advice_look_at(&request, &plan, one.algorithm->name, world, &look);
    cr_assert_geq(look.expected, ADVICE_GOOD_FROM);
    cr_assert_geq(look.low, ADVICE_WEAK_MARGIN);
    return look.verdict;
}

/* Three points of a number do well where data fill the ranges; elsewhere nobody knows. */
Test(advice, never_calls_a_coarse_grid_good_in_a_world_of_its_own)
{
    struct advice_facts facts = facts_of(3000, 5, false, true);
    cr_expect_eq(grid_verdict(&facts, "", 0), ADVICE_WEAK);
    cr_expect_eq(grid_verdict(&facts, "ward", 0), ADVICE_GOOD);
    facts.state_dim = 4;
    cr_expect_eq(grid_verdict(&facts, "", 5), ADVICE_GOOD);
    cr_expect_eq(grid_verdict(&facts, "", 4), ADVICE_WEAK);
}

/* A number, three categories, a number: each combination once, and as many points as fit. */
Test(advice, lists_the_states_of_a_grid_with_whole_categories)
{
    static const uint32_t width[] = {1, 3, 0, 0, 1};
    static double states[ADVICE_GRID_STATES * 8];
    struct advice_facts facts = facts_of(3000, 5, false, true);
    struct consensus_grid grid;
    double values[ADVICE_GRID_STATES];
    facts.state_dim = 5;
    cr_assert(advice_grid_list(&facts, width, states, &grid));
    cr_assert_eq(consensus_grid_size(&grid), 3 * 18 * 18);
    for (uint32_t i = 0; i < grid.count; i++) {
        const double *one = states + 5 * (size_t)i;
        cr_assert_eq(one[1] + one[2] + one[3], 1);
        for (uint32_t k = 0; k < i; k++)
            cr_assert_neq(memcmp(one, states + 5 * (size_t)k, 5 * sizeof *one), 0);
    }
    cr_expect_eq(consensus_list_values(&grid, 0, values), 18);
    cr_expect_eq(values[0], facts.low[0]);
    cr_expect_eq(values[17], facts.high[0]);
    cr_expect_eq(consensus_list_values(&grid, 2, values), 2);

    struct algorithm_request request = {.stage = {.kind = STAGE_CONSENSUS, .grid = grid}};
    cr_expect_not(advice_grid_is_coarse(&request, ""), "a category is not coarse");
    for (uint32_t i = 0; i < grid.count; i++)
        states[5 * (size_t)i + 4] = i % 4;
    cr_expect(advice_grid_is_coarse(&request, ""));
    cr_expect_not(advice_grid_is_coarse(&request, "ward"));

    /* numbers from 0 to 1 of which only the ends are asked are no categories */
    static const uint32_t shares[] = {1, 1, 1, 1, 1, 1, 2, 0};
    static const double zeros[8] = {0}, ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    const struct advice_facts before = facts;
    facts.low = zeros;
    facts.high = ones;
    facts.state_dim = 8;
    cr_assert(advice_grid_list(&facts, shares, states, &request.stage.grid));
    cr_expect_eq(consensus_list_values(&request.stage.grid, 0, values), 2);
    cr_expect(advice_grid_is_coarse(&request, ""));
    facts = before;

    static const uint32_t numbers[] = {1, 1, 1, 1, 1, 1, 1, 2, 0, 2, 0, 2, 0};
    facts.state_dim = 13; /* 2^7 x 8 are too many */
    cr_expect_not(advice_grid_list(&facts, numbers, states, &grid));
    facts.state_dim = ENV_MAX_STATE_DIM + 1;
    cr_expect_not(advice_grid_list(&facts, width, states, &grid));
}

static enum advice_verdict verdict_of(const struct algorithm *algorithm,
                                      const struct algorithm_request *request)
{
    struct algorithm_plan plan;
    struct advice_outlook look;
    const char *message;
    if (algorithm->plan(request, &plan, &message) != ALGORITHM_OK)
        return ADVICE_UNKNOWN;
    advice_look_at(request, &plan, algorithm->name, "", &look);
    return look.verdict;
}

/* Few experts and a small epsilon: noise alone may earn more than a weak hope. */
Test(advice, puts_no_hopeless_candidate_before_another)
{
    static const double epsilons[] = {0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2};
    bool mixed = false;
    for (size_t e = 0; e < sizeof epsilons / sizeof epsilons[0]; e++) {
        const struct advice_facts facts = facts_of(40, epsilons[e], false, true);
        struct advice_ranked ranked[ADVICE_RANKED_MAX];
        unsigned count = advice_rank(&facts, NULL, -1, ranked);
        for (unsigned i = 0; i + 1 < count; i++) {
            enum advice_verdict one = ranked[i].outlook.verdict;
            enum advice_verdict next = ranked[i + 1].outlook.verdict;
            cr_expect(one != ADVICE_HOPELESS || next == ADVICE_HOPELESS || next == ADVICE_UNKNOWN);
            mixed = mixed || (one == ADVICE_WEAK && next == ADVICE_HOPELESS);
        }
    }
    cr_expect(mixed);
}

Test(advice, finds_what_would_be_enough)
{
    const struct advice_facts facts = facts_of(10, 0.3, false, true);
    struct advice_candidate one;
    unsigned found = 0;
    for (unsigned i = 0; advice_candidate(&facts, i, &one); i++) {
        struct algorithm_request request, more;
        advice_request(&facts, &one, &request);
        for (int v = ADVICE_WEAK; v <= ADVICE_GOOD; v++) {
            struct advice_enough enough;
            advice_enough(one.algorithm, &request, "", (enum advice_verdict)v, &enough);
            more = request;
            if (enough.experts > 0) {
                more.nominal_experts = enough.experts;
                cr_assert_geq((int)verdict_of(one.algorithm, &more), v);
                more.nominal_experts = (uint32_t)(enough.experts / 1.5);
                cr_expect_geq(enough.experts, ADVICE_LEAST_EXPERTS, "%u: %u", i, enough.experts);
                if (enough.experts > 1.2 * ADVICE_LEAST_EXPERTS) /* else it may be the least */
                    cr_assert_lt((int)verdict_of(one.algorithm, &more), v);
                found++;
            }
            more = request;
            if (enough.epsilon > 0) {
                more.epsilon = enough.epsilon;
                cr_assert_geq((int)verdict_of(one.algorithm, &more), v);
                more.epsilon = enough.epsilon / 1.5;
                if (enough.epsilon > 0.1)
                    cr_assert_lt((int)verdict_of(one.algorithm, &more), v);
                found++;
            }
        }
    }
    cr_assert_gt(found, 5);
}

/* ---- against measured runs of a world that is left out */

static const char *const worlds[] = {"factory", "ward", "fund", "cartpole", "acrobot"};

/* Of runs that the other worlds call hopeless, few did well: a refusal must not stop what works. */
Test(advice, refuses_hardly_anything_that_worked)
{
    unsigned hopeless = 0, good = 0;
    for (unsigned i = 0; i < advice_run_count; i++) {
        const struct advice_run *run = &advice_runs[i];
        struct advice_outlook look;
        advice_look(run->method, run->algorithm, "", run->world, run->signal, &look);
        if (look.verdict != ADVICE_HOPELESS)
            continue;
        hopeless++;
        good += run->quality >= ADVICE_GOOD_FROM;
    }
    cr_assert_gt(hopeless, 20);
    cr_assert_lt(good * 10, hopeless, "%u of %u", good, hopeless);
}

Test(advice, knows_each_world_of_its_table)
{
    for (size_t w = 0; w < sizeof worlds / sizeof worlds[0]; w++) {
        unsigned runs = 0;
        for (unsigned i = 0; i < advice_run_count; i++)
            runs += strcmp(advice_runs[i].world, worlds[w]) == 0;
        cr_assert_geq(runs, 40, "%s has %u runs", worlds[w], runs);
    }
}
