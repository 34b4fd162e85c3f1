#include "tests/unit/noninterference/kinds.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "algos/catalogue/algorithms.h"

/* ---- requests */

/* The privacy that a mechanism asks for; "" where it has none. */
static const char *const privacies[MECHANISM_COUNT] = {
    [MECHANISM_NONE] = "",
    [MECHANISM_DPSGD] = "\"epsilon\":4,\"delta\":1e-5,\"force\":true",
    [MECHANISM_SELECTIVE] = "\"epsilon\":14,\"delta\":1e-3,\"force\":true",
    [MECHANISM_CONSENSUS] = "\"epsilon\":4,\"delta\":1e-5,\"force\":true",
    [MECHANISM_GAUSSIAN_PROCESS] = "\"epsilon\":4,\"delta\":1e-5,\"force\":true",
    [MECHANISM_GAUSSIAN] = "\"epsilon\":100,\"delta\":1e-3",
    [MECHANISM_LDP_OBSERVATIONS] = "\"epsilon\":4,\"delta\":1e-5",
    [MECHANISM_LOCAL_REPORTS] = "\"epsilon\":4",
    [MECHANISM_TEACHER_ANSWERS] = "",
};

/* Steps of a training in whose middle something happens: trainers ask now and then whether to stop.
 */
#define LIFE_STEPS 10000

/* Values that make a run small, of the parameters that an algorithm has. */
static const struct small {
    const char *name;
    int value;
} smalls[] = {
    {"hidden", 4},
    {"steps", 12},
    {"batch_size", 4},
    {"episodes", 6},
    {"agents", 40},
    {"buffer", 20},
    {"transitions", 64},
    {"worlds", 2},
    {"rollout_steps", 8},
    {"minibatch", 16},
    {"questions", 4},
    {"runs", 20},
    {"shards", 4},
    {"knot_bits", 4},
    {"step_limit", 20},
    {"episodes_per_update", 2},
    {"target_update_interval", 5},
};

#define EVALUATE                                                                                   \
    "\"evaluate\":{\"environment\":\"cartpole\",\"episodes\":2,\"max_episode_steps\":20}"

enum { DATA_CROWD, DATA_BARE, DATA_OPEN };

/* "%s" in the members: what the scene has under that name. */
static const struct job_option options[] = {
    {"plain", "", "", "", DATA_CROWD, true, NULL},
    {"evaluate", "," EVALUATE, "", "", DATA_CROWD, false, NULL},
    {"choose",
     ",\"choose\":{\"environment\":\"cartpole\",\"candidates\":3,\"episodes\":1,"
     "\"max_episode_steps\":20}",
     "", "", DATA_CROWD, false, NULL},
    {"sweep", "," EVALUATE ",\"sweep\":{\"learning_rate\":[0.001,0.01]}", "", "", DATA_CROWD, false,
     NULL},
    {"judge", ",\"judge\":{\"dataset\":\"%s\"}", "", "", DATA_CROWD, false, "cql"},
    {"audit", ",\"audit\":\"%s\"", "", "", DATA_CROWD, false, NULL},
    {"held out", ",\"judge\":{\"held_out\":0.5,\"return_low\":0,\"return_high\":20}", "", "",
     DATA_CROWD, false, "cql"},
    {"rehearse", ",\"rehearse\":true", "", "", DATA_CROWD, false, "behaviour_cloning"},
    {"shards", ",\"shards\":3", "", "", DATA_CROWD, true, NULL},
    {"skill", "", ",\"consensus\":{\"labels\":20,\"skill\":{\"low\":0,\"high\":20,\"episodes\":1}}",
     "", DATA_CROWD, true, NULL},
    {"rounds", "", ",\"consensus\":{\"labels\":20,\"rounds\":2}", "", DATA_CROWD, false, NULL},
    {"grid", "", ",\"consensus\":{\"grid\":{\"states\":[[0,0,0,0],[1,0,0,1]]}}", "", DATA_CROWD,
     false, NULL},
    {"noisy steps", "", ",\"plain_share\":0.5,\"stable\":{\"count\":1}", "", DATA_CROWD, false,
     "cql"},
    {"logged", "",
     ",\"plain_share\":1,\"stable\":{\"count\":1,\"source\":\"logged\",\"i_understand\":"
     "\"policies_only\"}",
     "", DATA_CROWD, true, NULL},
    {"unit reward", "", ",\"unit\":\"reward\",\"i_understand\":\"states_are_public\"", "",
     DATA_CROWD, false, NULL},
    {"float", "", "", "\"arithmetic\":\"float\",", DATA_CROWD, false, NULL},
    {"clones", "", "", "", DATA_BARE, true, NULL},
    {"public data", "", "", "", DATA_OPEN, false, NULL},
};

