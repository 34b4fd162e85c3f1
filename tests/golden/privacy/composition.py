#!/usr/bin/env python3
"""composition.json: compositions of (epsilon, delta) pairs, randomised response and Laplace.

basic: epsilons and deltas add up (Dwork and Roth 2014, Thm 3.16). advanced: sqrt(2 k ln(1/d')) e + k e (exp(e) - 1)
with d' = what the deltas leave (Thm 3.20). optimal: Kairouz, Oh, Viswanath 2015, Thm 3.3, as the sum over the k + 1
losses (2i - k) e of randomised response, at 40 digits. response: the same with delta 0. laplace: one run in closed form,
many by a fine grid, where the file has an exact figure. inverse: the epsilon of each run with delta/(2k)
each that exhausts the total. Seen: 1e-14, Laplace 4e-7.
"""
import numpy as np
from mpmath import expm1, log, log1p, mp, mpf, sqrt

from check import Check
from pairs_law import law, optimal_delta, optimal_epsilon

mp.dps = 40


def advanced_epsilon(e, d, k, at):
    slack = at - k * d  # decimals that add up leave nothing
    return sqrt(2 * k * log(1 / slack)) * e + k * e * expm1(e) if slack > at * mpf(10)**-12 else None


def least(cost, target, high):
    """The epsilon at which COST, growing, is TARGET."""
    low = mpf(0)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if cost(middle) > target else (middle, high)
    return low


def laplace_epsilon(e, k, at):
    """K Laplace releases of loss E: one in closed form, more by a fine grid whose cells keep their mass and mean."""
    if k == 1:  # losses e, -e, and between them of density exp((l - e) / 2) / 4
        return max(0.0, float(e + 2 * log1p(-mpf(at))))
    half = 400
    edge = np.linspace(-e, e, 2 * half + 1)
    end = 0.5 * np.exp((edge - e) / 2)
    mass = np.diff(end)
    mean = np.diff(end * (edge - 2))
    share = (mean / mass - edge[:-1]) / (edge[1] - edge[0])
    one = np.append(mass * (1 - share), 0.0) + np.append(0.0, mass * share)
    one[0] += 0.5 * np.exp(-e)
    one[-1] += 0.5
    size = 1 << (2 * half * k).bit_length()
    many = np.fft.irfft(np.fft.rfft(one, size)**k, size)[:2 * half * k + 1]
    loss = (np.arange(2 * half * k + 1) - half * k) * (edge[1] - edge[0])
    low, high = 0.0, k * e
    for _ in range(50):
        middle = (low + high) / 2
        above = loss > middle
        delta = np.sum(many[above] * -np.expm1(middle - loss[above]))
        low, high = (middle, high) if delta > at else (low, middle)
    return high


check = Check("composition.json")
for one in check.data["pairs"]:
    e, d, k, at = mpf(one["epsilon"]), mpf(one["delta"]), one["times"], mpf(one["at"])
    check.close("basic", one["basic"], k * e, 1e-14)
    advanced = advanced_epsilon(e, d, k, at)
    if one["advanced"] is None:
        check.true("advanced", advanced is None, one)
    else:
        check.close("advanced", one["advanced"], advanced, 1e-13)
    if one["optimal"] is None:
        check.true("optimal", law(e, d, k)[1] > at * (1 - mpf(10)**-12), one)
    else:
        check.close("optimal", one["optimal"], optimal_epsilon(e, d, k, at), 1e-9)
for one in check.data["response"]:
    check.close("response", one["exact"], optimal_epsilon(mpf(one["epsilon"]), mpf(0), one["times"], mpf(one["at"])), 1e-11)
for one in check.data["laplace"]:
    if one["exact"] is None:
        continue
    check.close("laplace", one["exact"], laplace_epsilon(one["epsilon"], one["times"], one["at"]), 1e-4)
for one in check.data["inverse"]:
    k, d, total = one["times"], mpf(one["delta_each"]), mpf(one["delta_total"])
    budget = mpf(one["epsilon_total"])
    e = mpf(one["epsilon_optimal"])
    check.close("inverse optimal", float(total), optimal_delta(e, d, k, budget), 1e-6)
    check.close("inverse advanced", one["epsilon_advanced"],
                least(lambda x: advanced_epsilon(x, d, k, total), budget, budget), 1e-9)
check.end()
