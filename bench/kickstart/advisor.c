/* Answers, their price and their silence.
 *
 * DESIGN. With a budget the account is a filter of one order, opened and debited as the service
 * does: a batch that does not fit is refused whole. Without one the schedule alone ends the
 * answers; it is known beforehand, so its divergences are added up at every order and the best is
 * told. */
#include "bench/kickstart/advisor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/privacy/answers/dirichlet_paper.h"
#include "bench/kickstart/published.h"

#define STAGES   256 /* different concentrations in one life */
#define K_MAX    1e4
#define SIGMA_UP 1e2
#define K_LEAST  1e-3 /* of published answers: nearly always all on one action */

struct stage {
    struct dirichlet dirichlet;
    double answers;
};

struct advisor {
    struct advisor_source source;
    struct advisor_terms terms;
    struct teacher teacher;
    struct noise_source *noise;
    struct filter account; /* with a budget */
    double concentration;  /* now; 0 where the mechanism has none */
    struct stage stages[STAGES];
    uint32_t stage_count;
    uint64_t answers;
    double radius; /* of the first answer */
};

/* ---- settings */

/* Answers that a fresh account of EPSILON pays. */
static int64_t answers_in(const struct teacher *teacher, double epsilon, double *out_order)
{
    int64_t count = 0;
    const struct filter_release release = teacher->mechanism->release(teacher);
    *out_order = filter_best_order(&release, epsilon, ADVISOR_DELTA, &count);
    return count;
}

/* TEACHER with its noise at LEVEL, a concentration or a sigma. */
static bool set_level(struct teacher *teacher, double change, double level)
{
    if (teacher->mechanism == &teacher_dirichlet) {
        teacher->dirichlet.min_probability = ADVISOR_LEAST;
        teacher->dirichlet.concentration = level;
    } else {
        teacher->gaussian.sigma = level;
    }
    return teacher_complete(teacher, teacher->mechanism->sensitivity(teacher, change)) == NULL;
}

/* TEACHER at that CONCENTRATION without the conditions of the service's mechanism. Its prices hold
 * at any concentration (dirichlet_renyi_bound). */
static void set_published(struct teacher *teacher, double change, double concentration)
{
    teacher->dirichlet.min_probability = ADVISOR_LEAST;
    teacher->dirichlet.concentration = concentration;
    teacher->sensitivity = teacher->mechanism->sensitivity(teacher, change);
    teacher->dirichlet.actions = teacher->actions;
    teacher->dirichlet.sensitivity = teacher->sensitivity;
}

/* The level that tells most among those that buy the answers wanted; for Dirichlet 1/eta where none
 * does. */
static double choose_level(struct teacher *teacher, double change,
                           const struct advisor_terms *terms)
{
    bool dirichlet = teacher->mechanism == &teacher_dirichlet;
    double order, quiet = dirichlet ? 1.0 / ADVISOR_LEAST : SIGMA_UP,
                  loud = dirichlet ? K_MAX : GAUSSIAN_SIMPLEX_SIGMA_MIN;
    for (int i = 0; i < 60; i++) {
        double middle = sqrt(quiet * loud);
        bool buys = set_level(teacher, change, middle) &&
                    answers_in(teacher, terms->epsilon, &order) >= terms->answers;
        *(buys ? &quiet : &loud) = middle;
    }
    return quiet;
}

/* How far neighbours' distributions are apart; a single teacher's follows from its network. */
static bool change_of(struct advisor *a, double *out)
{
    struct teacher *t = &a->teacher;
    if (a->source.count > 1) {
        *out = M_SQRT2 / a->source.count;
        return true;
    }
    t->radius = 1.0;
    set_level(t, 1.0, t->mechanism == &teacher_dirichlet ? 1.0 / ADVISOR_LEAST : 1.0);
    if (teacher_prepare(t, a->source.policies[0]) != NULL)
        return false;
    t->radius = ADVISOR_CHANGE / t->lipschitz;
    *out = ADVISOR_CHANGE;
    return true;
}

