#!/usr/bin/env python3
"""gaussian_process.json: the process of kernel sigma^2 exp(-beta |x - y|), by mpmath at 50 digits.

ou_bridge: the conditional normal law of the value at x, by the inverse of the neighbours' covariance. analytic_gaussian:
the greatest mu with delta(eps) <= delta (Balle and Wang 2018, Theorem 8); gdp_delta its delta. class_diameter_sigma: S =
(2V/M) sqrt(m (1 + L/V)) at beta = L/V, sigma = S/mu (docs/proofs/gaussian_process.md). rkhs_norm: (f(0)^2 + f(1)^2)/2 + (1/(2 beta))
Int f'^2 + beta^2 f^2 by quadrature. The dyadic paths are the definition of gaussian_path.py for given normals.
"""
from mpmath import cos, exp, log, matrix, mp, mpf, quad, sin, sqrt

from check import Check
from gaussian_law import delta_of, root

mp.dps = 50
check = Check("gaussian_process.json")
for one in check.data["ou_bridge"]:
    beta, sigma, x = mpf(one["beta"]), mpf(one["sigma"]), mpf(one["x"])
    known = [[mpf(y) for y in side] for side in (one["left"], one["right"]) if side]
    if not known:
        check.close("bridge", one["mean"], 0, 1e-13)
        check.close("bridge", one["variance"], sigma**2, 1e-13)
        continue
    kernel = lambda a, b: sigma**2 * exp(-beta * abs(a - b))
    inside = matrix([[kernel(a[0], b[0]) for b in known] for a in known])
    across = matrix([kernel(x, a[0]) for a in known])
    weight = inside**-1 * across
    check.close("bridge", one["mean"], sum(w * a[1] for w, a in zip(weight, known)), 1e-12)
    check.close("bridge", one["variance"], kernel(x, x) - sum(w * c for w, c in zip(weight, across)), 1e-12)


def mu_of(epsilon, delta):
    return exp(-root(lambda x: delta_of(exp(-x), epsilon) - delta, mpf(-10), mpf(25)))


for one in check.data["analytic_gaussian"]:
    mu = mu_of(mpf(one["eps"]), mpf(one["delta"]))
    check.close("mu", one["mu_max"], mu, 1e-12)
    check.close("mu", one["sigma_for_sensitivity_1"], 1 / mu, 1e-12)
for one in check.data["gdp_delta"]:
    check.close("delta", one["delta"], delta_of(mpf(one["mu"]), mpf(one["eps"])), 1e-12)
for one in check.data["class_diameter_sigma"]:
    v, slope, shards, actions = (mpf(one[key]) for key in ("V", "Lipschitz", "shards", "actions"))
    sensitivity = 2 * v / shards * sqrt(actions * (1 + slope / v))
    check.close("class", one["sensitivity_H"], sensitivity, 1e-12)
    check.close("class", one["sigma"], sensitivity / mu_of(mpf(one["eps"]), mpf(one["delta"])), 1e-12)
for one in check.data["rkhs_norm"]:
    beta = mpf(one["beta"])
    f, slope = lambda x: sin(3 * x) + mpf("0.3"), lambda x: 3 * cos(3 * x)
    norm = (f(0)**2 + f(1)**2) / 2 + quad(lambda x: slope(x)**2 + beta**2 * f(x)**2, [0, 1]) / (2 * beta)
    check.close("norm", one["rkhs_norm_sq"], norm, 1e-12)
check.end()
