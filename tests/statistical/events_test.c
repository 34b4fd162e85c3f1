/* The search for events on every noise of one number (algos/privacy/audit/event_search.h), and on
 * noises that are broken: what it is there to find. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "algos/privacy/audit/event_search.h"
#include "tests/statistical/audit.h"

#define DRAWS 2000000
#define LEVEL (AUDIT_FALSE_ALARM / AUDIT_COUNT / 32.0) /* of one case; there are fewer than 32 */

static struct event_finding find_event(const struct event_case *asked, uint64_t draws,
                                       const char *what)
{
    const uint8_t key[32] = {'e', (uint8_t)asked->work, (uint8_t)draws};
    struct noise_source *noise = noise_source_new_injected_cipher(key, NOISE_AES256_CTR);
    cr_assert_not_null(noise);
    if (audit_is_sanitized())
        draws /= 16;
    struct event_finding found = event_search(asked, draws, LEVEL, noise);
    printf("events: %-25s noise %-8g delta %g claimed %6.3f shown %6.3f  %llu draws, %s  %s\n",
           asked->name, asked->noise, asked->delta, event_case_epsilon(asked), found.epsilon,
           4 * (unsigned long long)found.counted, found.kind, what);
    noise_source_free(noise);
    return found;
}

/* A case whose output is a whole step: slow without an optimiser. */
static bool is_step(const struct event_case *asked)
{
    return asked->apart == 0.0;
}

Test(events, every_noise_stays_under_its_claim)
{
    const struct event_case *asked;
    for (unsigned i = 0; (asked = event_case_at(i)); i++) {
        cr_assert_lt(i, 32);
        double shown = find_event(asked, is_step(asked) ? DRAWS / 32 : DRAWS, "as claimed").epsilon;
        cr_expect_leq(shown, event_case_epsilon(asked), "%s: %g", asked->name, shown);
    }
}

/* Local mechanisms draw by epsilon (local_test.c). */
Test(events, half_of_a_noise_is_found)
{
    const struct event_case *asked;
    for (unsigned i = 0; (asked = event_case_at(i)) && !audit_is_sanitized(); i++) {
        struct event_case half = *asked;
        half.noise *= 0.5;
        if (is_step(asked) || asked->work > 64)
            continue;
        double shown = find_event(&half, DRAWS, "half the noise").epsilon;
        cr_expect_gt(shown, event_case_epsilon(asked), "%s: %g", asked->name, shown);
    }
}

/* A sampler whose pairs are zero with probability 2^-25, as 128 of 2^32 radius words would make
 * them: of a step of 2048 pairs, that it has such a one. What the other coordinates are does not
 * count, so they are not drawn. */
static void sometimes_zero(const struct event_case *self, bool with, struct noise_source *noise,
                           double *out, uint32_t count)
{
    const double none = exp(2048.0 * log1p(-0x1p-25));
    (void)self;
    for (uint32_t i = 0; i < count; i++)
        out[i] = noise_uniform(noise) >= none && !with ? 2.0 : 0.0;
}

/* As many steps as `tacet audit --all` draws. */
Test(events, a_noise_that_is_zero_once_in_2_to_the_25_is_found)
{
    const struct event_case *asked = NULL;
    for (unsigned i = 0; event_case_at(i); i++)
        if (is_step(event_case_at(i)))
            asked = event_case_at(i);
    cr_assert_not_null(asked);
    struct event_case broken = *asked;
    broken.draw = sometimes_zero;
    broken.work = 1;
    if (!audit_is_sanitized()) {
        double shown = find_event(&broken, EVENT_DRAWS / asked->work, "zero once in 2^25").epsilon;
        cr_expect_gt(shown, event_case_epsilon(asked), "%g", shown);
    }
}

/* Returns its input once in 100,000 times, and else anything near it. */
static void sometimes_bare(const struct event_case *self, bool with, struct noise_source *noise,
                           double *out, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        double uniform = noise_uniform(noise), input = self->input + (with ? self->apart : 0.0);
        out[i] = uniform < 1e-5 ? input : input + self->noise * (uniform - 0.5);
    }
}

Test(events, a_bare_input_is_found)
{
    const struct event_case broken = {.name = "an input without noise",
                                      .noise = 1e6,
                                      .input = 7.0,
                                      .apart = 1.0,
                                      .mu = 0.01,
                                      .delta = 1e-8,
                                      .work = 1,
                                      .draw = sometimes_bare};
    if (audit_is_sanitized())
        return;
    struct event_finding found = find_event(&broken, 5 * DRAWS, "bare once in 100,000");
    cr_expect_gt(found.epsilon, event_case_epsilon(&broken));
    cr_expect_str_eq(found.kind, "exact");
}

/* No claim covers the last bits of floats: they tell 0 from 1000 at a glance, and the search sees
 * it when it is told to look. */
Test(events, the_last_bits_of_floats_are_found)
{
    struct event_case bits = *event_case_at(0);
    cr_assert_eq(bits.grid, 0.0);
    bits.input = 1.0;
    bits.grid = 0x1p-26;
    struct event_finding found = find_event(&bits, DRAWS / 10, "with its last bits");
    cr_expect_gt(found.epsilon, event_case_epsilon(&bits));
    cr_expect_str_eq(found.kind, "low bits");
}
