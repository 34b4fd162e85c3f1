/* The list of worlds and their programs: how they are declared, how they are played in, and what is
 * said of those that break. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "algos/policy.h"
#include "api/worlds/world_run.h"
#include "envs/cartpole.h"
#include "tests/unit/api/shell_world.h"

static char heard[4096];

static void said(void *context, const char *world, const char *line)
{
    (void)context;
    size_t at = strlen(heard);
    snprintf(heard + at, sizeof heard - at, "%s: %s\n", world, line);
}

/* Answers may take a minute on a busy machine; where one is to be late, it is late by more. */
static struct worlds *open_some(const char *first, const char *second, unsigned answer_s,
                                unsigned run_s, char error[512])
{
    const char *const declared[] = {first, second == NULL ? "" : second};
    const struct worlds_settings settings = {.declared = declared,
                                             .declared_count = 2,
                                             .answer_s = answer_s,
                                             .run_s = run_s,
                                             .said = said};
    error[0] = '\0';
    return worlds_open(&settings, error, 512);
}

static struct worlds *open_one(const char *line)
{
    char error[512];
    struct worlds *worlds = open_some(line, NULL, 60, 3600, error);
    cr_assert_not_null(worlds, "%s", error);
    return worlds;
}

TestSuite(worlds, .timeout = 600);

Test(worlds, are_those_built_in_and_those_declared)
{
    unsigned built_in;
    env_all(&built_in);
    cr_expect_eq(worlds_find(NULL, "cartpole"), &cartpole_env);
    cr_expect_null(worlds_find(NULL, ""));
    cr_expect_null(worlds_at(NULL, built_in));
    struct worlds *worlds = open_one("\nseven=" SHELL_SEVEN "\n\nother=" SHELL_SEVEN "\n");
    cr_expect_eq(worlds_find(worlds, "cartpole"), &cartpole_env);
    const struct env *seven = worlds_find(worlds, "seven");
    cr_assert_not_null(seven);
    cr_expect_eq(worlds_at(worlds, built_in), seven);
    cr_expect_str_eq(worlds_at(worlds, built_in + 1)->name, "other");
    cr_expect_null(worlds_at(worlds, built_in + 2));
    cr_expect(seven->state_dim == 4 && seven->action_count == 2 && seven->max_episode_steps == 500);
    cr_expect(isnan(seven->random_return));
    cr_expect_null(env_open(seven)); /* only through a run */
    worlds_close(worlds);
}

Test(worlds, that_are_not_usable_are_named_at_once)
{
    static const struct {
        const char *line, *words;
    } cases[] = {
        {"seven", "not NAME=COMMAND"},
        {"=cat", "not NAME=COMMAND"},
        {"seven=", "not NAME=COMMAND"},
        {"Seven=cat", "\"Seven\" is no name"},
        {"a-b=cat", "is no name"},
        {"abcdefghijklmnopqrstuvwxyz0123456789=cat", "is no name"},
        {"hiv=cat", "a world \"hiv\" already"},
        {"a=" SHELL_SEVEN "\na=" SHELL_SEVEN, "a world \"a\" already"},
        {"a=exit 1", "--world a: the program ended"},
        {"a=/no/such/program", "--world a: the program ended"},
        {"a=cat", "its member \"protocol\""},
        {"a=read q; echo '{\"protocol\":1,\"state_dim\":2,\"action_count\":1}'; cat",
         "its member \"action_count\" must be an integer from 2"},
        {"a=read q; echo '{\"error\":\"no licence\"}'; cat", "reported an error"},
    };
    char error[512];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cr_expect_null(open_some(cases[i].line, NULL, 60, 3600, error), "%s", cases[i].line);
        cr_expect_not_null(strstr(error, cases[i].words), "%s: %s", cases[i].line, error);
    }
    cr_expect_null(open_some("a=sleep 1000", NULL, 1, 3600, error));
    cr_expect_not_null(
        strstr(error, "--world a: the program did not answer in time: --world-timeout"), "%s",
        error);
    cr_expect_eq(waitpid(-1, NULL, WNOHANG), -1);
}

Test(worlds, a_program_is_heard_when_it_complains)
{
    char error[512];
    cr_expect_null(open_some("a=echo 'no \"licence\"' >&2; exit 1", NULL, 60, 3600, error));
    cr_expect_str_eq(heard, "a: no \"licence\"\n");
}

