/* Least squares on first-visit returns. */
#include "bench/gp/private_returns.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "algos/nn/cholesky.h"

#define DIMENSION PRIVATE_RETURNS_MAX_DIMENSION

void private_returns_add(struct private_returns *r, size_t length, const uint32_t *place,
                         const double *reward)
{
    double after[PRIVATE_RETURNS_MAX_PLACES], value = 0.0;
    bool visited[PRIVATE_RETURNS_MAX_PLACES] = {false};
    for (size_t t = length; t-- > 0;) { /* the first visit's return is written last */
        assert(place[t] < r->places);
        value = reward[t] + r->discount * value;
        after[place[t]] = value;
        visited[place[t]] = true;
    }
    for (uint32_t s = 0; s < r->places; s++)
        if (visited[s]) {
            r->visits[s]++;
            r->sum[s] += after[s];
        }
}

void private_returns_lsw(const struct private_returns *r, double *out)
{
    memset(out, 0, r->dimension * sizeof *out);
    for (uint32_t s = 0; s < r->places; s++)
        for (uint32_t i = 0; i < r->dimension && r->visits[s] > 0; i++)
            out[i] += r->feature[s][i] * r->sum[s] / r->visits[s];
}

void private_returns_lsl(const struct private_returns *r, double ridge, double *out)
{
    double gram[DIMENSION * DIMENSION] = {0};
    uint32_t n = r->dimension;
    memset(out, 0, n * sizeof *out);
    for (uint32_t i = 0; i < n; i++)
        gram[i * n + i] = ridge / 2.0;
    for (uint32_t s = 0; s < r->places; s++)
        for (uint32_t i = 0; i < n; i++) {
            out[i] += r->feature[s][i] * r->sum[s];
            for (uint32_t j = 0; j < n; j++)
                gram[i * n + j] += r->feature[s][i] * r->feature[s][j] * r->visits[s];
        }
    cholesky_factor(gram, n);
    cholesky_solve(gram, n, out);
}

double private_returns_lsw_bound(const struct private_returns *r, double smoothness)
{
    uint32_t visits = 0;
    double most = 0.0;
    for (uint32_t s = 0; s < r->places; s++)
        visits = r->visits[s] > visits ? r->visits[s] : visits;
    for (uint32_t k = 0; k <= visits; k++) {
        double sum = 0.0;
        for (uint32_t s = 0; s < r->places; s++) {
            double left = fmax((double)r->visits[s] - k, 1.0);
            sum += 1.0 / (left * left);
        }
        most = fmax(most, exp(-smoothness * k) * sqrt(sum));
    }
    return r->bound * most;
}

double private_returns_lsl_bound(const struct private_returns *r, double ridge,
                                 uint32_t trajectories, double smoothness)
{
    double most = 0.0;
    for (uint32_t k = 0; k <= trajectories; k++) {
        double sum = 0.0;
        for (uint32_t s = 0; s < r->places; s++)
            sum += fmin((double)r->visits[s] + k, trajectories);
        most = fmax(most,
                    exp(-smoothness * k) * (sqrt(sum / (2.0 * ridge)) + sqrt((double)r->places)));
    }
    return 2.0 * r->bound / (ridge - 1.0) * most;
}

double private_returns_reward_bound(const struct private_returns *r)
{
    double rows = 0.0, visited = 0.0;
    for (uint32_t i = 0; i < r->dimension; i++) {
        double row = 0.0;
        for (uint32_t s = 0; s < r->places; s++)
            row += r->visits[s] > 0 ? fabs(r->feature[s][i]) : 0.0;
        rows += row * row;
    }
    for (uint32_t s = 0; s < r->places; s++)
        visited += r->visits[s] > 0;
    return sqrt(fmin(rows, visited)); /* each is a bound; columns are orthonormal */
}
