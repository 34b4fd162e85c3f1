/* DQN that plays while it learns: its rounds, its buffer, and what both may depend on. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/catalogue/algorithms.h"
#include "algos/online/dqn_play.h"
#include "tests/unit/algos/online_kit.h"

/* ---- rounds */

/* Updates of TOTAL that USER is in the buffer for, counted one by one. */
static uint64_t count_uses(const struct dqn_rounds *rounds, uint64_t user, uint64_t total)
{
    uint64_t uses = 0;
    for (uint64_t update = 0; update < total; update++) {
        uint64_t users = dqn_rounds_users(rounds, update);
        uses += user < users && user + rounds->kept_users >= users;
    }
    return uses;
}

Test(dqn_play, no_user_is_in_more_updates_than_are_paid_for)
{
    static const struct dqn_rounds table[] = {
        {1, 1, 1, 1}, {3, 1, 10, 5}, {4, 3, 2, 10}, {7, 7, 5, 7}, {2, 4, 3, 9}, {9, 2, 1, 9},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const uint64_t totals[] = {1, 7, 40, 400};
        for (size_t j = 0; j < 4; j++) {
            uint64_t most = 0, users = dqn_rounds_users(&table[i], totals[j] - 1);
            for (uint64_t user = 0; user < users; user++) {
                uint64_t uses = count_uses(&table[i], user, totals[j]);
                most = uses > most ? uses : most;
            }
            /* Somebody is in exactly so many: the price is not more than is due. */
            cr_expect_eq(dqn_rounds_uses(&table[i], totals[j]), most, "row %zu, %zu", i, j);
        }
    }
}

Test(dqn_play, exploration_falls_in_a_line)
{
    cr_expect_float_eq(dqn_exploration(0.1, 100, 0), 1.0, 1e-12);
    cr_expect_float_eq(dqn_exploration(0.1, 100, 50), 0.55, 1e-12);
    cr_expect_float_eq(dqn_exploration(0.1, 100, 100), 0.1, 1e-12);
    cr_expect_float_eq(dqn_exploration(0.1, 100, 1000), 0.1, 1e-12);
    cr_expect_float_eq(dqn_exploration(0.1, 0, 0), 0.1, 1e-12); /* at once */
}

/* ---- the buffer */

enum { STEPS = 9, DIM = 2 };

/* An episode whose numbers tell whose it is. */
struct made {
    struct trajectory episode;
    float states[(STEPS + 1) * DIM], rewards[STEPS];
    uint16_t actions[STEPS];
};

static void make_episode(struct made *made, uint32_t user)
{
    made->episode = (struct trajectory){.length = 1 + user * 7 % STEPS,
                                        .terminated = user % 2 == 0,
                                        .states = made->states,
                                        .actions = made->actions,
                                        .rewards = made->rewards};
    for (uint32_t t = 0; t <= made->episode.length; t++)
        for (uint32_t d = 0; d < DIM; d++)
            made->states[t * DIM + d] = (float)(100 * user + 10 * d + t);
    for (uint32_t t = 0; t < made->episode.length; t++) {
        made->rewards[t] = (float)(user + t);
        made->actions[t] = (uint16_t)((user + t) % 3);
    }
}

/* Asserts that transitions FIRST .. of DATA are those of USER; gives how many those are. */
static uint64_t expect_user(const struct dataset *data, uint64_t first, uint32_t user)
{
    struct made made;
    make_episode(&made, user);
    uint32_t length = made.episode.length;
    cr_assert_leq(first + length, data->transition_count);
    for (uint32_t t = 0; t < length; t++) {
        const float *state = data->states + data->state_row[first + t] * DIM;
        cr_assert_arr_eq(state, made.states + (size_t)t * DIM, 2 * DIM * sizeof(float)); /* s, s' */
        cr_assert_eq(data->actions[first + t], made.actions[t]);
        cr_assert_eq(data->rewards[first + t], made.rewards[t]);
        cr_assert_eq(data->terminated[first + t], t + 1 == length && user % 2 == 0);
    }
    return length;
}