#define OPTION_COUNT (sizeof options / sizeof options[0])

static bool has_parameter(const struct algorithm *algorithm, const char *name, unsigned *out)
{
    for (*out = 0; *out < algorithm->parameter_count; ++*out)
        if (strcmp(algorithm->parameters[*out].name, name) == 0)
            return true;
    return false;
}

/* Of those that OPTION leaves to others. */
static const char *parameters_of(const struct algorithm *algorithm, const struct job_option *option,
                                 bool lives_on)
{
    char text[1024] = "", quoted[64];
    unsigned index;
    for (size_t i = 0; i < sizeof smalls / sizeof smalls[0]; i++) {
        snprintf(quoted, sizeof quoted, "\"%s\":", smalls[i].name);
        if (!has_parameter(algorithm, smalls[i].name, &index) || strstr(option->parameters, quoted))
            continue;
        bool list = algorithm->parameters[index].type == PARAMETER_INTEGER_LIST;
        size_t size = strlen(text);
        int value = smalls[i].value;
        if (lives_on && algorithm->kind == ALGORITHM_LEARNS_FROM_DATA &&
            strcmp(smalls[i].name, "steps") == 0)
            value = LIFE_STEPS;
        snprintf(text + size, sizeof text - size, "%s\"%s\":%s%d%s", size ? "," : "",
                 smalls[i].name, list ? "[" : "", value, list ? "]" : "");
    }
    return text[0] != '\0' ? domain_path("%s", text) : "";
}

/* What a first stage needs to be small, unless OPTION says another. */
static const char *stage_of(int mechanism, const struct job_option *option)
{
    if (strstr(option->privacy, "\"stable\"") || strstr(option->privacy, "\"consensus\""))
        return "";
    if (mechanism == MECHANISM_SELECTIVE)
        return ",\"plain_share\":1,\"stable\":{\"count\":1}";
    if (mechanism == MECHANISM_CONSENSUS)
        return ",\"consensus\":{\"labels\":20}";
    return "";
}

static const char *data_of(const struct play *p, const struct job_option *option)
{
    switch (option->data) {
    case DATA_BARE: return p->bare;
    case DATA_OPEN: return p->open_data;
    default: return p->dataset;
    }
}

static const char *source_of(const struct play *p, const struct algorithm *algorithm, int mechanism,
                             const struct job_option *option)
{
    if (mechanism == MECHANISM_TEACHER_ANSWERS)
        return domain_path(",\"environment\":\"cartpole\",\"teacher\":\"%s\"", p->teacher);
    switch (algorithm->kind) {
    case ALGORITHM_LEARNS_BY_PLAY: return ",\"environment\":\"cartpole\"";
    case ALGORITHM_AUDITS: return "";
    case ALGORITHM_EVALUATES:
        return domain_path(",\"policy\":\"%s\"%s", p->policy,
                           strstr(option->members, "\"evaluate\"") ? "" : "," EVALUATE);
    default: return domain_path(",\"dataset\":\"%s\"", data_of(p, option));
    }
}

static const char *members_of(const struct play *p, const struct job_option *option)
{
    const char *place = strstr(option->members, "%s");
    if (!place)
        return option->members;
    return domain_path("%.*s%s%s", (int)(place - option->members), option->members,
                       strstr(option->members, "\"judge\"") ? p->open_data : p->audit, place + 2);
}

static const char *job_text(const struct play *p, const struct algorithm *algorithm, int mechanism,
                            const struct job_option *option, bool lives_on)
{
    bool shards = strstr(option->members, "\"shards\"") != NULL;
    bool understands = mechanism == MECHANISM_NONE && !shards && option->data != DATA_OPEN &&
                       algorithm->kind == ALGORITHM_LEARNS_FROM_DATA;
    const char *privacy = privacies[mechanism], *small = parameters_of(algorithm, option, lives_on);
    size_t own = strlen(option->parameters);
    own -= own > 0 && small[0] == '\0'; /* the comma */
    cr_assert(privacy, "%s: give it a row in privacies[]",
              algorithm_mechanism_name((enum algorithm_mechanism)mechanism));
    if (privacy[0] != '\0')
        privacy = domain_path(",\"privacy\":{%s%s%s}", privacy, stage_of(mechanism, option),
                              option->privacy);
    return domain_path(
        "{\"algorithm\":\"%s\",\"mechanism\":\"%s\"%s%s%s%s,\"parameters\":{%.*s%s}}",
        algorithm->name, algorithm_mechanism_name((enum algorithm_mechanism)mechanism),
        source_of(p, algorithm, mechanism, option), privacy, members_of(p, option),
        understands ? ",\"i_understand\":\"not_private\"" : "", (int)own, option->parameters,
        small);
}

