/* What a certificate of dqn says: docs/proofs/dp_sgd.md, docs/proofs/playing_users.md and
 * docs/proofs/observations.md. */
#include "algos/online/dqn_parameters.h"
#include "algos/online/online_run.h"

static const char neighbours_transition[] =
    "Two buffers are neighbours when one transition (state, action, reward, next state, end) is "
    "emptied in one of them while its slot stays.";
static const char neighbours_user[] =
    "Two buffers are neighbours when one user's episode is emptied in one of them while its slot "
    "stays.";
static const char neighbours_playing[] =
    "Two runs are neighbours when one user's episode is emptied in one of them while the user's "
    "turn stays: it is played by nobody, and the number of users, which is public, stays.";

static const char accountant_slots[] =
    "privacy-loss distribution of the composed Poisson-subsampled Gaussian, both directions "
    "(closed form where every slot is in every batch); epsilon is an upper and epsilon_lower a "
    "lower bound of what these steps cost, epsilon_renyi a check by Renyi accounting";
static const char accountant_playing[] =
    "privacy-loss distribution of the composed Poisson-subsampled Gaussian, both directions "
    "(closed form where every slot is in every batch), of the most updates that one user is in the "
    "buffer for; epsilon is an upper and epsilon_lower a lower bound of what these steps cost, "
    "epsilon_renyi a check by Renyi accounting";

static void describe_playing(const struct algorithm_request *request,
                             const struct algorithm_plan *plan, struct statement *out)
{
    const struct dqn_rounds rounds = dqn_rounds_of(request);
    statement_number(out, "episodes", (double)dqn_rounds_users(&rounds, plan->total_steps - 1));
    statement_number(out, "random_users", rounds.random_users);
    statement_add(out->assumptions,
                  "It plays while it learns, in rounds of a public number of users and updates. "
                  "The buffer holds the users who came last; the oldest leaves when one comes.");
}

/* Of dpsgd. */
static void describe_slots(const struct algorithm_request *request,
                           const struct algorithm_plan *plan, struct statement *out)
{
    const struct dp_sgd_plan *privacy = &plan->privacy;
    bool user = algorithm_number(request, DQN_P_UNIT) > 0.0, plays = dqn_plays_greedy(request);
    out->unit = user ? "user" : "transition";
    out->neighbours = user ? neighbours_user : neighbours_transition;
    out->accountant = accountant_slots;
    statement_add(out->assumptions, "Each step's batch is a Poisson sample of the slots at the "
                                    "stated rate, a user with one of its transitions, or several; "
                                    "the noise is Gaussian and comes from a generator that is "
                                    "secure.");
    if (plays) {
        out->neighbours = neighbours_playing;
        out->accountant = accountant_playing;
        statement_add(out->assumptions,
                      "What later users do may depend on a user through the noised weights alone. "
                      "One person is one user: a person who plays k episodes is protected as a "
                      "group of k users is.");
        statement_number(out, "updates_with_a_user", (double)privacy->steps);
    }
    if (!user)
        statement_add(out->warnings, "A single transition is protected. A person with many of them "
                                     "is not: unit user protects whole episodes.");
    statement_add(out->warnings, online_arithmetic(privacy));
    statement_number(out, "expected_uses_of_a_slot",
                     privacy->sampling_rate * (double)privacy->steps);
}

void dqn_describe(const struct algorithm_request *request, const struct algorithm_plan *plan,
                  const char *world, struct statement *out)
{
    struct observation_bounds bounds;
    statement_number(out, "updates", (double)plan->total_steps);
    statement_number(out, "buffer", algorithm_number(request, DQN_P_BUFFER));
    statement_add(out->assumptions, "The episodes were played here, in a public world: each stands "
                                    "for that of one person, and no account is debited for it.");
    if (dqn_plays_greedy(request))
        describe_playing(request, plan, out);
    else
        statement_add(out->assumptions,
                      "The buffer was filled before the first update, by uniformly random actions, "
                      "and its size is public.");
    if (request->mechanism == MECHANISM_DPSGD) {
        describe_slots(request, plan, out);
        return;
    }
    uint64_t most = (uint64_t)dqn_step_limit(request, env_find(world)) + 1;
    if (dqn_bounds_of(request, world, plan->shape.input, &bounds))
        observation_describe(&plan->privacy, &bounds, most, out);
}