/* Asserts that REPLAY holds the last of the USERS who came, in order. */
static void expect_last(const struct dqn_replay *replay, uint32_t users)
{
    const struct dataset *data = &replay->data;
    uint32_t kept = users < replay->capacity ? users : replay->capacity;
    uint64_t at = 0;
    cr_assert_eq(replay->users, users);
    cr_assert_eq(data->trajectory_count, kept);
    for (uint32_t i = 0; i < kept; i++) {
        if (data->expert_count > 1)
            cr_assert_eq(data->expert_transitions[i], at);
        at += expect_user(data, at, users - kept + i);
    }
    cr_assert_eq(data->transition_count, at);
    cr_assert_eq(data->expert_transitions[0], 0);
    for (uint32_t i = data->expert_count > 1 ? kept : 1; i <= data->expert_count; i++)
        cr_assert_eq(data->expert_transitions[i], at); /* slots that nobody took are empty */
}

static void replay_of(struct dqn_replay *out, uint32_t capacity, bool one_slot)
{
    const struct dqn_replay_size size = {DIM, 3, capacity, STEPS, one_slot};
    dqn_replay_init(out, &size);
    cr_assert_eq(out->data.expert_count, one_slot ? 1 : capacity);
}

Test(dqn_play, the_buffer_holds_the_users_who_came_last)
{
    for (uint32_t capacity = 1; capacity <= 6; capacity++) {
        struct dqn_replay slots, whole;
        replay_of(&slots, capacity, false);
        replay_of(&whole, capacity, true);
        for (uint32_t user = 0; user < 60; user++) {
            struct made made;
            make_episode(&made, user);
            dqn_replay_add(&slots, &made.episode);
            dqn_replay_add(&whole, &made.episode);
            expect_last(&slots, user + 1);
            expect_last(&whole, user + 1);
        }
        dqn_replay_clear(&slots);
        dqn_replay_clear(&whole);
    }
}

Test(dqn_play, the_buffer_is_kept_with_the_checkpoint)
{
    static const unsigned char inner[5] = {1, 2, 3, 4, 5};
    for (uint32_t users = 0; users < 12; users++) {
        struct dqn_replay from, to, small;
        const unsigned char *found;
        size_t size, found_size;
        replay_of(&from, 5, false);
        replay_of(&to, 5, false);
        replay_of(&small, 4, false);
        struct made made;
        for (uint32_t user = 0; user < users; user++) {
            make_episode(&made, user);
            dqn_replay_add(&from, &made.episode);
        }
        unsigned char *bytes = dqn_replay_keep(&from, inner, sizeof inner, &size);
        for (size_t i = 0; i + sizeof inner < size; i += 7) { /* any damage, any cut */
            bytes[i] ^= 1;
            cr_expect_not(dqn_replay_restore(&to, bytes, size, &found, &found_size));
            bytes[i] ^= 1;
            cr_expect_not(dqn_replay_restore(&to, bytes, i, &found, &found_size));
        }
        if (users > 4)
            cr_expect_not(dqn_replay_restore(&small, bytes, size, &found, &found_size));
        cr_assert(dqn_replay_restore(&to, bytes, size, &found, &found_size));
        expect_last(&to, users);
        cr_assert_eq(found_size, sizeof inner);
        cr_expect_arr_eq(found, inner, sizeof inner);
        make_episode(&made, users); /* and it goes on */
        dqn_replay_add(&to, &made.episode);
        expect_last(&to, users + 1);
        free(bytes);
        dqn_replay_clear(&from);
        dqn_replay_clear(&to);
        dqn_replay_clear(&small);
    }
}

/* ---- the player */

static void playing(struct online_kit *kit)
{
    online_kit_set(kit, "play", 1);
    online_kit_set(kit, "unit", 1);
    online_kit_set(kit, "hidden", 8);
    online_kit_set(kit, "buffer", 40);
    online_kit_set(kit, "random_users", 10);
    online_kit_set(kit, "round_users", 3);
    online_kit_set(kit, "round_updates", 4);
    online_kit_set(kit, "batch_size", 16);
    online_kit_set(kit, "steps", 200);
    online_kit_set(kit, "step_limit", 50);
}

/* A player without a trainer. */
struct stage {
    struct online_kit kit;
    struct algorithm_run run;
    struct dqn_play_request asked;
    struct observation_bounds bounds;
    struct dqn_player player;
    float *weights;
};