/* Plays EPISODES with all weights zero, which is action 0. */
static bool play(struct worlds *worlds, const char *name, uint32_t episodes,
                 bool (*go_on)(void *context), struct policy_evaluation *out,
                 enum world_fault *fault)
{
    const struct mlp_shape shape = {.input = 4, .layer_count = 1, .width = {2}};
    struct policy *policy = policy_new(&shape, POLICY_ARGMAX);
    const struct env *world = worlds_find(worlds, name);
    struct world_run *run = world_run_open(world, go_on, NULL);
    double parameters[ENV_MAX_PARAMETERS];
    cr_assert(policy != NULL && world != NULL && run != NULL);
    cr_expect(world_run_is_program(run));
    env_defaults(world, parameters);
    bool played = policy_evaluate(policy, world_run_env(run), parameters, episodes, 100, 1, out);
    *fault = world_run_fault(run);
    world_run_close(run);
    policy_free(policy);
    return played;
}

Test(worlds, are_played_in)
{
    struct worlds *worlds = open_one("seven=" SHELL_SEVEN);
    struct policy_evaluation seen;
    enum world_fault fault;
    cr_assert(play(worlds, "seven", 30, NULL, &seen, &fault));
    cr_expect_eq(fault, WORLD_OK);
    cr_expect_eq(seen.mean_return, 3.5);
    cr_expect_eq(seen.std_return, 0);
    cr_expect_eq(seen.episodes, 30);
    worlds_close(worlds);
}

Test(worlds, that_are_built_in_run_as_they_are)
{
    struct world_run *run = world_run_open(&cartpole_env, NULL, NULL);
    cr_assert_not_null(run);
    cr_expect_eq(world_run_env(run), &cartpole_env);
    cr_expect_not(world_run_is_program(run));
    cr_expect_eq(world_run_fault(run), WORLD_OK);
    world_run_close(run);
}

static enum world_fault fault_of(const char *command, unsigned answer_s, unsigned run_s,
                                 bool (*go_on)(void *context))
{
    char line[2048], error[512];
    struct policy_evaluation seen;
    enum world_fault fault;
    snprintf(line, sizeof line, "bad=%s", command);
    struct worlds *worlds = open_some(line, NULL, answer_s, run_s, error);
    cr_assert_not_null(worlds, "%s: %s", command, error);
    cr_expect_not(play(worlds, "bad", 1000000, go_on, &seen, &fault), "%s", command);
    worlds_close(worlds);
    return fault;
}

static bool never(void *context)
{
    (void)context;
    return false;
}

#define AT_STEP(shell) SHELL_WORLD(SHELL_RESET, shell)
#define GOOD_STEP      SHELL_ANSWER("1", "false")

Test(worlds, that_break_say_how)
{
    static const struct {
        const char *command;
        enum world_fault fault;
    } cases[] = {
        {AT_STEP("exit 0"), WORLD_ENDED},
        {AT_STEP("kill -9 $$"), WORLD_ENDED},
        {AT_STEP("exec >&-; sleep 1000"), WORLD_ENDED},
        {AT_STEP(GOOD_STEP "; exit"), WORLD_ENDED},
        {AT_STEP("echo hello"), WORLD_NOT_JSON},
        {AT_STEP("echo"), WORLD_NOT_JSON},
        {AT_STEP("printf '\\000\\377\\n'"), WORLD_NOT_JSON},
        {AT_STEP("echo '{\"observation\":[0,0,NaN,0],\"reward\":1,\"terminated\":false}'"),
         WORLD_NOT_JSON},
        {AT_STEP("echo '{\"observation\":[0,0,1e999,0],\"reward\":1,\"terminated\":false}'"),
         WORLD_BAD_NUMBER},
        {AT_STEP("echo '{\"observation\":[0,0,0],\"reward\":1,\"terminated\":false}'"),
         WORLD_BAD_LENGTH},
        {AT_STEP("echo '{\"observation\":[0,0,0,0],\"reward\":\"1\",\"terminated\":false}'"),
         WORLD_BAD_MEMBERS},
        {AT_STEP("echo '{\"error\":\"out of wind\"}'"), WORLD_REPORTED},
        {AT_STEP("head -c 70000 /dev/zero | tr '\\0' 1; echo"), WORLD_TOO_LONG},
        {AT_STEP("cat /dev/zero"), WORLD_TOO_LONG},
        {AT_STEP("yes"), WORLD_OUT_OF_TURN},
        {AT_STEP("x=$(" GOOD_STEP "); printf '%s\\n%s\\n' \"$x\" \"$x\""), WORLD_OUT_OF_TURN},
        {SHELL_WORLD("echo '{\"observation\":[0,0,0]}'", GOOD_STEP), WORLD_BAD_LENGTH},
        {SHELL_WORLD("echo '{\"observation\":[0,0,0,0],\"info\":1}'", GOOD_STEP),
         WORLD_BAD_MEMBERS},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        enum world_fault fault = fault_of(cases[i].command, 60, 3600, NULL);
        cr_expect_eq(fault, cases[i].fault, "%s: %s", cases[i].command, world_fault_text(fault));
    }
}

