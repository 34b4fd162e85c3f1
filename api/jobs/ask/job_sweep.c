/* Reads the request for a sweep and prices all its tries together. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/offline/offline.h"
#include "algos/privacy/accounting/accountant_pld.h"
#include "algos/privacy/accounting/privacy_report.h"
#include "api/call/fields.h"
#include "api/jobs/ask/job_parts.h"
#include "api/jobs/ask/job_sweep.h"
#include "api/json/json_text.h"
#include "memory/memory.h"

#define CLOSE_ENOUGH    0.98 /* of the budget */
#define LOOKS_MAX       10   /* shares that are priced at most */
#define LEAST_DOUBLINGS 12   /* of the equal part of the budget */
#define LEAST_HALVINGS  6    /* of the last doubling, in logarithms: to 1.1 % */

/* ---- the lists */

static void read_axis(struct call *call, const char *name, const json_t *list,
                      const struct algorithm *algorithm, struct job_sweep_axis *out)
{
    size_t count = json_array_size(list);
    if (!json_is_array(list) || count < 1 || count > JOB_SWEEP_MAX) {
        call_invalid(call, "/sweep", "%s must be a list of 1 to %d values", name, JOB_SWEEP_MAX);
        return;
    }
    out->values = arena_array(&call->arena, count, sizeof *out->values);
    for (size_t i = 0; i < count; i++) {
        struct parameter_values one;
        if (json_is_null(json_array_get(list, i))) {
            call_invalid(call, "/sweep", "%s must not hold null", name);
            return;
        }
        json_t *object = json_pack("{s:O}", name, json_array_get(list, i));
        job_parameters_read(call, "/sweep", algorithm, (struct job_defaults){0}, object, &one);
        out->values[i] = one.value[out->parameter];
        out->count++;
        json_decref(object);
    }
}

static void check_setting(struct call *call, const struct job_plan *plan)
{
    if (plan->request.mechanism != MECHANISM_DPSGD || plan->learn.name[0] != '\0') {
        call_invalid(call, "/sweep",
                     "needs mechanism \"dpsgd\" and an algorithm that learns a policy from a "
                     "dataset");
    }
    if (plan->evaluate.name[0] == '\0') {
        call_invalid(call, "/sweep",
                     "needs \"evaluate\": the tries are compared by playing them in a public "
                     "world, never by the data");
    }
}

void job_sweep_read(struct call *call, const json_t *object, const json_t *parameters,
                    const struct job_plan *plan, struct job_sweep *out)
{
    const struct algorithm *algorithm = plan->algorithm;
    const char *name;
    json_t *list;
    *out = (struct job_sweep){.tries = 1};
    check_setting(call, plan);
    json_object_foreach((json_t *)object, name, list)
    {
        if (json_is_null(list))
            continue;
        int index = parameters_index(algorithm->parameters, algorithm->parameter_count, name);
        if (index < 0 || out->axis_count == PARAMETERS_MAX) {
            call_invalid(call, "/sweep", "names what is no parameter of %s", algorithm->name);
            continue;
        }
        if (field_sent(parameters, name))
            call_invalid(call, "/sweep", "%s stands among the parameters, too", name);
        struct job_sweep_axis *axis = &out->axes[out->axis_count++];
        axis->parameter = (unsigned)index;
        read_axis(call, name, list, algorithm, axis);
        out->tries *= axis->count;
        if (out->tries > JOB_SWEEP_MAX)
            out->tries = JOB_SWEEP_MAX + 1;
    }
    if (out->axis_count == 0)
        call_invalid(call, "/sweep", "must name a parameter and its values");
    else if (out->tries > JOB_SWEEP_MAX)
        call_invalid(call, "/sweep", "must not ask for more than %d tries", JOB_SWEEP_MAX);
}

/* ---- the price */

static void place_try(const struct job_sweep *sweep, const struct job_plan *plan, unsigned number,
                      struct job_plan *out)
{
    *out = *plan;
    out->tries = NULL;
    out->try_count = 0;
    /* Every try has another seed and so other initial weights. JSON's integers are exact to 2^53.
     */
    out->request.seed = (plan->request.seed + number) & ((UINT64_C(1) << 53) - 1);
    for (unsigned a = sweep->axis_count; a-- > 0;) {
        const struct job_sweep_axis *axis = &sweep->axes[a];
        out->request.parameters.value[axis->parameter] = axis->values[number % axis->count];
        number /= axis->count;
    }
}

/* The cost of all tries: their steps, and the rounding of the noise in exact arithmetic. */
struct together {
    struct composition steps;
    double epsilon, delta; /* of the rounding */
};