static void open_stage(struct stage *s, enum algorithm_mechanism mechanism, double exploration)
{
    const char *message;
    online_kit_init(&s->kit, "dqn", mechanism, "cartpole", 1);
    playing(&s->kit);
    cr_assert_eq(online_kit_plan(&s->kit, &message), ALGORITHM_OK, "%s", message);
    s->run = (struct algorithm_run){.request = &s->kit.request, .plan = &s->kit.plan};
    s->asked = (struct dqn_play_request){.run = &s->run,
                                         .shape = &s->kit.plan.shape,
                                         .rounds = {10, 3, 4, 40},
                                         .final_exploration = exploration,
                                         .steps = 50};
    if (mechanism == MECHANISM_LDP_OBSERVATIONS) {
        cr_assert(observation_bounds_of("cartpole", 4, 0, &s->bounds));
        s->asked.bounds = &s->bounds;
        s->asked.noise = s->kit.noise;
    }
    cr_assert_eq(dqn_player_init(&s->player, &s->asked), ALGORITHM_OK);
    s->weights = calloc(mlp_parameter_count(s->asked.shape), sizeof *s->weights);
    for (size_t i = 0; i < mlp_parameter_count(s->asked.shape); i++)
        s->weights[i] = sinf((float)(i * i)); /* some weights */
}

static void close_stage(struct stage *s)
{
    free(s->weights);
    dqn_player_clear(&s->player);
    online_kit_clear(&s->kit);
}

static void play_users(struct stage *s, uint64_t update)
{
    const struct trainer_feed *feed = &s->player.feed;
    const char *message;
    while (feed->is_due(feed->context, update))
        cr_assert_eq(feed->add(feed->context, update, s->weights, &message), ALGORITHM_OK);
}

/* How many of the stored actions are the best ones at the stored states. */
static double share_of_best(const struct stage *s)
{
    const struct dataset *data = &s->player.replay.data;
    uint64_t best = 0;
    for (uint64_t t = 0; t < data->transition_count; t++) {
        float values[2], scratch[64];
        mlp_forward_one(s->asked.shape, s->weights, data->states + 4 * data->state_row[t], values,
                        scratch);
        best += policy_best_action(values, 2) == data->actions[t];
    }
    return (double)best / (double)data->transition_count;
}

/* The player sees no observation but the one that is stored, noised or not. */
Test(dqn_play, acts_on_what_is_stored)
{
    static const enum algorithm_mechanism mechanisms[] = {MECHANISM_NONE, MECHANISM_DPSGD,
                                                          MECHANISM_LDP_OBSERVATIONS};
    for (size_t i = 0; i < 3; i++) {
        struct stage s = {.weights = NULL};
        open_stage(&s, mechanisms[i], 0.0);
        s.asked.exploring_updates = 0; /* never random */
        play_users(&s, 0);
        cr_expect_eq(s.player.replay.users, 10);
        cr_expect_eq(share_of_best(&s), 1.0);
        const float *first = s.player.replay.data.states;
        bool clear = true; /* CartPole begins within 0.05 of the middle */
        for (int d = 0; d < 4; d++)
            clear = clear && fabsf(first[d]) <= 0.05F;
        cr_expect_eq(clear, mechanisms[i] != MECHANISM_LDP_OBSERVATIONS);
        close_stage(&s);
    }
}

Test(dqn_play, the_first_users_play_at_random)
{
    struct stage s = {.weights = NULL};
    open_stage(&s, MECHANISM_NONE, 0.0);
    s.asked.exploring_updates = 100;
    play_users(&s, 0);
    double n = (double)s.player.replay.data.transition_count;
    cr_expect_gt(n, 80);
    cr_expect_lt(fabs(share_of_best(&s) - 0.5), 5.0 * 0.5 / sqrt(n)); /* fair coins */
    close_stage(&s);
}

/* Whatever the episodes are, so many users have come before an update. */
Test(dqn_play, the_schedule_reads_no_episode)
{
    struct stage s = {.weights = NULL};
    open_stage(&s, MECHANISM_DPSGD, 0.1);
    for (uint64_t update = 0; update < 60; update++) {
        if (update == 30) /* other play from here on */
            for (size_t i = 0; i < mlp_parameter_count(s.asked.shape); i++)
                s.weights[i] = NAN;
        play_users(&s, update);
        cr_assert_eq(s.player.replay.users, 10 + 3 * (update / 4));
        cr_assert_eq(s.player.replay.data.expert_count, 40);
    }
    close_stage(&s);
}