static const char *prepare(struct advisor *a)
{
    struct teacher *t = &a->teacher;
    double change, order = 0.0;
    *t = (struct teacher){.mechanism = a->terms.mechanism,
                          .actions = a->source.actions,
                          .temperature = a->source.temperature};
    if (!change_of(a, &change))
        return "the teacher has no Lipschitz bound";
    double level =
        a->terms.concentration > 0 ? a->terms.concentration : choose_level(t, change, &a->terms);
    if (a->terms.published)
        set_published(t, change, level);
    else if (!set_level(t, change, level))
        return "no such noise";
    a->concentration = t->mechanism == &teacher_dirichlet ? level : 0.0;
    if (a->terms.epsilon > 0 && (answers_in(t, a->terms.epsilon, &order) < 1 ||
                                 !filter_open(&a->account, order, a->terms.epsilon, ADVISOR_DELTA)))
        return "not one answer can be paid";
    return NULL;
}

struct advisor *advisor_new(const struct advisor_source *source, const struct advisor_terms *terms,
                            const char **why)
{
    struct advisor *a = calloc(1, sizeof *a);
    *why = "no memory";
    if (!a)
        return NULL;
    a->source = *source;
    a->terms = *terms;
    if (!terms->mechanism)
        return a;
    *why = prepare(a);
    a->noise = *why ? NULL : noise_source_new("kickstart");
    if (!*why && !a->noise)
        *why = "no randomness";
    if (!*why)
        return a;
    advisor_free(a);
    return NULL;
}

void advisor_free(struct advisor *a)
{
    if (!a)
        return;
    noise_source_free(a->noise);
    free(a);
}

/* ---- answers */

static void distribution_at(const struct advisor *a, const float *state, double *p)
{
    double one[TEACHER_MAX_ACTIONS];
    uint32_t m = a->source.actions;
    memset(p, 0, m * sizeof *p);
    for (uint32_t i = 0; i < a->source.count; i++) {
        const struct policy *policy = a->source.policies[i];
        if (!policy || !policy_probabilities(policy, state, a->source.temperature, one))
            for (uint32_t b = 0; b < m; b++)
                one[b] = 1.0 / m;
        for (uint32_t b = 0; b < m; b++)
            p[b] = fmin(p[b] + one[b] / a->source.count, 1.0); /* sums round */
    }
}

static bool pay(struct advisor *a, const struct teacher *now, uint32_t count)
{
    struct filter_price price;
    if (a->terms.epsilon <= 0)
        return true;
    const struct filter_release release = now->mechanism->release(now);
    if (!filter_price(a->account.order, 0, &release, 1, &price))
        return false;
    price.units *= count;
    return filter_spend(&a->account, &price);
}

static bool note(struct advisor *a, const struct teacher *now, uint32_t count)
{
    struct stage *last = a->stage_count > 0 ? &a->stages[a->stage_count - 1] : NULL;
    if (a->answers == 0)
        a->radius = now->mechanism->error_radius(now, ADVISOR_BETA);
    a->answers += count;
    if (now->mechanism != &teacher_dirichlet)
        return true;
    if (!last || last->dirichlet.concentration != now->dirichlet.concentration) {
        if (a->stage_count == STAGES)
            return false;
        last = &a->stages[a->stage_count++];
        *last = (struct stage){.dirichlet = now->dirichlet};
    }
    last->answers += count;
    return true;
}

static enum kickstart_reply ask_exactly(struct advisor *a, const float *states, uint32_t count,
                                        double *out)
{
    if (a->answers >= (uint64_t)a->terms.answers)
        return KICKSTART_SILENT;
    for (uint32_t i = 0; i < count; i++)
        distribution_at(a, states + (size_t)i * a->source.state_dim,
                        out + (size_t)i * a->source.actions);
    a->answers += count;
    return KICKSTART_ANSWERED;
}

