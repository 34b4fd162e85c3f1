/* Teachers that add normal noise and project onto the simplex. */
#include <stddef.h>

#include "algos/release/teacher.h"

static double sensitivity(const struct teacher *teacher, double change)
{
    (void)teacher;
    return change;
}

static const char *complete(struct teacher *teacher, double certified)
{
    teacher->gaussian.actions = teacher->actions;
    teacher->gaussian.sensitivity = certified;
    return gaussian_simplex_problem(&teacher->gaussian);
}

static bool weaken(struct teacher *teacher, double concentration)
{
    (void)teacher;
    return concentration == 0.0;
}

static struct filter_release release(const struct teacher *teacher)
{
    return filter_gaussian_simplex(&teacher->gaussian);
}

static bool answer(const struct teacher *teacher, struct noise_source *noise, double *p, double *z)
{
    return gaussian_simplex_sample(&teacher->gaussian, noise, p, z);
}

static double error_radius(const struct teacher *teacher, double beta)
{
    return gaussian_simplex_error_radius(&teacher->gaussian, beta);
}

static struct answer_error error(const struct teacher *teacher, const double *policy)
{
    return answer_error_gaussian(&teacher->gaussian, policy);
}

const struct teacher_mechanism teacher_gaussian_simplex = {.name = "gaussian_simplex",
                                                           .sensitivity = sensitivity,
                                                           .complete = complete,
                                                           .weaken = weaken,
                                                           .release = release,
                                                           .answer = answer,
                                                           .error_radius = error_radius,
                                                           .error = error};