/* ---- the job */

Test(dqn_play, goes_on_where_it_stopped)
{
    static const uint64_t stops[] = {1, 150}; /* the first is within a round's play */
    for (size_t i = 0; i < 2; i++) {
        online_kit_resume("dqn", MECHANISM_NONE, playing, stops[i]);
        online_kit_resume("dqn", MECHANISM_DPSGD, playing, stops[i]);
        online_kit_resume("dqn", MECHANISM_LDP_OBSERVATIONS, playing, stops[i]);
    }
}

Test(dqn_play, shows_no_returns_of_its_play)
{
    static const enum algorithm_mechanism mechanisms[] = {MECHANISM_NONE, MECHANISM_DPSGD,
                                                          MECHANISM_LDP_OBSERVATIONS};
    for (size_t i = 0; i < 3; i++) {
        struct online_kit kit;
        online_kit_init(&kit, "dqn", mechanisms[i], "cartpole", 1);
        playing(&kit);
        policy_free(online_kit_policy(&kit));
        cr_expect_eq(kit.told, 0);
        online_kit_clear(&kit);
    }
}

Test(dqn_play, costs_the_updates_that_a_user_is_in_the_buffer_for)
{
    struct online_kit kit, fixed;
    const char *message;
    online_kit_init(&kit, "dqn", MECHANISM_DPSGD, "cartpole", 1);
    playing(&kit);
    kit.request.epsilon = 20;
    online_kit_set(&kit, "noise_multiplier", 2);
    online_kit_set(&kit, "steps", 5000);
    cr_assert_eq(online_kit_plan(&kit, &message), ALGORITHM_OK, "%s", message);
    cr_expect_eq(kit.plan.total_steps, 5000);
    cr_expect_eq(kit.plan.privacy.steps, 14 * 4); /* 40 users, 3 to a round, 4 updates each */
    cr_expect_eq(kit.plan.privacy.sampling_rate, 16.0 / 40.0);
    double epsilon = kit.plan.privacy.epsilon;

    /* As much as so many steps on a buffer of as many users. */
    online_kit_init(&fixed, "dqn", MECHANISM_DPSGD, "cartpole", 1);
    playing(&fixed);
    online_kit_set(&fixed, "play", 0);
    online_kit_set(&fixed, "noise_multiplier", 2);
    online_kit_set(&fixed, "steps", 56);
    fixed.request.epsilon = 20;
    cr_assert_eq(online_kit_plan(&fixed, &message), ALGORITHM_OK, "%s", message);
    cr_expect_eq(fixed.plan.privacy.epsilon, epsilon);

    online_kit_set(&kit, "steps", 50000); /* more users, none of whom pays more */
    cr_assert_eq(online_kit_plan(&kit, &message), ALGORITHM_OK, "%s", message);
    cr_expect_eq(kit.plan.privacy.epsilon, epsilon);
    online_kit_set(&kit, "steps", 20); /* all of which the first users are in */
    cr_assert_eq(online_kit_plan(&kit, &message), ALGORITHM_OK, "%s", message);
    cr_expect_eq(kit.plan.privacy.steps, 20);
    cr_expect_lt(kit.plan.privacy.epsilon, epsilon);

    struct statement statement = {0};
    kit.algorithm->describe(&kit.request, &kit.plan, "cartpole", &statement);
    cr_expect_str_eq(statement.unit, "user");
    cr_expect_not_null(strstr(statement.neighbours, "user's turn stays"));
    online_kit_clear(&kit);
    online_kit_clear(&fixed);
}

/* Public seeds; random play returns 22, and what a fixed buffer of it teaches some 160. */
Test(dqn_play, learns_from_its_own_play)
{
    unsigned learned = 0;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct online_kit kit;
        struct policy_evaluation evaluation;
        online_kit_init(&kit, "dqn", MECHANISM_NONE, "cartpole", 1);
        kit.request.seed = seed;
        online_kit_set(&kit, "learning_rate", 0.01);
        online_kit_set(&kit, "batch_size", 64);
        online_kit_set(&kit, "target_update_interval", 20);
        online_kit_set(&kit, "steps", 8000);
        struct policy *policy = online_kit_policy(&kit);
        cr_assert(policy_evaluate(policy, kit.request.world, kit.request.world_parameters, 25, 500,
                                  7, &evaluation));
        learned += evaluation.mean_return > 250.0;
        policy_free(policy);
        online_kit_clear(&kit);
    }
    cr_expect_geq(learned, 2);
}