/* TEACHER at the present concentration. False: the schedule is at its end. */
static bool weaken(const struct advisor *a, struct teacher *teacher)
{
    if (!a->terms.published)
        return teacher->mechanism->weaken(teacher, a->concentration);
    teacher->dirichlet.concentration = fmax(a->concentration, K_LEAST);
    return true;
}

static bool draw_answer(struct advisor *a, const struct teacher *now, double *p, double *out)
{
    if (!a->terms.published)
        return now->mechanism->answer(now, a->noise, p, out);
    dirichlet_mix(&now->dirichlet, p);
    published_draw(now->actions, now->dirichlet.concentration, p, a->noise, out);
    return true;
}

enum kickstart_reply advisor_ask(void *advisor, float *states, uint32_t count,
                                 double *out_probabilities, double *out_radius)
{
    struct advisor *a = advisor;
    *out_radius = 0.0;
    if (!a->terms.mechanism)
        return ask_exactly(a, states, count, out_probabilities);
    if (a->concentration > 0 && a->terms.vanishing < 1)
        a->concentration *= a->terms.vanishing;
    struct teacher now = a->teacher;
    if (!weaken(a, &now))
        return KICKSTART_SILENT;
    bool paid = pay(a, &now, count);
    if (!paid && !a->terms.random)
        return KICKSTART_SILENT;
    if (paid && !note(a, &now, count))
        return KICKSTART_BROKEN;
    *out_radius = now.mechanism->error_radius(&now, ADVISOR_BETA);
    for (uint32_t i = 0; i < count; i++) {
        double p[TEACHER_MAX_ACTIONS];
        if (paid)
            distribution_at(a, states + (size_t)i * a->source.state_dim, p);
        else
            answer_error_uniform(a->source.actions, p);
        if (!draw_answer(a, &now, p, out_probabilities + (size_t)i * a->source.actions))
            return KICKSTART_BROKEN;
    }
    return KICKSTART_ANSWERED;
}

/* ---- what it cost */

static double renyi_of_stages(const void *context, double order)
{
    const struct advisor *a = context;
    double sum = 0.0;
    for (uint32_t i = 0; i < a->stage_count; i++)
        sum += a->stages[i].answers * dirichlet_renyi_bound(&a->stages[i].dirichlet, order);
    return sum;
}

static double certified(const struct advisor *a)
{
    if (a->terms.epsilon > 0)
        return filter_epsilon(a->account.order, a->account.spent_units, ADVISOR_DELTA);
    if (a->stage_count == 0) {
        struct filter_release gaussian = a->teacher.mechanism->release(&a->teacher);
        return filter_planned_epsilon(&gaussian, (double)a->answers, ADVISOR_DELTA);
    }
    const struct filter_release all = {.mechanism = a,
                                       .renyi = renyi_of_stages,
                                       .order_limit =
                                           dirichlet_order_limit(&a->stages[0].dirichlet)};
    return filter_planned_epsilon(&all, 1.0, ADVISOR_DELTA);
}

struct advisor_account advisor_account_of(const struct advisor *a)
{
    struct advisor_account account = {
        .answers = a->answers, .epsilon = INFINITY, .paper = NAN, .radius = a->radius};
    if (!a->terms.mechanism)
        return account;
    account.epsilon = a->answers > 0 ? certified(a) : 0.0;
    if (a->terms.mechanism != &teacher_dirichlet) {
        account.noise = a->teacher.gaussian.sigma;
        return account;
    }
    account.noise = a->stage_count > 0 ? a->stages[0].dirichlet.concentration : 0.0;
    account.paper = 0.0;
    for (uint32_t i = 0; i < a->stage_count; i++)
        account.paper +=
            a->stages[i].answers / (double)a->answers *
            dirichlet_paper_total(&a->stages[i].dirichlet, (double)a->answers, ADVISOR_DELTA);
    return account;
}
