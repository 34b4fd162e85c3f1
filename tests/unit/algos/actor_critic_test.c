/* The gradient of an episode against finite differences, the actor as a policy, play. */
#include "algos/online/actor_critic.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

static const struct actor_critic net = {.input = 4, .hidden = 16, .actions = 2};
static const struct a3c_settings settings = {
    .discount = 0.97, .value_weight = 0.5, .entropy_weight = 0.1};
static const struct a3c_settings short_returns = {
    .discount = 0.97, .value_weight = 0.5, .entropy_weight = 0.1, .return_steps = 3, .mean = true};
enum { COUNT = 112 };

Test(actor_critic, has_the_size_of_the_paper)
{
    cr_assert_eq(actor_critic_count(&net), COUNT);
}

static void play(struct a3c_episode *episode, const float *parameters, uint32_t max_steps,
                 struct rng *rng)
{
    const struct env *env = env_find("cartpole");
    double physics[ENV_MAX_PARAMETERS];
    env_defaults(env, physics);
    void *state = env_open(env);
    cr_assert(state);
    a3c_episode_init(episode, &net, max_steps);
    cr_assert(a3c_play(episode, &net, parameters, env, state, physics,
                       (struct a3c_choice){.exploration = 0.2}, rng));
    env_close(env, state);
}

/* What the gradient holds constant: return to go and advantage of every step. */
struct constants {
    double to_go[64], advantage[64];
};

static void hold(const struct a3c_episode *e, const float *parameters,
                 const struct a3c_settings *how, struct constants *out)
{
    double p[2], value[64 + 1];
    double hidden[16];
    for (uint32_t t = 0; t <= e->steps; t++)
        cr_assert(actor_critic_forward(&net, parameters, e->states + t * 4, hidden, p, &value[t]));
    if (e->terminated)
        value[e->steps] = 0.0;
    for (uint32_t t = 0; t < e->steps; t++) {
        uint32_t ahead = how->return_steps > 0 ? how->return_steps : e->steps, k = t;
        double weight = 1.0;
        for (out->to_go[t] = 0.0; k < e->steps && k < t + ahead; k++) {
            out->to_go[t] += weight * e->rewards[k];
            weight *= how->discount;
        }
        out->to_go[t] += weight * value[k];
        out->advantage[t] = out->to_go[t] - value[t];
    }
}

static double loss(const struct a3c_episode *e, const float *parameters,
                   const struct a3c_settings *how, const struct constants *c)
{
    double sum = 0.0;
    for (uint32_t t = 0; t < e->steps; t++) {
        double p[2], value;
        double hidden[16];
        cr_assert(actor_critic_forward(&net, parameters, e->states + t * 4, hidden, p, &value));
        double off = c->to_go[t] - value, entropy = -p[0] * log(p[0]) - p[1] * log(p[1]);
        sum += -log(p[e->actions[t]]) * c->advantage[t] + how->value_weight * off * off -
               how->entropy_weight * entropy;
    }
    return how->mean ? sum / e->steps : sum;
}

/* Cut off (5 steps: it cannot have fallen yet) and fallen. */
static void check_gradient(const struct a3c_settings *how)
{
    static const uint32_t limits[] = {5, 60};
    for (int k = 0; k < 2; k++) {
        struct rng rng;
        rng_seed(&rng, 71, (uint64_t)k);
        float parameters[COUNT];
        double gradient[COUNT];
        struct a3c_episode episode;
        struct constants constants;
        actor_critic_initialize(&net, &rng, parameters);
        play(&episode, parameters, limits[k], &rng);
        cr_assert_eq(episode.terminated, k == 1);
        cr_assert_float_eq(episode.score, episode.steps, 1e-9);
        cr_assert(a3c_gradient(&episode, &net, parameters, how, gradient));
        hold(&episode, parameters, how, &constants);
        for (int i = 0; i < COUNT; i++) {
            const float kept = parameters[i], step = 1e-6F;
            parameters[i] = kept + step;
            double up = loss(&episode, parameters, how, &constants), high = parameters[i];
            parameters[i] = kept - step;
            double down = loss(&episode, parameters, how, &constants), low = parameters[i];
            parameters[i] = kept;
            double measured = (up - down) / (high - low);
            cr_expect(fabs(measured - gradient[i]) < 1e-4 * (1.0 + fabs(gradient[i])),
                      "parameter %d: %g, measured %g", i, gradient[i], measured);
        }
        a3c_episode_clear(&episode);
    }
}