Test(dqn_play, defaults_are_planned_in_every_world)
{
    static const enum algorithm_mechanism mechanisms[] = {MECHANISM_NONE, MECHANISM_DPSGD,
                                                          MECHANISM_LDP_OBSERVATIONS};
    unsigned worlds;
    const struct env *const *all = env_all(&worlds);
    for (unsigned w = 0; w < worlds; w++) {
        for (size_t i = 0; i < 3; i++) {
            struct online_kit kit;
            struct statement statement = {0};
            const char *message;
            online_kit_init(&kit, "dqn", mechanisms[i], all[w]->name, 1);
            cr_expect_eq(online_kit_plan(&kit, &message), ALGORITHM_OK, "%s: %s", all[w]->name,
                         message);
            if (mechanisms[i] != MECHANISM_NONE)
                kit.algorithm->describe(&kit.request, &kit.plan, all[w]->name, &statement);
            if (mechanisms[i] == MECHANISM_DPSGD)
                cr_expect_str_eq(statement.unit, "user");
            online_kit_clear(&kit);
        }
    }
}

/* A job that was planned before it could play while it learns goes on as it was. */
Test(dqn_play, older_jobs_keep_their_fixed_buffer)
{
    const struct algorithm *dqn = algorithm_find("dqn");
    int play = parameters_index(dqn->parameters, dqn->parameter_count, "play");
    const struct parameter_value *before = algorithm_before(dqn, (unsigned)play);
    cr_assert_not_null(before);
    cr_expect_str_eq(parameters_choice(&dqn->parameters[play], (unsigned)before->number[0]),
                     "random");
    for (unsigned i = (unsigned)play + 1; i < dqn->parameter_count; i++)
        cr_expect_not_null(algorithm_before(dqn, i), "%s", dqn->parameters[i].name);
}

Test(dqn_play, refuses_what_it_cannot_protect_or_hold)
{
    struct online_kit kit;
    const char *message;
    online_kit_init(&kit, "dqn", MECHANISM_DPSGD, "cartpole", 1);
    playing(&kit);
    cr_expect_eq(online_kit_plan(&kit, &message), ALGORITHM_OK, "%s", message);
    online_kit_set(&kit, "unit", 0);
    cr_expect_eq(online_kit_plan(&kit, &message), ALGORITHM_BAD_INPUT);
    cr_expect_not_null(strstr(message, "unit user"), "%s", message);
    playing(&kit);
    online_kit_set(&kit, "random_users", 41);
    cr_expect_eq(online_kit_plan(&kit, &message), ALGORITHM_BAD_INPUT);
    cr_expect_not_null(strstr(message, "random_users"), "%s", message);
    playing(&kit);
    online_kit_set(&kit, "round_users", 41);
    cr_expect_eq(online_kit_plan(&kit, &message), ALGORITHM_BAD_INPUT);
    playing(&kit);
    online_kit_set(&kit, "batch_size", 41);
    cr_expect_eq(online_kit_plan(&kit, &message), ALGORITHM_BAD_INPUT);
    playing(&kit);
    online_kit_set(&kit, "noise_multiplier", 1); /* it pays some of them */
    cr_expect_eq(online_kit_plan(&kit, &message), ALGORITHM_INFEASIBLE);
    cr_expect_not_null(strstr(message, "noise_multiplier"), "%s", message);
    playing(&kit);
    online_kit_set(&kit, "noise_multiplier", 0);
    online_kit_set(&kit, "buffer", 100000); /* 100,000 x 400 x 6 numbers in a checkpoint */
    online_kit_set(&kit, "step_limit", 400);
    cr_expect_eq(online_kit_plan(&kit, &message), ALGORITHM_BAD_INPUT);
    cr_expect_not_null(strstr(message, "checkpoint"), "%s", message);
    online_kit_clear(&kit);
}
