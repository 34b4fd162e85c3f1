/* Audits of local reports: two opposite vectors as long as the clip allows; the server sees one
 * report. "Half the noise" is a report at twice the epsilon. */
#include <criterion/criterion.h>

#include "algos/privacy/local/local_mechanism.h"
#include "tests/statistical/audit.h"

enum { MAX_DIMENSIONS = 8 };

/* The estimate along the vector: of all four mechanisms the likelihood of a report, and of its
 * public seed with it, rises with this. */
static double report_along(const void *mechanism, bool with, struct noise_source *noise)
{
    const struct local_scheme *scheme = mechanism;
    double vector[MAX_DIMENSIONS] = {0}, estimate[MAX_DIMENSIONS];
    unsigned char seed[LOCAL_SEED_SIZE];
    int64_t report[MAX_DIMENSIONS + 1];
    cr_assert(scheme->parameters.dimension <= MAX_DIMENSIONS);
    vector[0] = with ? 10.0 * scheme->parameters.clip : -10.0 * scheme->parameters.clip;
    for (int i = 0; i < LOCAL_SEED_SIZE; i++)
        seed[i] = (unsigned char)noise_below(noise, 256);
    cr_assert_eq(scheme->mechanism->randomise(scheme, seed, vector, noise, report), LOCAL_OK);
    cr_assert_eq(scheme->mechanism->decode(scheme, seed, report, estimate), LOCAL_OK);
    return estimate[0];
}

static struct local_scheme scheme_of(const struct local_mechanism *mechanism, uint32_t dimension,
                                     double epsilon)
{
    const struct local_parameters parameters = {
        .dimension = dimension, .epsilon = epsilon, .clip = 0.5};
    struct local_scheme scheme;
    const char *problem = local_scheme_make(mechanism, &parameters, &scheme);
    cr_assert_null(problem, "%s", problem);
    return scheme;
}

static void audit_reports(enum audit_name name, const char *title,
                          const struct local_mechanism *mechanism, uint32_t dimension,
                          double epsilon, uint32_t samples)
{
    const struct local_scheme claimed = scheme_of(mechanism, dimension, epsilon);
    const struct local_scheme halved = scheme_of(mechanism, dimension, 2.0 * epsilon);
    const struct audit audit = {.name = name,
                                .title = title,
                                .epsilon = claimed.epsilon,
                                .samples = samples,
                                .statistic = report_along};
    audit_holds(&audit, &claimed);
    audit_exceeds(&audit, &halved, "twice the epsilon");
}

Test(audit, privunit)
{
    audit_reports(AUDIT_PRIVUNIT, "privunit", &local_privunit, 6, 2.0, 15000);
}

Test(audit, half_sphere)
{
    audit_reports(AUDIT_HALF_SPHERE, "half sphere", &local_half_sphere, 6, 1.0, 15000);
}

Test(audit, local_laplace)
{
    audit_reports(AUDIT_LOCAL_LAPLACE, "local laplace", &local_laplace, 3, 1.0, 20000);
}

Test(audit, projected_sign)
{
    audit_reports(AUDIT_PROJECTED_SIGN, "projected sign", &local_projected_sign, 3, 2.0, 30000);
}
