/* The gradient of an episode against finite differences, the actor as a policy, play. */
#include "algos/online/actor_critic.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

static const struct actor_critic net = {.input = 4, .hidden = 16, .actions = 2};
static const struct a3c_settings settings = {
    .discount = 0.97, .value_weight = 0.5, .entropy_weight = 0.1};
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
    cr_assert(a3c_play(episode, &net, parameters, env, state, physics, 0.2, rng));
    env_close(env, state);
}

/* What the gradient holds constant: return to go and advantage of every step. */
struct constants {
    double to_go[64], advantage[64];
};

static void hold(const struct a3c_episode *e, const float *parameters, struct constants *out)
{
    double p[2], value = 0.0, to_go = 0.0;
    double hidden[16];
    if (!e->terminated) {
        cr_assert(
            actor_critic_forward(&net, parameters, e->states + e->steps * 4, hidden, p, &value));
        to_go = value;
    }
    for (uint32_t t = e->steps; t-- > 0;) {
        cr_assert(actor_critic_forward(&net, parameters, e->states + t * 4, hidden, p, &value));
        to_go = e->rewards[t] + settings.discount * to_go;
        out->to_go[t] = to_go;
        out->advantage[t] = to_go - value;
    }
}

static double loss(const struct a3c_episode *e, const float *parameters, const struct constants *c)
{
    double sum = 0.0;
    for (uint32_t t = 0; t < e->steps; t++) {
        double p[2], value;
        double hidden[16];
        cr_assert(actor_critic_forward(&net, parameters, e->states + t * 4, hidden, p, &value));
        double off = c->to_go[t] - value, entropy = -p[0] * log(p[0]) - p[1] * log(p[1]);
        sum += -log(p[e->actions[t]]) * c->advantage[t] + settings.value_weight * off * off -
               settings.entropy_weight * entropy;
    }
    return sum;
}

/* Cut off (5 steps: it cannot have fallen yet) and fallen. */
Test(actor_critic, gradient_is_that_of_the_loss)
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
        cr_assert(a3c_gradient(&episode, &net, parameters, &settings, gradient));
        hold(&episode, parameters, &constants);
        for (int i = 0; i < COUNT; i++) {
            const float kept = parameters[i], step = 1e-6F;
            parameters[i] = kept + step;
            double up = loss(&episode, parameters, &constants), high = parameters[i];
            parameters[i] = kept - step;
            double down = loss(&episode, parameters, &constants), low = parameters[i];
            parameters[i] = kept;
            double measured = (up - down) / (high - low);
            cr_expect(fabs(measured - gradient[i]) < 1e-4 * (1.0 + fabs(gradient[i])),
                      "parameter %d: %g, measured %g", i, gradient[i], measured);
        }
        a3c_episode_clear(&episode);
    }
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