static enum composition_status put_together(const struct job_plan *plan, struct together *out)
{
    enum composition_status status = COMPOSITION_OK;
    *out = (struct together){0};
    for (uint32_t t = 0; t < plan->try_count && status == COMPOSITION_OK; t++) {
        const struct dp_sgd_plan *p = &plan->tries[t].plan.privacy;
        const struct mechanism step = {.kind = MECHANISM_SUBSAMPLED_GAUSSIAN,
                                       .gaussian = {p->sampling_rate, p->noise_multiplier}};
        const struct composition_part rounding = dp_sgd_plan_rounding_price(p, p->steps);
        out->epsilon += rounding.mechanism.pair.epsilon;
        out->delta += rounding.mechanism.pair.delta;
        status = composition_add(&out->steps, &step, p->steps);
    }
    return status;
}

/* True when the deltas that were set aside for rare draws of exact tries suffice where all tries
 * together cost EPSILON. */
static bool rare_draws_fit(const struct job_plan *plan, double epsilon)
{
    for (uint32_t t = 0; t < plan->try_count; t++)
        if (!dp_sgd_lattice_fits(&plan->tries[t].plan.privacy, epsilon))
            return false;
    return true;
}

/* The epsilon of STEPS at DELTA, within what is left of PLAN's work. */
static enum accountant_status steps_epsilon(const struct job_plan *plan,
                                            const struct composition *steps, double delta,
                                            struct privacy_interval *out)
{
    const struct accountant *accountant = privacy_report_accountant(steps);
    struct pld_effort effort = ACCOUNTANT_PLD_EFFORT;
    if (accountant != &accountant_pld)
        return accountant_epsilon(accountant, steps, delta, out);
    effort.work = plan->request.work ? &plan->request.work->work : NULL;
    return accountant_pld_figure(steps, PLD_EPSILON, delta, &effort, out);
}

/* Prices all tries together, as one composition, and sets PLAN's epsilon; INFINITY where draws of
 * exact tries cannot be certified at their price. */
static enum algorithm_status price_together(struct job_plan *plan, const char **message)
{
    struct together all;
    struct privacy_interval above, below, renyi;
    enum composition_status status = put_together(plan, &all);
    enum accountant_status priced = ACCOUNTANT_NO_MEMORY;
    double delta = plan->request.delta, more = all.epsilon, rare = all.delta;
    double least = (delta - rare) * exp(-more), most = (delta + 2 * rare) * exp(more);
    bool known = false;
    if (status == COMPOSITION_OK) {
        priced = steps_epsilon(plan, &all.steps, least, &above);
        if (priced == ACCOUNTANT_OK)
            priced = steps_epsilon(plan, &all.steps, most, &below);
        known = accountant_epsilon(&accountant_renyi, &all.steps, least, &renyi) == ACCOUNTANT_OK;
    }
    composition_clear(&all.steps);
    if (priced == ACCOUNTANT_NO_MEMORY)
        return ALGORITHM_NO_MEMORY;
    if (priced == ACCOUNTANT_TOO_MUCH_WORK)
        return offline_plan_status(DP_SGD_PLAN_TOO_MUCH_WORK, "", message);
    if (priced != ACCOUNTANT_OK || !isfinite(above.upper))
        return ALGORITHM_INFEASIBLE;
    struct dp_sgd_plan *sum = &plan->plan.privacy;
    sum->epsilon = above.upper + more;
    sum->epsilon_lower = fmax(0, below.lower - more);
    sum->epsilon_renyi = (double)INFINITY;
    if (known)
        sum->epsilon_renyi = renyi.upper + more;
    if (!rare_draws_fit(plan, sum->epsilon))
        sum->epsilon = (double)INFINITY;
    return ALGORITHM_OK;
}

/* Plans every try as if it alone had EPSILON to spend, then prices all tries together. */
static enum algorithm_status plan_all(struct job_plan *plan, double epsilon, const char **message)
{
    struct algorithm_plan *sum = &plan->plan;
    *sum = (struct algorithm_plan){.privacy = {.delta = plan->request.delta}};
    for (uint32_t t = 0; t < plan->try_count; t++) {
        struct job_plan *one = &plan->tries[t];
        one->request.epsilon = epsilon;
        enum algorithm_status status = plan->algorithm->plan(&one->request, &one->plan, message);
        if (status != ALGORITHM_OK)
            return status;
        if (one->plan.privacy.before.times > 0) { /* price_together does not price it */
            *message = "a sweep cannot have a first stage";
            return ALGORITHM_BAD_INPUT;
        }
        sum->total_steps += one->plan.total_steps;
        sum->privacy.steps += one->plan.privacy.steps;
        if (one->plan.parameter_count > sum->parameter_count) {
            sum->parameter_count = one->plan.parameter_count;
            sum->shape = one->plan.shape;
        }
    }
    return price_together(plan, message);
}

/* Searches for the largest epsilon per try, the share, such that all tries together fit the budget.
 * It lies between budget/tries and the whole budget. The joint price of the share that is used was
 * itself certified not to exceed the budget. */
