/* Candidates in order of what is expected of them; hopeless ones behind the others, because what
 * noise alone earns may be above what another mechanism is weakly expected to earn. */
#include <math.h>
#include <stdlib.h>

#include "algos/advice/advice.h"

static int rank_compare(const void *a, const void *b)
{
    const struct advice_outlook *p = &((const struct advice_ranked *)a)->outlook;
    const struct advice_outlook *q = &((const struct advice_ranked *)b)->outlook;
    if (isnan(p->expected) || isnan(q->expected))
        return (int)isnan(p->expected) - (int)isnan(q->expected);
    if ((p->verdict == ADVICE_HOPELESS) != (q->verdict == ADVICE_HOPELESS))
        return p->verdict == ADVICE_HOPELESS ? 1 : -1;
    return (p->expected < q->expected) - (p->expected > q->expected);
}

unsigned advice_rank(const struct advice_facts *facts, const struct algorithm *algorithm,
                     int mechanism, struct advice_ranked out[ADVICE_RANKED_MAX])
{
    unsigned count = 0;
    struct advice_ranked one;
    for (unsigned i = 0; count < ADVICE_RANKED_MAX && advice_candidate(facts, i, &one.candidate);
         i++) {
        const struct algorithm *of = one.candidate.algorithm;
        const char *world = facts->world ? facts->world->name : "", *message = "";
        struct algorithm_plan plan;
        enum advice_method method;
        advice_request(facts, &one.candidate, &one.request);
        if ((algorithm && algorithm != of) ||
            (mechanism >= 0 && mechanism != (int)one.request.mechanism) ||
            of->plan(&one.request, &plan, &message) != ALGORITHM_OK)
            continue;
        if (one.candidate.method == ADVICE_SHARDS) {
            one.signal = advice_teaching_signal(facts, one.candidate.size);
            advice_look(ADVICE_SHARDS, of->name, world, NULL, one.signal, &one.outlook);
        } else {
            one.signal = advice_signal(&one.request, &plan, &method);
            advice_look_at(&one.request, &plan, of->name, world, &one.outlook);
        }
        out[count++] = one;
    }
    qsort(out, count, sizeof *out, rank_compare);
    return count;
}
