/* Requests of every kind that ask for what there is not, or for settings at an end of their range:
 * a refusal that says what is wrong, or a run whose end tells neighbours as little as any other. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "algos/catalogue/algorithms.h"
#include "tests/unit/noninterference/kinds.h"

/* ---- what there is not */

/* Neither the estimate nor the job may be had; POINTER (or NULL) is what the refusal names. */
static void expect_refused(struct play *p, const char *body, const char *pointer)
{
    struct response *estimate =
        play_ask(p, CALLER_OWNER, "POST", "/v1/jobs:estimate", "/v1/jobs:estimate", body, NULL);
    cr_expect(estimate->status == 422 || json_is_false(response_at(estimate, "/feasible")),
              "%s: %s", body, estimate->body);
    struct response *r = play_ask(p, CALLER_OWNER, "POST", "/v1/jobs", "/v1/jobs", body, NULL);
    cr_expect_eq(r->status, 422, "%s: %s", body, r->body);
    cr_expect(!pointer || strstr(r->body, domain_path("\"pointer\":\"%s\"", pointer)), "%s: %s",
              body, r->body);
}

/* A delta that no sampler can keep. */
static void refuse_delta(struct play *p, const struct algorithm *algorithm, int mechanism)
{
    static const struct job_option plain = {"tiny delta", "", "", "", 0, false, NULL};
    const char *body = kinds_job(p, algorithm, mechanism, &plain);
    const char *place = strstr(body, "\"delta\":");
    if (!place)
        return;
    size_t before = (size_t)(place - body) + strlen("\"delta\":");
    const char *rest = body + before + strspn(body + before, "0123456789.e-");
    expect_refused(p, domain_path("%.*s1e-300%s", (int)before, body, rest), NULL);
}

/* An arithmetic that nobody has, and those that this algorithm has not. */
static void refuse_arithmetic(struct play *p, const struct algorithm *algorithm, int mechanism)
{
    static const char *const names[] = {"decimal", "float", "exact"};
    int index = parameters_index(algorithm->parameters, algorithm->parameter_count, "arithmetic");
    for (int i = 0; i < 3; i++) {
        const struct job_option option = {
            "arithmetic", "", "", domain_path("\"arithmetic\":\"%s\",", names[i]), 0, false, NULL};
        if (i == 0 || index < 0)
            expect_refused(p, kinds_job(p, algorithm, mechanism, &option),
                           "/parameters/arithmetic");
    }
}

/* ---- ends of ranges */

/* The job is refused, or ends as jobs do. */
static void run_extreme(struct play *p, const struct algorithm *algorithm, int mechanism,
                        const char *parameters, unsigned *out_ran)
{
    const struct job_option option = {"extreme", "", "", parameters, 0, false, NULL};
    struct response *r = kinds_run(p, kinds_job(p, algorithm, mechanism, &option));
    const char *state = response_text(r, "/state"), *error = response_text(r, "/error/type");
    bool fails = strcmp(state, "failed") == 0;
    cr_expect(r->status == 422 || strcmp(state, "succeeded") == 0 || fails, "%s: %s", parameters,
              r->body);
    cr_expect(!fails || strcmp(error, "/problems/training-failed") == 0 ||
                  strcmp(error, "/problems/evaluation-failed") == 0,
              "%s: %s", parameters, r->body);
    *out_ran += r->status == 200;
    fixture_forget(p->f);
}

/* Numbers alone: sizes are made small by others. */
static bool is_number(const struct parameter_spec *spec)
{
    return spec->type == PARAMETER_REAL || spec->type == PARAMETER_REAL_EACH ||
           spec->type == PARAMETER_REAL_LIST;
}

/* Every number at an end of its range, one at a time. */
static void run_ends(struct play *p, const struct algorithm *algorithm, int mechanism,
                     unsigned *out_ran)
{
    for (unsigned i = 0; i < algorithm->parameter_count; i++) {
        const struct parameter_spec *spec = &algorithm->parameters[i];
        const double ends[2] = {spec->min, spec->max};
        bool list = spec->type == PARAMETER_REAL_LIST;
        for (int k = 0; k < 2 && is_number(spec); k++)
            run_extreme(p, algorithm, mechanism,
                        domain_path("\"%s\":%s%.17g%s,", spec->name, list ? "[" : "", ends[k],
                                    list ? "]" : ""),
                        out_ran);
    }
}

/* All that makes gradients, values and steps large, together. */
static void run_all_large(struct play *p, const struct algorithm *algorithm, int mechanism,
                          unsigned *out_ran)
{
    static const char *const large[] = {
        "learning_rate", "clip_norm",   "input_scale", "reward_scale", "huber_threshold", "alpha",
        "logit_penalty", "update_rate", "error_limit", "value_weight", "entropy_weight",  "clip"};
    char text[1024] = "";
    for (size_t i = 0; i < sizeof large / sizeof large[0]; i++) {
        int index = parameters_index(algorithm->parameters, algorithm->parameter_count, large[i]);
        size_t size = strlen(text);
        if (index >= 0)
            snprintf(text + size, sizeof text - size, "\"%s\":%.17g,", large[i],
                     algorithm->parameters[index].max);
    }
    run_extreme(p, algorithm, mechanism, text, out_ran);
}

void extremes_play(struct play *p)
{
    unsigned count, ran = 0;
    const struct algorithm *const *all = algorithm_all(&count);
    for (unsigned a = 0; a < count; a++) {
        for (int m = 0; m < MECHANISM_COUNT; m++) {
            if (!all[a]->mechanisms[m])
                continue;
            play_scene(p);
            transcript_block(p->t, "EXTREMES", "harness", all[a]->name);
            refuse_delta(p, all[a], m);
            refuse_arithmetic(p, all[a], m);
            run_ends(p, all[a], m, &ran);
            run_all_large(p, all[a], m, &ran);
        }
    }
    fprintf(stderr, "settings at an end of their range: %u jobs ran\n", ran);
    cr_expect_gt(ran, 0);
}