static enum algorithm_status find_share(struct job_plan *plan, const char **message)
{
    double budget = plan->request.epsilon;
    double low = budget / plan->try_count * (1 - 1e-9), high = budget;
    double share = low, best = 0;
    for (int look = 0; look < LOOKS_MAX && high > low * (1 + 1e-3); look++) {
        enum algorithm_status status = plan_all(plan, share, message);
        if (status != ALGORITHM_OK && status != ALGORITHM_INFEASIBLE)
            return status;
        double price = plan->plan.privacy.epsilon;
        bool pays = status == ALGORITHM_OK && price <= budget;
        if (pays && price >= CLOSE_ENOUGH * budget)
            return ALGORITHM_OK;
        if (pays)
            best = low = share;
        else if (status == ALGORITHM_OK || best > 0)
            high = share; /* too dear, or more than exact arithmetic can certify */
        else
            low = share; /* a try cannot pay for one noisy step with so small a share */
        if (status == ALGORITHM_OK)
            share *= 0.99 * budget / price;
        if (status != ALGORITHM_OK || share <= low || share >= high)
            share = (low + high) / 2;
    }
    /* Use the largest share that was seen to fit, or the smallest. */
    if (best <= 0)
        best = low;
    enum algorithm_status status = plan_all(plan, best, message);
    if (status == ALGORITHM_OK && plan->plan.privacy.epsilon > budget) {
        *message = "the budget cannot pay for all tries of the sweep together";
        if (isinf(plan->plan.privacy.epsilon))
            *message = "epsilon is too large for exact arithmetic, whose noise can be certified up "
                       "to an epsilon of some 30 for all tries together and from a delta of some "
                       "1e-17 on (\"arithmetic\":\"float\" has no such limits)";
        return ALGORITHM_INFEASIBLE;
    }
    return status;
}

/* Sets *SHARE to about the least epsilon of each try with which all of PLAN's can be planned. */
static bool least_share(struct job_plan *plan, double *share)
{
    const char *message;
    double low = plan->request.epsilon / plan->try_count, high = low;
    for (int i = 0; i < LEAST_DOUBLINGS; i++, high *= 2) {
        if (plan_all(plan, high, &message) == ALGORITHM_OK)
            break;
        low = high;
    }
    for (int i = 0; i < LEAST_HALVINGS && high > low; i++) {
        double middle = sqrt(low * high);
        if (plan_all(plan, middle, &message) == ALGORITHM_OK)
            high = middle;
        else
            low = middle;
    }
    *share = high;
    return plan_all(plan, high, &message) == ALGORITHM_OK && isfinite(plan->plan.privacy.epsilon);
}

double job_sweep_least(const struct job_plan *plan)
{
    const char *message;
    double share, least = 0;
    struct job_plan all = *plan;
    all.tries = memory_new(plan->try_count, sizeof *all.tries);
    memcpy(all.tries, plan->tries, plan->try_count * sizeof *all.tries);
    if (least_share(&all, &share)) {
        least = all.request.epsilon = all.plan.privacy.epsilon * 1.01;
        if (find_share(&all, &message) != ALGORITHM_OK)
            least = 0;
    }
    free(all.tries);
    return least;
}

enum algorithm_status job_sweep_plan(struct call *call, const struct job_sweep *sweep,
                                     struct job_plan *plan, const char **message)
{
    struct job_plan *tries = arena_array(&call->arena, sweep->tries, sizeof *tries);
    for (unsigned t = 0; t < sweep->tries; t++)
        place_try(sweep, plan, t, &tries[t]);
    plan->tries = tries;
    plan->try_count = sweep->tries;
    return find_share(plan, message);
}

/* ---- JSON */

static bool values_equal(const struct parameter_value *a, const struct parameter_value *b)
{
    return a->count == b->count && memcmp(a->number, b->number, a->count * sizeof *a->number) == 0;
}

static bool is_swept(const struct job_plan *plan, unsigned index)
{
    const struct parameter_value *first = &plan->tries[0].request.parameters.value[index];
    for (uint32_t t = 1; t < plan->try_count; t++)
        if (!values_equal(first, &plan->tries[t].request.parameters.value[index]))
            return true;
    return false;
}

json_t *job_sweep_json(const struct job_plan *plan)
{
    if (plan->try_count == 0)
        return json_null();
    json_t *tries = json_array();
    for (uint32_t t = 0; t < plan->try_count; t++) {
        json_t *all = job_plan_parameters(&plan->tries[t]);
        for (unsigned i = 0; i < plan->algorithm->parameter_count; i++)
            if (!is_swept(plan, i))
                json_object_del(all, plan->algorithm->parameters[i].name);
        json_list_add(&tries, json_pack("{s:o}", "parameters", all));
    }
    return json_pack("{s:o}", "tries", tries);
}
