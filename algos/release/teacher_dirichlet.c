/* Teachers that answer with a draw of Dir(k p), p mixed to a least probability. */
#include <math.h>
#include <stddef.h>

#include "algos/release/teacher.h"

static double sensitivity(const struct teacher *teacher, double change)
{
    const struct dirichlet *d = &teacher->dirichlet;
    return (1.0 - teacher->actions * d->min_probability) * change;
}

static const char *complete(struct teacher *teacher, double certified)
{
    teacher->dirichlet.actions = teacher->actions;
    teacher->dirichlet.sensitivity = certified;
    return dirichlet_problem(&teacher->dirichlet);
}

static bool weaken(struct teacher *teacher, double concentration)
{
    if (!(concentration <= teacher->dirichlet.concentration))
        return false;
    teacher->dirichlet.concentration = concentration;
    return !dirichlet_problem(&teacher->dirichlet);
}

static struct filter_release release(const struct teacher *teacher)
{
    return filter_dirichlet(&teacher->dirichlet);
}

static bool answer(const struct teacher *teacher, struct noise_source *noise, double *p, double *z)
{
    dirichlet_mix(&teacher->dirichlet, p);
    return dirichlet_sample(&teacher->dirichlet, noise, p, z);
}

static double error_radius(const struct teacher *teacher, double beta)
{
    return dirichlet_error_radius(&teacher->dirichlet, beta);
}

static struct answer_error error(const struct teacher *teacher, const double *policy)
{
    return answer_error_dirichlet(&teacher->dirichlet, policy);
}

const struct teacher_mechanism teacher_dirichlet = {.name = "dirichlet",
                                                    .sensitivity = sensitivity,
                                                    .complete = complete,
                                                    .weaken = weaken,
                                                    .release = release,
                                                    .answer = answer,
                                                    .error_radius = error_radius,
                                                    .error = error};