const char *kinds_job(struct play *p, const struct algorithm *algorithm, int mechanism,
                      const struct job_option *option)
{
    return job_text(p, algorithm, mechanism, option, false);
}

/* ---- lives */

struct life {
    const char *name, *post; /* ":cancel" */
    bool queued;             /* it happens before the first turn, else in the training */
    bool stops, taken_over;  /* the worker is asked to stop; dies, and another takes the job */
};

static const struct life lives[] = {
    {.name = "runs"},
    {.name = "cancelled in the queue", .queued = true, .post = ":cancel"},
    {.name = "cancelled at a step", .post = ":cancel"},
    {.name = "stopped and resumed", .stops = true},
    {.name = "killed and taken over", .taken_over = true},
};

/* A life takes its turn at this step; where no step is shown, at this question whether to stop. */
#define LIFE_STEP  1
#define LIFE_PULSE 8

struct watch {
    struct play *p;
    const char *job;
    const struct life *life;
    unsigned pulses, pulse_ms;
    double step;
    bool happened;
    char seen[160]; /* of the progress that was written down last */
};

static void watch_cancel(struct watch *w)
{
    play_ask(w->p, CALLER_OWNER, "POST", "/v1/jobs/{id}:cancel",
             domain_path("/v1/jobs/%s:cancel", w->job), NULL, NULL);
}

/* Writes down what the owner sees at a pulse, where it is new. */
static void watch_progress(struct watch *w)
{
    char seen[sizeof w->seen];
    struct response *r = fixture_get(w->p->f, "steward", domain_path("/v1/jobs/%s", w->job));
    snprintf(seen, sizeof seen, "%s %g", response_text(r, "/state"),
             response_number(r, "/progress/step"));
    w->step = response_number(r, "/progress/step");
    if (strcmp(seen, w->seen) == 0)
        return;
    memcpy(w->seen, seen, sizeof seen);
    play_ask(w->p, CALLER_OWNER, "GET", "/v1/jobs/{id}", domain_path("/v1/jobs/%s", w->job), NULL,
             NULL);
}

/* The job's hook: a moment passes at every pulse, and LIFE happens at its own. */
static bool watch_pulse(void *context)
{
    struct watch *w = context;
    w->pulses++;
    fixture_advance(w->pulse_ms);
    watch_progress(w);
    /* Loading asks once for each upload, x's included. */
    unsigned loaded = w->p->secret.steps > 0 ? 1 : 0;
    if (w->happened || (w->step < LIFE_STEP && w->pulses < LIFE_PULSE + loaded))
        return false;
    w->happened = true;
    if (w->life->post && !w->life->queued)
        watch_cancel(w);
    if (w->life->taken_over) {
        fixture_advance(600000);
        domain_turn(w->p->f, "heir", NULL, NULL);
    }
    return w->life->stops;
}

static void wait_clock(void *context, int64_t ms)
{
    (void)context;
    fixture_advance(ms);
}

/* Lets a worker have the job until it is over. */
static bool live_on(struct play *p, const char *job, bool unprotected, const struct life *life,
                    bool *out_happened)
{
    struct watch watch = {.p = p, .job = job, .life = life, .pulse_ms = 1100};
    if (unprotected)
        watch.pulse_ms = p->secret.unprotected_pulse_ms;
    const struct api_job_control control = {
        .worker = "w", .stop_requested = watch_pulse, .context = &watch, .wait = wait_clock};
    const char *path = domain_path("/v1/jobs/%s", job), *state;
    char note[256];
    if (life->queued)
        watch_cancel(&watch);
    int turns = 0;
    do {
        cr_assert(turns++ < 20, "%s does not end", job);
        int turn = api_job_turn(fixture_app(p->f), fixture_db(p->f), &control, note);
        transcript_block(p->t, "LOG job", "operator", job);
        transcript_number(p->t, "turn", turn);
        transcript_text(p->t, "note", note);
        state = response_text(fixture_get(p->f, "steward", path), "/state");
    } while (strcmp(state, "running") == 0 || strcmp(state, "queued") == 0);
    play_pass(p);
    *out_happened = life->queued || watch.happened;
    return strcmp(state, "succeeded") == 0;
}

