/* The student's parameters, its questions and what it remembers of them.
 *
 * DESIGN. A roll-out's states are asked under that roll-out's number. They go into a checkpoint
 * first: a run that was broken off after they were paid for plays the roll-out again, in other
 * states, but asks about the first ones and hears the stored answer. So nothing is paid twice and
 * no noise is drawn twice. The states were drawn from the same policy, which is all that the
 * objective needs.
 *
 * What it remembers follows the agent's bytes in a checkpoint, little endian:
 *   u32 magic "TKST"  u32 version 1  u64 states answered  u64 alone since (update + 1; 0: not)
 *   f64 epsilon, delta, account epsilon, account delta  u64 pending roll-out + 1 (0: none)
 *   u32 count  u32 state_dim  f32 states[count][state_dim]  (a word of padding when odd)
 *   u64 checksum */
#include "algos/online/kickstart_algorithm.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/data/checksum.h"
#include "algos/online/ppo_algorithm.h"
#include "algos/online/ppo_parameters.h"
#include "algos/online/ppo_run.h"
#include "memory/memory.h"

enum {
    P_QUESTIONS = PPO_P_COUNT,
    P_AWARENESS,
    P_CONCENTRATION,
    P_VANISHING,
    P_ASKING,
    P_COUNT,
};

static const struct parameter_spec specs[P_COUNT] = {
    PPO_PARAMETERS(32),
    [P_QUESTIONS] = {"questions", PARAMETER_INTEGER, PARAMETER_ONE(32), 1, 65536, NULL, "states",
                     "States of each roll-out that the teacher is asked about."},
    [P_AWARENESS] =
        {"awareness", PARAMETER_REAL, PARAMETER_ONE(0.5), 0, 100, NULL, "",
         "An answer pulls where it is further from the policy than this many radii of "
         "its noise (lambda of the privacy-aware objective); 0 takes noise for advice."},
    [P_CONCENTRATION] = {"concentration", PARAMETER_REAL, PARAMETER_ONE(0), 0, 1e12, NULL, "",
                         "Concentration to ask a dirichlet teacher for: a smaller one than the "
                         "teacher's is noisier and costs less; 0: the teacher's own."},
    [P_VANISHING] = {"vanishing", PARAMETER_REAL, PARAMETER_ONE(1), 1e-3, 1, NULL, "",
                     "The concentration is multiplied by it at the start of each roll-out. Nothing "
                     "is asked any more once it is below the least that the teacher allows."},
    [P_ASKING] = {"asking_rollouts", PARAMETER_INTEGER, PARAMETER_ONE(0), 0, 1e9, NULL, "roll-outs",
                  "Ask in the first so many roll-outs only; 0: for as long as somebody pays."},
};

static const struct parameter_override overrides[] = {PPO_OVERRIDES};

uint32_t kickstart_questions(const struct algorithm_request *request)
{
    return (uint32_t)algorithm_number(request, P_QUESTIONS);
}

uint64_t kickstart_rollouts(const struct algorithm_request *request,
                            const struct algorithm_plan *plan)
{
    uint64_t most = (uint64_t)algorithm_number(request, P_ASKING);
    return most > 0 && most < plan->total_steps ? most : plan->total_steps;
}

bool kickstart_wish(const struct algorithm_request *request, uint64_t rollout, double *out)
{
    double own = algorithm_number(request, P_CONCENTRATION),
           factor = algorithm_number(request, P_VANISHING);
    *out = 0.0;
    if (request->teacher.concentration <= 0.0 || (own <= 0.0 && factor >= 1.0))
        return true;
    double start =
        own > 0.0 ? fmin(own, request->teacher.concentration) : request->teacher.concentration;
    *out = start * pow(factor, (double)rollout + 1.0);
    return *out >= request->teacher.least;
}

/* ---- the plan */

static const char *kickstart_problem(const struct algorithm_request *request,
                                     const struct ppo_settings *s)
{
    double own = algorithm_number(request, P_CONCENTRATION);
    const struct teacher_terms *t = &request->teacher;
    if (kickstart_questions(request) > s->worlds * s->steps)
        return "questions must be at most the transitions of a roll-out, worlds times "
               "rollout_steps";
    if (request->mechanism != MECHANISM_TEACHER_ANSWERS)
        return NULL;
    if (kickstart_questions(request) > t->states_max)
        return "questions are more than the teacher answers in one batch";
    if (t->concentration <= 0.0 && own > 0.0)
        return "concentration is a setting of dirichlet teachers alone";
    if (t->concentration <= 0.0 && algorithm_number(request, P_VANISHING) < 1.0)
        return "vanishing is a setting of dirichlet teachers alone";
    if (own > 0.0 && own < t->least)
        return "concentration must be at least 1 / min_probability of the teacher: less would cost "
               "as much and say less";
    return NULL;
}

