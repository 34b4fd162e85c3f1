#!/usr/bin/env python3
"""subsampled_gaussian.json, joint.json, max_steps.json and renyi.json: DP-SGD's steps.

The pair of laws is M = (1-q) N(0, s^2) + q N(1, s^2) against N(0, s^2) and back (Zhu, Dong, Wang 2022). One step, and
q = 1, are closed forms; many steps a line integral of the moment generating function (contour.py); the pairs of
joint.json join it with the moments of randomised response (Kairouz, Oh, Viswanath 2015). A number of steps is right
when it fits the budget and one more does not. renyi.json is a quadrature at 30 digits. The two-sided columns of
subsampled_gaussian.json were made with Google's dp_accounting 0.6.0 and a grid of our own: they are checked to enclose
the exact figure, rdp_epsilon to lie above it. Seen: 3e-7, 6e-12 of joint.json, 4e-13 of
renyi.json.
"""
import numpy as np
from mpmath import exp, log, mp, mpf, pi, quad, sqrt

from check import Check
from contour import Composed, gaussian_moment, points_moment, worse
from gaussian_law import epsilon_of


def once(q, s, delta):
    """One step in closed form: r above exp(E) where the mixture is above exp(x), E = ln(1 + (exp(x) - 1) / q)."""
    removed = 0.0 if delta >= q else float(log(1 + q * (exp(epsilon_of(1 / mpf(s), delta / mpf(q))) - 1)))
    return removed


check = Check("subsampled_gaussian.json")
for one in check.data["cases"]:
    q, s, n, delta = one["sampling_prob"], one["noise_multiplier"], one["steps"], one["delta"]
    want = one["epsilon_exact"]
    if q == 1:
        got = epsilon_of(sqrt(mpf(n)) / mpf(s), mpf(delta))
    elif n == 1:
        got = once(q, s, delta)
    else:
        got = worse(lambda add: Composed([(gaussian_moment(q, s, add), n)]), delta)
    check.close("epsilon_exact", want, got, 1e-6)
    check.true("enclosed", one["epsilon_optimistic"] <= want * (1 + 1e-9) and
               want <= one["epsilon_pessimistic"] * (1 + 1e-9) and want <= one["rdp_epsilon"], one["id"])
check.end()

check = Check("joint.json")
for one in check.data["cases"]:
    q, s = one["batch"] / one["experts"], one["noise_multiplier"]
    told = -np.expm1(one["pairs"] * np.log1p(-one["pair_delta"]))
    parts = (points_moment(one["pair_epsilon"], one["pair_delta"]), one["pairs"])
    got = worse(lambda add: Composed([(gaussian_moment(q, s, add), one["steps"]), parts], told), one["delta"])
    check.close("epsilon", one["epsilon"], got, 1e-7)
check.end()

check = Check("max_steps.json")
for one in check.data["cases"]:
    q, s, n = one["batch"] / one["experts"], one["noise_multiplier"], one["max_steps"]
    costs = [worse(lambda add: Composed([(gaussian_moment(q, s, add), steps)]), one["delta"]) for steps in (n, n + 1)]
    check.true("max_steps", costs[0] <= one["epsilon"] * (1 + 1e-9) and costs[1] > one["epsilon"] * (1 - 1e-9), costs)
check.end()

mp.dps = 30
check = Check("renyi.json")
for one in check.data["rdp_poisson_subsampled_gaussian"]:
    q, s, a = mpf(one["q"]), mpf(one["noise_multiplier"]), mpf(one["order"])

    def integrand(x):
        ratio = 1 - q + q * exp((2 * x - 1) / (2 * s * s))
        return ratio**a * exp(-x * x / (2 * s * s)) / sqrt(2 * pi) / s

    pieces = [k * s / 2 for k in range(-30, 31)] + [a + k * s / 2 for k in range(-30, 31)]
    value = quad(integrand, sorted(set(pieces)))
    check.close("rdp", one["rdp"], log(value) / (a - 1), 1e-12)
check.end()