/* The seconds between the start and the end of an unprotected job, which may not tell of its data:
 * the clock of each secret goes at a pace of its own. */
static void write_seconds(struct play *p, const struct response *job)
{
    double seconds[2];
    static const char *const names[2] = {"/started_at", "/finished_at"};
    for (int i = 0; i < 2; i++) {
        int day, hour, minute;
        if (sscanf(response_text(job, names[i]), "%*d-%*d-%dT%d:%d:%lf", &day, &hour, &minute,
                   &seconds[i]) == 4)
            seconds[i] += ((day * 24 + hour) * 60 + minute) * 60;
    }
    transcript_block(p->t, "LOG job", "operator", "end of an unprotected job");
    transcript_number(p->t, "seconds", seconds[1] - seconds[0]);
}

/* ---- teachers over what was learned */

static void teach_with(struct play *p, const char *policy, bool shards)
{
    play_ask(p, CALLER_OWNER, "POST", "/v1/teachers", "/v1/teachers",
             domain_path(
                 "{\"name\":\"t\",\"policy\":\"%s\",\"mechanism\":{\"name\":\"gaussian_simplex\","
                 "\"sigma\":1},\"adjacency\":{%s},\"budget\":{\"epsilon\":1e5,\"delta\":"
                 "1e-3},\"client_budget\":{\"epsilon\":1e5,\"delta\":1e-3}%s}",
                 policy,
                 shards ? "\"unit\":\"expert\"" : "\"unit\":\"observation\",\"radius\":0.01",
                 shards ? "" : ",\"i_understand\":\"not_private\""),
             NULL);
}

/* ---- audits */

/* An audit of such a training that has succeeded, in p->audit, where there can be one. */
static void attack_kind(struct play *p, const struct algorithm *algorithm, int mechanism)
{
    snprintf(p->audit, sizeof p->audit, "job_none");
    struct response *r = play_ask(p, CALLER_OWNER, "POST", "/v1/jobs:estimate", "/v1/jobs:estimate",
                                  job_text(p, algorithm, mechanism, &options[0], false), NULL);
    double noise = response_number(r, "/plan/noise_multiplier");
    if (!(noise > 0))
        return;
    r = kinds_run(p, domain_path("{\"algorithm\":\"audit\",\"parameters\":{\"audited\":\"%s\","
                                 "\"noise_multiplier\":%.6g,\"steps\":2,\"method\":\"one_run\","
                                 "\"canaries\":40,\"batch_size\":10,\"trainings\":2}}",
                                 algorithm->name, noise));
    if (strcmp(response_text(r, "/state"), "succeeded") == 0)
        snprintf(p->audit, sizeof p->audit, "%s", response_text(r, "/id"));
}

/* The certificate of JOB's policy shows the audit. */
static bool shows_audit(struct play *p, const struct response *job)
{
    struct response *r = fixture_get(
        p->f, "steward", domain_path("/v1/policies/%s/certificate", response_text(job, "/policy")));
    return response_at(r, "/audited/epsilon_shown") != NULL;
}

/* ---- all of them */

struct response *kinds_run(struct play *p, const char *body)
{
    struct response *r = play_ask(p, CALLER_OWNER, "POST", "/v1/jobs", "/v1/jobs", body, NULL);
    if (r->status != 202)
        return r;
    bool happened;
    live_on(p, response_text(r, "/id"), strstr(body, "not_private") != NULL, &lives[0], &happened);
    return play_ask(p, CALLER_OWNER, "GET", "/v1/jobs/{id}",
                    domain_path("/v1/jobs/%s", response_text(r, "/id")), NULL, NULL);
}