static enum algorithm_status kickstart_plan(const struct algorithm_request *request,
                                            struct algorithm_plan *out, const char **message)
{
    enum algorithm_status status = ppo_plan_of(request, specs, P_COUNT, out, message);
    if (status != ALGORITHM_OK)
        return status;
    struct ppo_settings settings = ppo_settings_of(request);
    const char *problem = kickstart_problem(request, &settings);
    if (!problem)
        return ALGORITHM_OK;
    *message = problem;
    return ALGORITHM_BAD_INPUT;
}

static void kickstart_describe(const struct algorithm_request *request,
                               const struct algorithm_plan *plan, const char *world,
                               struct statement *out)
{
    const struct teacher_terms *t = &request->teacher;
    (void)plan, (void)world;
    out->unit = t->protects_experts ? "expert" : "observation";
    out->neighbours =
        t->protects_experts
            ? "two datasets that differ in one expert with all its data, present or absent"
            : "two questions to the teacher whose states are within its radius of each other";
    out->accountant = "a filter: epsilon and delta are the limit of the payer's account at the "
                      "teacher, which all answers to that client together stay within, those to "
                      "other questions and later ones included; what was spent is bookkeeping";
    statement_add(out->assumptions,
                  "The policy is computed from the teacher's noisy answers and from public "
                  "simulation alone (post-processing): it tells no more than the answers do.");
    statement_add(out->assumptions, "The world and all settings are public.");
    statement_add(out->assumptions,
                  "The limit of the payer's account was not changed because of answers.");
    if (!t->protects_experts)
        statement_add(out->warnings,
                      "The unit is an observation: what it protects here, the states that this job "
                      "asked about, was simulated and is nobody's.");
    if (t->over_private_data)
        statement_add(out->warnings,
                      "The data that the teacher was trained on are not protected by this unit: "
                      "its policy was trained without privacy on private data, and the student "
                      "learns what it does.");
}

/* ---- what is remembered */

enum { MAGIC = 0x54534b54, VERSION = 1 };

struct memory {
    uint32_t magic, version;
    uint64_t answered, alone_since;
    double epsilon, delta, account_epsilon, account_delta;
    uint64_t pending; /* roll-out + 1; 0: none */
    uint32_t count, dim;
};
_Static_assert(sizeof(struct memory) == 72, "no padding in the byte form");

struct student {
    const struct algorithm_run *run;
    struct ppo_companion companion;
    struct memory memory;
    float *pending; /* count x dim */
    enum algorithm_status broke;
    const char *message;
};

static size_t asked_size(const struct memory *m)
{
    return checksum_padded((size_t)m->count * m->dim * sizeof(float));
}

static unsigned char *write_memory(void *context, size_t *out_size)
{
    const struct student *s = context;
    size_t end = sizeof s->memory + (s->memory.pending > 0 ? asked_size(&s->memory) : 0);
    unsigned char *bytes = checksum_room(end, out_size);
    memcpy(bytes, &s->memory, sizeof s->memory);
    if (s->memory.pending > 0)
        memcpy(bytes + sizeof s->memory, s->pending,
               (size_t)s->memory.count * s->memory.dim * sizeof(float));
    checksum_seal(bytes, end);
    return bytes;
}

static void show_findings(const struct student *s)
{
    const struct algorithm_hooks *hooks = &s->run->hooks;
    const struct memory *m = &s->memory;
    if (!hooks->show_finding)
        return;
    hooks->show_finding(hooks->context, KICKSTART_ANSWERED_STATES, (double)m->answered);
    hooks->show_finding(hooks->context, KICKSTART_EPSILON, m->epsilon);
    hooks->show_finding(hooks->context, KICKSTART_DELTA, m->delta);
    hooks->show_finding(hooks->context, KICKSTART_ACCOUNT_EPSILON, m->account_epsilon);
    hooks->show_finding(hooks->context, KICKSTART_ACCOUNT_DELTA, m->account_delta);
    if (m->alone_since > 0)
        hooks->show_finding(hooks->context, "alone_since_step", (double)(m->alone_since - 1));
}

static bool read_memory(void *context, const unsigned char *bytes, size_t size)
{
    struct student *s = context;
    struct memory m;
    if (size < sizeof m + sizeof(uint64_t))
        return false;
    memcpy(&m, bytes, sizeof m);
    if (m.magic != MAGIC || m.version != VERSION || m.count != s->memory.count ||
        m.dim != s->memory.dim)
        return false;
    size_t end = sizeof m + (m.pending > 0 ? asked_size(&m) : 0);
    if (size != end + sizeof(uint64_t) || !checksum_holds(bytes, end))
        return false;
    if (m.pending > 0)
        memcpy(s->pending, bytes + sizeof m, (size_t)m.count * m.dim * sizeof(float));
    s->memory = m;
    show_findings(s);
    return true;
}

