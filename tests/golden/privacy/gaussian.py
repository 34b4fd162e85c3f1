#!/usr/bin/env python3
"""gaussian.json: the analytic Gaussian mechanism (Balle and Wang 2018, Theorem 8) at 50 digits.

delta(epsilon) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu), mu = 1/sigma; a composition of Gaussians is
one with mu^2 = sum of times/sigma^2. Sigma and epsilon are its roots, by bisection. Seen: 1e-15.
"""
from mpmath import exp, mp, mpf, sqrt

from check import Check
from gaussian_law import delta_of, epsilon_of, root

mp.dps = 50


check = Check("gaussian.json")
for one in check.data["sigma_for_eps_delta"]:
    epsilon, delta = mpf(one["epsilon"]), mpf(one["delta"])
    log_sigma = root(lambda x: delta_of(exp(-x), epsilon) - delta, mpf(-10), mpf(20))
    check.close("sigma", one["sigma"], exp(log_sigma), 1e-14)
for one in check.data["eps_for_sigma_delta"]:
    check.close("epsilon", one["epsilon"], epsilon_of(1 / mpf(one["sigma"]), mpf(one["delta"])), 1e-13)
for one in check.data["composition"]:
    mu = sqrt(sum(run["times"] / mpf(run["noise_multiplier"])**2 for run in one["noise"]))
    check.close("mu", one["mu"], mu, 1e-14)
    for at in one["at"]:
        if next(iter(at)) == "epsilon":  # given; delta was computed
            check.close("composed delta", at["delta"], delta_of(mu, mpf(at["epsilon"])), 1e-13)
        else:
            check.close("composed epsilon", at["epsilon"], epsilon_of(mu, mpf(at["delta"])), 1e-13)
for one in check.data["delta"]:
    check.close("delta", one["delta"], delta_of(mpf(one["mu"]), mpf(one["epsilon"])), 1e-13)
check.end()