static void play_kind(struct play *p, const struct algorithm *algorithm, int mechanism,
                      const struct job_option *option, const struct life *life,
                      struct job_tally *out)
{
    bool shards = strstr(option->members, "\"shards\"") != NULL;
    bool audits = strstr(option->members, "\"audit\"") != NULL;
    *out = (struct job_tally){.algorithm = algorithm->name,
                              .mechanism =
                                  algorithm_mechanism_name((enum algorithm_mechanism)mechanism),
                              .option = option->name,
                              .life = life->name};
    play_scene(p);
    transcript_block(
        p->t, "KIND", "harness",
        domain_path("%s %s %s %s", out->algorithm, out->mechanism, out->option, out->life));
    if (audits)
        attack_kind(p, algorithm, mechanism);
    const char *body = job_text(p, algorithm, mechanism, option, life != &lives[0]);
    play_ask(p, CALLER_OWNER, "POST", "/v1/jobs:estimate", "/v1/jobs:estimate", body, NULL);
    struct response *r = play_ask(p, CALLER_OWNER, "POST", "/v1/jobs", "/v1/jobs", body, NULL);
    out->accepted = r->status == 202;
    if (!out->accepted)
        return;
    const char *job = response_text(r, "/id");
    bool unprotected = strstr(body, "not_private") != NULL;
    out->succeeded = live_on(p, job, unprotected, life, &out->happened);
    r = fixture_get(p->f, "steward", domain_path("/v1/jobs/%s", job));
    if (out->succeeded && unprotected)
        write_seconds(p, r);
    cr_expect(!audits || !out->succeeded || shows_audit(p, r), "%s: no audit in the certificate",
              out->algorithm);
    if (out->succeeded && strcmp(life->name, "runs") == 0 &&
        (shards || strcmp(option->name, "plain") == 0) &&
        algorithm->kind == ALGORITHM_LEARNS_FROM_DATA)
        teach_with(p, response_text(r, "/policy"), shards);
    play_look(p);
}

static bool takes_data(const struct algorithm *algorithm)
{
    return algorithm->kind == ALGORITHM_LEARNS_FROM_DATA || algorithm->kind == ALGORITHM_RELEASES_Q;
}

/* Whether OPTION says anything to such a job, and is not left out. */
static bool fits_kind(const struct algorithm *algorithm, int mechanism,
                      const struct job_option *option, bool brief)
{
    const char *privacy = privacies[mechanism];
    if (brief && (!option->brief || !takes_data(algorithm)))
        return false;
    return (!option->algorithm || strcmp(option->algorithm, algorithm->name) == 0) &&
           (option->privacy[0] == '\0' || !privacy || privacy[0] != '\0') &&
           (option->data == DATA_CROWD || takes_data(algorithm));
}

void kinds_visit(bool brief, visit_kind *visit, void *context)
{
    unsigned count;
    const struct algorithm *const *all = algorithm_all(&count);
    for (unsigned a = 0; a < count; a++)
        for (int m = 0; m < MECHANISM_COUNT; m++)
            for (size_t o = 0; o < OPTION_COUNT && all[a]->mechanisms[m]; o++)
                if (fits_kind(all[a], m, &options[o], brief))
                    visit(context, all[a], m, &options[o]);
}

struct trial {
    try_kind *try_one;
    void *context;
    bool succeeded[OPTION_COUNT];
};

static void try_option(void *context, const struct algorithm *algorithm, int mechanism,
                       const struct job_option *option)
{
    struct trial *t = context;
    bool *succeeded = &t->succeeded[option - options];
    if ((*succeeded && option != &options[0]) || strstr(option->members, "\"audit\""))
        return;
    if (t->try_one(t->context, algorithm, mechanism, option))
        *succeeded = true;
}

void kinds_try(try_kind *try_one, void *context)
{
    kinds_visit(false, try_option, &(struct trial){.try_one = try_one, .context = context});
}

struct tallies {
    struct play *p;
    struct job_tally *tally;
    size_t count;
    bool brief;
};

/* The plain job of a kind lives every life. */
static void play_lives(void *context, const struct algorithm *algorithm, int mechanism,
                       const struct job_option *option)
{
    struct tallies *t = context;
    size_t count = option == &options[0] && !t->brief ? sizeof lives / sizeof lives[0] : 1;
    for (size_t l = 0; l < count; l++) {
        t->tally = realloc(t->tally, (t->count + 1) * sizeof *t->tally);
        cr_assert(t->tally != NULL);
        play_kind(t->p, algorithm, mechanism, option, &lives[l], &t->tally[t->count++]);
    }
}

void kinds_play(struct play *p, bool brief, struct job_tally **out, size_t *out_count)
{
    struct tallies t = {.p = p, .brief = brief};
    kinds_visit(brief, play_lives, &t);
    *out = t.tally;
    *out_count = t.count;
}
