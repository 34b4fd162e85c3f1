/* The two mechanisms of teachers. Dirichlet answers with a draw of Dir(k p), where p is mixed to a
 * least probability (algos/privacy/laws/dirichlet.h). The Gaussian one adds normal noise and
 * projects onto the simplex (algos/privacy/answers/gaussian_simplex.h). */
#include "algos/release/teacher_mechanism.h"

#include <stddef.h>
#include <string.h>

#include "algos/release/teacher.h"

static double dirichlet_teacher_sensitivity(const struct teacher *teacher, double change)
{
    return (1.0 - teacher->actions * teacher->dirichlet.min_probability) * change;
}

static const char *dirichlet_teacher_complete(struct teacher *teacher, double sensitivity)
{
    teacher->dirichlet.actions = teacher->actions;
    teacher->dirichlet.sensitivity = sensitivity;
    return dirichlet_problem(&teacher->dirichlet);
}

static bool dirichlet_teacher_weaken(struct teacher *teacher, double concentration)
{
    if (!(concentration <= teacher->dirichlet.concentration))
        return false;
    teacher->dirichlet.concentration = concentration;
    return !dirichlet_problem(&teacher->dirichlet);
}

static struct filter_release dirichlet_teacher_release(const struct teacher *teacher)
{
    return filter_dirichlet(&teacher->dirichlet);
}

static bool dirichlet_teacher_answer(const struct teacher *teacher, struct noise_source *noise,
                                     double *p, double *z)
{
    dirichlet_mix(&teacher->dirichlet, p);
    return dirichlet_sample(&teacher->dirichlet, noise, p, z);
}

static double dirichlet_teacher_radius(const struct teacher *teacher, double beta)
{
    return dirichlet_error_radius(&teacher->dirichlet, beta);
}

static struct answer_error dirichlet_teacher_error(const struct teacher *teacher,
                                                   const double *policy)
{
    return answer_error_dirichlet(&teacher->dirichlet, policy);
}

const struct teacher_mechanism teacher_dirichlet = {.name = "dirichlet",
                                                    .sensitivity = dirichlet_teacher_sensitivity,
                                                    .complete = dirichlet_teacher_complete,
                                                    .weaken = dirichlet_teacher_weaken,
                                                    .release = dirichlet_teacher_release,
                                                    .answer = dirichlet_teacher_answer,
                                                    .error_radius = dirichlet_teacher_radius,
                                                    .error = dirichlet_teacher_error};

static double gaussian_teacher_sensitivity(const struct teacher *teacher, double change)
{
    (void)teacher;
    return change;
}

static const char *gaussian_teacher_complete(struct teacher *teacher, double sensitivity)
{
    teacher->gaussian.actions = teacher->actions;
    teacher->gaussian.sensitivity = sensitivity;
    return gaussian_simplex_problem(&teacher->gaussian);
}

static bool gaussian_teacher_weaken(struct teacher *teacher, double concentration)
{
    (void)teacher;
    return concentration == 0.0;
}

static struct filter_release gaussian_teacher_release(const struct teacher *teacher)
{
    return filter_gaussian_simplex(&teacher->gaussian);
}

static bool gaussian_teacher_answer(const struct teacher *teacher, struct noise_source *noise,
                                    double *p, double *z)
{
    return gaussian_simplex_sample(&teacher->gaussian, noise, p, z);
}

static double gaussian_teacher_radius(const struct teacher *teacher, double beta)
{
    return gaussian_simplex_error_radius(&teacher->gaussian, beta);
}

static struct answer_error gaussian_teacher_error(const struct teacher *teacher,
                                                  const double *policy)
{
    return answer_error_gaussian(&teacher->gaussian, policy);
}

const struct teacher_mechanism teacher_gaussian_simplex = {.name = "gaussian_simplex",
                                                           .sensitivity =
                                                               gaussian_teacher_sensitivity,
                                                           .complete = gaussian_teacher_complete,
                                                           .weaken = gaussian_teacher_weaken,
                                                           .release = gaussian_teacher_release,
                                                           .answer = gaussian_teacher_answer,
                                                           .error_radius = gaussian_teacher_radius,
                                                           .error = gaussian_teacher_error};

static const struct teacher_mechanism *const mechanisms[] = {&teacher_dirichlet,
                                                             &teacher_gaussian_simplex};

const struct teacher_mechanism *teacher_mechanism_at(size_t i)
{
    return i < sizeof mechanisms / sizeof mechanisms[0] ? mechanisms[i] : NULL;
}

const struct teacher_mechanism *teacher_mechanism_find(const char *name)
{
    const struct teacher_mechanism *mechanism;
    for (size_t i = 0; (mechanism = teacher_mechanism_at(i)); i++)
        if (strcmp(name, mechanism->name) == 0)
            return mechanism;
    return NULL;
}