Test(actor_critic, gradient_is_that_of_the_loss)
{
    check_gradient(&settings);
}

Test(actor_critic, gradient_of_short_returns_is_that_of_the_mean_loss)
{
    check_gradient(&short_returns);
}

Test(actor_critic, greedy_agents_take_the_most_probable_action)
{
    const struct env *env = env_find("cartpole");
    double physics[ENV_MAX_PARAMETERS], p[2], value, hidden[16];
    float parameters[COUNT];
    struct a3c_episode episode;
    struct rng rng;
    bool likely[2] = {false, false};
    env_defaults(env, physics);
    void *state = env_open(env);
    a3c_episode_init(&episode, &net, 60);
    for (uint64_t seed = 0; seed < 20; seed++) {
        rng_seed(&rng, 74, seed);
        actor_critic_initialize(&net, &rng, parameters);
        cr_assert(a3c_play(&episode, &net, parameters, env, state, physics,
                           (struct a3c_choice){.greedy = true}, &rng));
        for (uint32_t t = 0; t < episode.steps; t++) {
            const float *seen = episode.states + (size_t)t * 4;
            cr_assert(actor_critic_forward(&net, parameters, seen, hidden, p, &value));
            cr_expect_eq(episode.actions[t], p[1] > p[0]);
            likely[p[1] > p[0]] = true;
        }
    }
    cr_expect(likely[0] && likely[1]);
    a3c_episode_clear(&episode);
    env_close(env, state);
}

Test(actor_critic, acts_alike_as_a_policy)
{
    struct rng rng;
    rng_seed(&rng, 72, 0);
    float parameters[COUNT];
    double hidden[16];
    actor_critic_initialize(&net, &rng, parameters);
    struct policy *policy = actor_critic_policy(&net, parameters);
    cr_assert_not_null(policy);
    for (int k = 0; k < 20; k++) {
        float state[4];
        double ours[2], theirs[2], value;
        for (int i = 0; i < 4; i++)
            state[i] = (float)rng_normal(&rng);
        cr_assert(actor_critic_forward(&net, parameters, state, hidden, ours, &value));
        cr_assert(policy_probabilities(policy, state, 1.0, theirs));
        cr_expect_float_eq(ours[0], theirs[0], 1e-5);
    }
    policy_free(policy);
}

Test(actor_critic, refuses_what_is_not_finite)
{
    struct rng rng;
    rng_seed(&rng, 73, 0);
    float parameters[COUNT];
    double hidden[16];
    double p[2], value, gradient[COUNT];
    actor_critic_initialize(&net, &rng, parameters);
    struct a3c_episode episode;
    play(&episode, parameters, 20, &rng);
    static const float state[4] = {1, 1, 1, 1};
    static const float odd[] = {NAN, INFINITY};
    for (int k = 0; k < 2; k++)
        for (int i = 64; i < COUNT; i += 16) { /* an actor's row, the other's, the critic */
            float kept = parameters[i];
            parameters[i] = odd[k];
            for (int h = 0; h < 4; h++) /* the hidden unit that it reads is on */
                parameters[h] = 1.0F;
            cr_expect(!actor_critic_forward(&net, parameters, state, hidden, p, &value));
            cr_expect(!a3c_gradient(&episode, &net, parameters, &settings, gradient));
            parameters[i] = kept;
        }
    a3c_episode_clear(&episode);
}
