/* PPO with a guide: some states of a roll-out are asked about before it is learned from.
 *
 * Design: which states are asked is drawn uniformly, so that the mean over those that were answered
 * estimates the mean over the roll-out; each of them then counts transitions/answers times in its
 * minibatch. Answers live as long as their roll-out: the next one is asked about anew. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/online/ppo_state.h"

#include "memory/memory.h"

void ppo_set_guide(struct ppo *ppo, const struct kickstart_guide *guide)
{
    size_t n = (size_t)ppo->settings.worlds * ppo->settings.steps, dim = ppo->env->state_dim;
    struct ppo_guidance *g = &ppo->guidance;
    assert(guide->questions >= 1 && guide->questions <= n && guide->lambda >= 0.0);
    assert(!g->guide.ask);
    g->guide = *guide;
    g->plain = memory_new(n * dim, sizeof *g->plain);
    g->place = memory_new(n, sizeof *g->place);
    g->asked = memory_new(guide->questions * dim, sizeof *g->asked);
    g->answers = memory_new((size_t)guide->questions * ppo->env->action_count, sizeof *g->answers);
}

void ppo_clear_guidance(struct ppo_guidance *g)
{
    free(g->plain);
    free(g->place);
    free(g->asked);
    free(g->answers);
    *g = (struct ppo_guidance){0};
}

void ppo_ask(struct ppo *ppo)
{
    struct ppo_guidance *g = &ppo->guidance;
    size_t dim = ppo->env->state_dim;
    uint32_t n = ppo->settings.worlds * ppo->settings.steps;
    if (!g->guide.ask || g->silent)
        return;
    memset(g->place, 0, n * sizeof *g->place);
    g->answered = 0;
    for (uint32_t k = 0; k < g->guide.questions; k++) {
        uint32_t j = k + rng_below(&ppo->rng, n - k);
        uint32_t row = ppo->order[j];
        ppo->order[j] = ppo->order[k];
        ppo->order[k] = row;
        memcpy(g->asked + k * dim, g->plain + row * dim, dim * sizeof *g->asked);
    }
    switch (g->guide.ask(g->guide.context, g->asked, g->guide.questions, g->answers, &g->radius)) {
    case KICKSTART_ANSWERED: g->answered = g->guide.questions; break;
    case KICKSTART_SILENT: g->silent = true; break;
    case KICKSTART_BROKEN: ppo->failed = true; break;
    }
    for (uint32_t k = 0; k < g->answered; k++)
        g->place[ppo->order[k]] = k + 1;
}

double kickstart_penalty(const float *logits, uint32_t actions, const double *answer,
                         double allowed, double weight, float *gradient)
{
    assert(actions > 0 && actions <= ENV_MAX_ACTIONS && allowed >= 0.0);
    double p[ENV_MAX_ACTIONS] = {0}, top = logits[0], sum = 0.0, squares = 0.0, mean = 0.0;
    for (uint32_t a = 1; a < actions; a++)
        top = logits[a] > top ? logits[a] : top;
    for (uint32_t a = 0; a < actions; a++)
        sum += p[a] = exp(logits[a] - top);
    for (uint32_t a = 0; a < actions; a++) {
        p[a] /= sum;
        squares += (p[a] - answer[a]) * (p[a] - answer[a]);
    }
    double distance = sqrt(squares);
    if (!(distance > allowed))
        return 0.0;
    for (uint32_t a = 0; a < actions; a++)
        mean += p[a] * (p[a] - answer[a]);
    for (uint32_t a = 0; a < actions; a++)
        gradient[a] += (float)(weight * p[a] * (p[a] - answer[a] - mean) / distance);
    return distance;
}

void ppo_follow(const struct ppo *ppo, uint32_t row, const float *logits, double share,
                float *gradient)
{
    const struct ppo_guidance *g = &ppo->guidance;
    uint32_t actions = ppo->env->action_count, n = ppo->settings.worlds * ppo->settings.steps;
    if (g->answered == 0 || g->place[row] == 0)
        return;
    kickstart_penalty(logits, actions, g->answers + (size_t)(g->place[row] - 1) * actions,
                      g->guide.lambda * g->radius, share * n / g->answered, gradient);
}