Test(worlds, that_hang_are_given_up)
{
    cr_expect_eq(fault_of(AT_STEP("sleep 1000"), 1, 3600, NULL), WORLD_LATE);
    cr_expect_eq(fault_of(AT_STEP("while :; do :; done"), 1, 3600, NULL), WORLD_LATE);
    cr_expect_eq(fault_of(SHELL_WORLD("sleep 1000", GOOD_STEP), 1, 3600, NULL), WORLD_LATE);
    cr_expect_eq(fault_of(SHELL_WORLD("exec <&-; sleep 1000", GOOD_STEP), 1, 3600, NULL),
                 WORLD_LATE);
}

Test(worlds, that_are_slow_or_not_wanted_any_more_are_stopped)
{
    cr_expect_eq(fault_of(AT_STEP(GOOD_STEP), 60, 0, NULL), WORLD_SLOW);
    cr_expect_eq(fault_of(AT_STEP(GOOD_STEP), 60, 3600, never), WORLD_STOPPED);
    cr_expect_eq(fault_of(AT_STEP("sleep 1000"), 60, 3600, never), WORLD_STOPPED);
}

Test(worlds, may_not_become_others)
{
    char folder[] = "/tmp/tacet-world-XXXXXX", line[512], mark[64];
    cr_assert_not_null(mkdtemp(folder));
    snprintf(mark, sizeof mark, "%s/seen", folder);
    snprintf(line, sizeof line,
             "a=read q; if [ -e %s ]; then n=3; else n=2; fi; touch %s; echo "
             "\"{\\\"protocol\\\":1,\\\"state_dim\\\":4,\\\"action_count\\\":2,"
             "\\\"max_episode_steps\\\":$n}\"; cat",
             mark, mark);
    struct worlds *worlds = open_one(line);
    struct policy_evaluation seen;
    enum world_fault fault;
    cr_expect_not(play(worlds, "a", 1, NULL, &seen, &fault));
    cr_expect_eq(fault, WORLD_CHANGED);
    worlds_close(worlds);
    unlink(mark);
    rmdir(folder);
}

/* ---- a program that is our cartpole */

static const char CARTPOLE[] =
    "cart=exec python3 -c '\n"
    "import json, math, sys\n"
    "s = {}\n"
    "for line in sys.stdin:\n"
    "    q = json.loads(line)\n"
    "    if \"describe\" in q:\n"
    "        a = {\"protocol\": 1, \"state_dim\": 4, \"action_count\": 2,\n"
    "             \"max_episode_steps\": 500, \"parameters\": [{\"name\": \"gravity\",\n"
    "             \"default\": 9.8, \"minimum\": 0, \"maximum\": 100}]}\n"
    "    elif \"reset\" in q:\n"
    "        q = q[\"reset\"]\n"
    "        s[q[\"instance\"]] = [0.01, 0, 0.02, 0.03 * q[\"instance\"]]\n"
    "        g = q[\"parameters\"][\"gravity\"]\n"
    "        a = {\"observation\": s[q[\"instance\"]]}\n"
    "    else:\n"
    "        q = q[\"step\"]\n"
    "        x, v, t, w = s[q[\"instance\"]]\n"
    "        f = 10.0 if q[\"action\"] else -10.0\n"
    "        c, n = math.cos(t), math.sin(t)\n"
    "        m = (f + 0.05 * w * w * n) / 1.1\n"
    "        u = (g * n - c * m) / (0.5 * (4.0 / 3.0 - 0.1 * c * c / 1.1))\n"
    "        k = m - 0.05 * u * c / 1.1\n"
    "        s[q[\"instance\"]] = y = [x + 0.02 * v, v + 0.02 * k, t + 0.02 * w, w + 0.02 * u]\n"
    "        a = {\"observation\": y, \"reward\": 1.0,\n"
    "             \"terminated\": abs(y[0]) > 2.4 or abs(y[2]) > 12 * 2 * math.pi / 360}\n"
    "    print(json.dumps(a), flush=True)\n"
    "'";

