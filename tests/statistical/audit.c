/* Events, confidence bounds, and the line that each audit prints. */
#include "tests/statistical/audit.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "algos/privacy/laws/gaussian_dp.h"
#include "algos/privacy/math/normal_quantile.h"
#include "algos/privacy/math/special.h"
#include "tests/statistical/profile.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

/* Of one bound of one rate. */
#define TAIL (AUDIT_FALSE_ALARM / AUDIT_COUNT / 2.0)

/* Statistics of both worlds, each in increasing order. */
struct sample {
    double *value[2]; /* [with] */
    uint32_t count;
};

/* An event, and the world where it is to be the likelier one. */
struct event {
    double threshold;
    bool below;  /* {statistic < threshold}, else {statistic >= threshold} */
    bool likely; /* with the unit */
};

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Below the probability of what was seen HITS times in TRIALS, but for a chance of TAIL. */
static double rate_above(uint32_t hits, uint32_t trials)
{
    double low = 0.0, high = 1.0;
    if (hits == 0)
        return 0.0;
    for (int i = 0; i < 40; i++) {
        double middle = 0.5 * (low + high);
        if (incomplete_beta(hits, trials - hits + 1.0, middle) < TAIL)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static double rate_below(uint32_t hits, uint32_t trials)
{
    return 1.0 - rate_above(trials - hits, trials);
}

static double quantile(double p)
{
    return (double)(p <= 0.5 ? normal_quantile(p) : -normal_quantile(1.0 - p));
}

static uint32_t count_below(const struct sample *sample, bool with, double threshold)
{
    uint32_t low = 0, high = sample->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (sample->value[with][middle] < threshold)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint32_t hits(const struct sample *sample, bool with, const struct event *event)
{
    uint32_t below = count_below(sample, with, event->threshold);
    return event->below ? below : sample->count - below;
}

/* The event's probability: above P where it is likely, below Q in the other world. */
static void bound_rates(const struct sample *sample, const struct event *event, double *p,
                        double *q)
{
    *p = rate_above(hits(sample, event->likely, event), sample->count);
    *q = rate_below(hits(sample, !event->likely, event), sample->count);
}

/* Grows with what the event shows. For a profile the Gaussian measure is near enough: a choice
 * needs no proof. */
static double merit(const struct audit *audit, double p, double q)
{
    if (audit->claim == AUDIT_PAIR)
        return p > audit->delta ? log((p - audit->delta) / q) : -INFINITY;
    return p > q ? quantile(p) - quantile(q) : -INFINITY;
}

/* Epsilon that the event shows. */
static double shown(const struct audit *audit, double p, double q)
{
    double bound = merit(audit, p, q);
    if (!(bound > 0.0))
        return 0.0;
    switch (audit->claim) {
    case AUDIT_PAIR: break;
    case AUDIT_GAUSSIAN_DP: return gaussian_dp_epsilon(bound, audit->delta);
    case AUDIT_PROFILE: return profile_shown(&audit->run, audit->times, audit->delta, p, q);
    }
    return bound;
}

/* The best event at the sample's own values, more densely tried in both tails. */
static struct event choose(const struct audit *audit, const struct sample *sample)
{
    struct event best = {0};
    double most = -INFINITY, p, q;
    for (double share = 0.9; share * sample->count > 1.0; share *= 0.8) {
        for (unsigned i = 0; i < 16; i++) {
            uint32_t rank = (uint32_t)(share * sample->count);
            double *value = sample->value[i & 1];
            struct event event = {.threshold = value[i & 2 ? rank : sample->count - 1 - rank],
                                  .below = i & 4,
                                  .likely = i & 8};
            bound_rates(sample, &event, &p, &q);
            if (merit(audit, p, q) > most) {
                most = merit(audit, p, q);
                best = event;
            }
        }
    }
    return best;
}

static void draw(const struct audit *audit, const void *mechanism, uint8_t part,
                 struct sample *sample)
{
    for (int with = 0; with < 2; with++) {
        const uint8_t key[32] = {(uint8_t)audit->name, (uint8_t)with, part, 'a'};
        struct noise_source *noise = noise_source_new_injected(key);
        cr_assert_not_null(noise);
        for (uint32_t i = 0; i < sample->count; i++) {
            sample->value[with][i] = audit->statistic(mechanism, with, noise);
            cr_assert_not(isnan(sample->value[with][i]));
        }
        noise_source_free(noise);
        qsort(sample->value[with], sample->count, sizeof(double), ascending);
    }
}

bool audit_is_sanitized(void)
{
    return SANITIZED;
}

static uint32_t samples_of(const struct audit *audit)
{
    return SANITIZED ? audit->samples / 8 : audit->samples;
}

double audit_lower_bound(const struct audit *audit, const void *mechanism)
{
    struct sample sample = {.count = samples_of(audit)};
    double *values = calloc(2 * (size_t)sample.count, sizeof *values);
    cr_assert_not_null(values);
    sample.value[0] = values;
    sample.value[1] = values + sample.count;
    draw(audit, mechanism, 0, &sample);
    struct event event = choose(audit, &sample);
    draw(audit, mechanism, 1, &sample);
    double p, q;
    bound_rates(&sample, &event, &p, &q);
    free(values);
    return shown(audit, p, q);
}

/* One line of the log: what was claimed and what is shown. */
static double measure(const struct audit *audit, const void *mechanism, const char *what)
{
    struct timespec begun, ended;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    double bound = audit_lower_bound(audit, mechanism);
    clock_gettime(CLOCK_MONOTONIC, &ended);
    printf("audit: %-22s delta %-7g claimed %7.4f shown %7.4f  %u draws %5.2f s  %s\n",
           audit->title, audit->delta, audit->epsilon, bound, 4 * samples_of(audit),
           (double)(ended.tv_sec - begun.tv_sec) + 1e-9 * (double)(ended.tv_nsec - begun.tv_nsec),
           what);
    return bound;
}

void audit_holds(const struct audit *audit, const void *mechanism)
{
    cr_assert(audit->epsilon > 0.0 && isfinite(audit->epsilon));
    double bound = measure(audit, mechanism, "as claimed");
    cr_expect_leq(bound, audit->epsilon, "%s: claimed %g, shown %g", audit->title, audit->epsilon,
                  bound);
}

void audit_exceeds(const struct audit *audit, const void *mutant, const char *what)
{
    if (SANITIZED)
        return;
    double bound = measure(audit, mutant, what);
    cr_expect_gt(bound, audit->epsilon, "%s: claimed %g; %s shows only %g", audit->title,
                 audit->epsilon, what, bound);
}
