/* Normals and Gammas in double at uniform numbers of the test's choice, which no number of draws
 * would show: the laws compiled once more, under other names and on top of a script. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

struct scripted_uniforms {
    double fine; /* the first of noise_uniform_fine; 1/2 follows */
};

static double scripted_uniform(struct scripted_uniforms *source)
{
    (void)source;
    return 0x1p-54;
}

static double scripted_uniform_fine(struct scripted_uniforms *source)
{
    double given = source->fine;
    source->fine = 0.5;
    return given;
}

#define noise_source        scripted_uniforms
#define noise_uniform       scripted_uniform
#define noise_uniform_fine  scripted_uniform_fine
#define noise_normal        scripted_normal
#define noise_round_to_grid scripted_round
#define noise_grid_step     scripted_step
// NOLINTNEXTLINE(bugprone-suspicious-include): the same code under other names is the point
#include "algos/privacy/noise/noise_continuous.c"
#undef noise_source
#undef noise_uniform
#undef noise_uniform_fine
#undef noise_normal
#undef noise_round_to_grid
#undef noise_grid_step

Test(noise_tail, a_normal_goes_as_far_as_its_uniform_number)
{
    static const double u[] = {0.5, 1e-17, 1e-50, 1e-280};
    for (size_t i = 0; i < sizeof u / sizeof u[0]; i++) {
        struct scripted_uniforms source = {u[i]};
        cr_expect_float_eq(scripted_normal(&source), sqrt(-2.0 * log(u[i])), 1e-12, "%g", u[i]);
    }
}