/* ---- asking */

static enum kickstart_reply fall_silent(struct student *s, uint64_t rollout)
{
    s->memory.alone_since = rollout + 1;
    s->memory.pending = 0;
    show_findings(s);
    return KICKSTART_SILENT;
}

static enum kickstart_reply break_off(struct student *s, enum algorithm_status why,
                                      const char *message)
{
    s->broke = why;
    s->message = message;
    return KICKSTART_BROKEN;
}

static void take_answer(struct student *s, const struct teacher_told *told)
{
    struct memory *m = &s->memory;
    m->answered += m->count;
    m->epsilon += told->cost_epsilon;
    m->delta += told->cost_delta;
    m->account_epsilon = told->spent_epsilon;
    m->account_delta = told->spent_delta;
    m->pending = 0;
    show_findings(s);
}

static enum kickstart_reply kickstart_ask(void *context, float *states, uint32_t count,
                                          double *out_probabilities, double *out_radius)
{
    struct student *s = context;
    const struct algorithm_run *run = s->run;
    uint64_t rollout = ppo_updates(s->companion.ppo);
    size_t bytes = (size_t)count * s->memory.dim * sizeof *states;
    struct teacher_question question = {.rollout = rollout, .states = s->pending, .count = count};
    assert(count == s->memory.count);
    if (s->memory.alone_since > 0 || rollout >= kickstart_rollouts(run->request, run->plan) ||
        !kickstart_wish(run->request, rollout, &question.concentration))
        return s->memory.alone_since > 0 ? KICKSTART_SILENT : fall_silent(s, rollout);
    if (s->memory.pending == rollout + 1)
        memcpy(states, s->pending, bytes); /* asked before it was broken off */
    memcpy(s->pending, states, bytes);
    s->memory.pending = rollout + 1;
    unsigned char *checkpoint =
        ppo_run_bytes(run, P_COUNT, &s->companion, s->companion.ppo, &question.checkpoint_size);
    struct teacher_told told = {0};
    question.checkpoint = checkpoint;
    enum algorithm_status status =
        run->hooks.ask_teacher(run->hooks.context, &question, out_probabilities, &told);
    free(checkpoint);
    if (status != ALGORITHM_OK)
        return break_off(s, status, told.message);
    if (told.silent)
        return fall_silent(s, rollout);
    take_answer(s, &told);
    *out_radius = told.radius;
    return KICKSTART_ANSWERED;
}

static enum algorithm_status why_broken(void *context, const char **message)
{
    const struct student *s = context;
    if (s->broke != ALGORITHM_OK && s->message)
        *message = s->message;
    return s->broke;
}

static enum algorithm_status kickstart_train(const struct algorithm_run *run,
                                             struct policy **out_policy, const char **message)
{
    const struct algorithm_request *request = run->request;
    if (request->mechanism != MECHANISM_TEACHER_ANSWERS)
        return ppo_run(run, P_COUNT, NULL, out_policy, message);
    assert(run->hooks.ask_teacher);
    struct student student = {
        .run = run,
        .memory = {.magic = MAGIC,
                   .version = VERSION,
                   .count = kickstart_questions(request),
                   .dim = request->world->state_dim},
        .companion = {.write = write_memory, .read = read_memory, .broke = why_broken},
    };
    student.companion.context = &student;
    student.companion.guide =
        (struct kickstart_guide){.context = &student,
                                 .questions = student.memory.count,
                                 .lambda = algorithm_number(request, P_AWARENESS),
                                 .ask = kickstart_ask};
    student.pending = memory_new((size_t)student.memory.count * student.memory.dim, sizeof(float));
    show_findings(&student);
    enum algorithm_status status = ppo_run(run, P_COUNT, &student.companion, out_policy, message);
    free(student.pending);
    return status;
}

const struct algorithm kickstart_algorithm = {
    .name = "kickstart",
    .summary = "A student that learns by PPO in a world and asks a teacher under its budget.",
    .mechanisms = {[MECHANISM_NONE] = true, [MECHANISM_TEACHER_ANSWERS] = true},
    .kind = ALGORITHM_LEARNS_BY_PLAY,
    .privacy_unit = "the teacher's",
    .parameters = specs,
    .parameter_count = P_COUNT,
    .overrides = overrides,
    .override_count = sizeof overrides / sizeof overrides[0],
    .plan = kickstart_plan,
    .describe = kickstart_describe,
    .train = kickstart_train,
};
