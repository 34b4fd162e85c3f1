#!/usr/bin/env python3
"""svt_thresholds.json: thresholds of stable prefixes (docs/proofs/stable_prefixes.md), by mpmath at 40 digits.

paper: eps' = eps1 / sqrt(32 T ln(2/delta1)). kov: 2 eps' is the greatest epsilon of which T runs with delta1/(2T) each fit,
by optimal composition (Kairouz, Oh, Viswanath 2015, Thm 3.3). The threshold's noise has scale 2/eps', a query's 4/eps', or
2/eps' for monotone counts. delta' = delta1/(2 T L), or delta1/(2 T) without L. c_min = 1/(1 - exp(-eps')), theta =
c_min/pmin. The offset is ln(1/delta') query scales, or the delta'-quantile of the two noises' difference. Variant v, whose
splits were searched for, is checked only for what follows from its scales. Seen: 6e-12.
"""
from mpmath import exp, floor, log, mp, mpf, sqrt

from check import Check
from gaussian_law import root
from pairs_law import optimal_delta

mp.dps = 40
check = Check("svt_thresholds.json")
pmin = mpf(check.data["pmin"])


def run_epsilon(total, delta, runs):
    each = delta / (2 * runs)
    return root(lambda e: delta - optimal_delta(e, each, runs, total), mpf(0), total, 60)


def tail(a, b, t):
    """P(X - Y > t) of independent Laplace laws of scales A and B."""
    if abs(a / b - 1) < mpf(10)**-10:
        return exp(-t / a) * (mpf(1) / 2 + t / (4 * a))
    return (a * a * exp(-t / a) - b * b * exp(-t / b)) / (2 * (a * a - b * b))


for row in check.data["rows"]:
    total, delta, runs, length = mpf(row["eps1"]), mpf(row["delta1"]), row["T"], row["L"]
    kov = run_epsilon(total, delta, runs) / 2
    for name, one in row["variants"].items():
        searched = name.startswith("v_")
        epsilon = kov if name.startswith("i") and not name.startswith("iv_b") else total / sqrt(32 * runs * log(2 / delta))
        epsilon = mpf(one["eps_event"]) if searched else epsilon
        small = delta / (2 * runs * (1 if name.startswith("iv") else length))
        small = mpf(one["delta_prime"]) if searched else small
        monotone = name.startswith("iii") or name.startswith("iv_iii")
        threshold = mpf(one["threshold_noise_scale"]) if searched else 2 / epsilon
        query = mpf(one["query_noise_scale"]) if searched else (2 if monotone else 4) / epsilon
        theta = 1 / (1 - exp(-epsilon)) / pmin
        if name in ("paper", "i_kov", "iv_b_paper_without_L_only"):
            offset = query * log(1 / small)
        else:
            offset = root(lambda t: tail(query, threshold, t) - small, mpf(0), 100 * query, 70)
        for key, got in (("eps_event", epsilon), ("threshold_noise_scale", threshold), ("query_noise_scale", query),
                         ("delta_prime", small), ("theta", theta), ("offset", offset),
                         ("mean_threshold", theta + offset)):
            check.close(key, one[key], got, 1e-8)
        agreed, share = 1 - (row["actions"] - 1) * pmin, (theta + offset) / check.data["m"]
        prefix = int(floor(log(share) / log(agreed))) if share <= agreed else 0
        check.true("prefix", prefix == max(0, one["unanimous_prefix_length"]), (name, prefix, one["unanimous_prefix_length"]))
check.end()