/* A line of a declaration ends at a newline; what a shell word quotes may not hold one. So the
 * program is given by a file. */
static void write_program(const char *text, char path[64])
{
    strcpy(path, "/tmp/tacet-world-XXXXXX");
    int handle = mkstemp(path);
    cr_assert_geq(handle, 0);
    cr_assert_eq(write(handle, text, strlen(text)), (ssize_t)strlen(text));
    close(handle);
}

Test(worlds, two_instances_of_a_program_move_like_ours)
{
    char path[64], line[128];
    write_program(strchr(CARTPOLE, '=') + 1, path);
    snprintf(line, sizeof line, "cart=sh %s", path);
    struct worlds *worlds = open_one(line);
    struct world_run *run = world_run_open(worlds_find(worlds, "cart"), NULL, NULL);
    const struct env *env = world_run_env(run);
    double parameters[ENV_MAX_PARAMETERS], ours[ENV_MAX_PARAMETERS], seen[4], wanted[4];
    void *instances[2] = {env_open(env), env_open(env)};
    struct rng rng;
    rng_seed(&rng, 1, 1);
    env_defaults(env, parameters);
    env_defaults(&cartpole_env, ours);
    cr_assert_eq(parameters[0], ours[env_parameter_index(&cartpole_env, "gravity")]);
    double states[2][4] = {{0.01, 0, 0.02, 0}, {0.01, 0, 0.02, 0.03}};
    cr_assert_eq(cartpole_env.state_size, sizeof states[0]);
    for (int i = 0; i < 2; i++) {
        cr_assert(instances[i] != NULL && env->reset(instances[i], parameters, &rng, seen));
        cr_expect_eq(seen[3], 0.03 * i);
    }
    bool over[2] = {false, false};
    for (unsigned t = 0; t < 200; t++) {
        unsigned i = t % 2, action = t / 2 % 2;
        if (over[i])
            continue;
        struct env_outcome outcome = env->step(instances[i], parameters, action, &rng, seen);
        struct env_outcome own = cartpole_env.step(states[i], ours, action, &rng, wanted);
        cr_assert_not(outcome.failed);
        for (int k = 0; k < 4; k++)
            cr_expect_float_eq(seen[k], wanted[k], 1e-11, "step %u: %.17g, %.17g", t, seen[k],
                               wanted[k]);
        cr_expect(outcome.reward == own.reward && outcome.terminated == own.terminated);
        over[i] = own.terminated;
        cr_expect(t > 20 || !over[i]);
    }
    for (int i = 0; i < 2; i++)
        env_close(env, instances[i]);
    world_run_close(run);
    worlds_close(worlds);
    unlink(path);
}

/* ---- chance */

Test(worlds, give_a_seed_below_2_to_the_53_and_the_same_again)
{
    /* The reward is the seed's last digit. */
    struct worlds *worlds = open_one("digit=" SHELL_WORLD(
        "q=${q#*seed\\\":}; s=${q%%,*}; [ ${#s} -le 16 ] || exit; " SHELL_RESET,
        "echo \"{\\\"observation\\\":[0,0,0,0],\\\"reward\\\":${s#${s%?}},"
        "\\\"terminated\\\":true}\""));
    struct policy_evaluation first, again;
    enum world_fault fault;
    cr_assert(play(worlds, "digit", 50, NULL, &first, &fault), "%s", world_fault_text(fault));
    cr_assert(play(worlds, "digit", 50, NULL, &again, &fault));
    cr_expect(first.mean_return == again.mean_return && first.std_return == again.std_return);
    cr_expect(first.mean_return > 2 && first.mean_return < 7, "%g", first.mean_return);
    cr_expect(first.std_return > 1.5, "%g", first.std_return);
    worlds_close(worlds);
}
