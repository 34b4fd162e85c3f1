#!/usr/bin/env python3
"""beta_binomial.json, by mpmath: ln (P(n) / P(from)) of the beta-binomial law, from ln Gamma with 80 digits."""
from mpmath import loggamma, mp, mpf

from check import Check

mp.dps = 80


def log_chance(trials, a, b, n):
    return loggamma(n + a) - loggamma(n + 1) + loggamma(trials - n + b) - loggamma(trials - n + 1)


if __name__ == "__main__":
    check = Check("beta_binomial.json")
    for one in check.data["differences"]:
        trials, a, b, n, start = (mpf(one[key]) for key in ("trials", "a", "b", "n", "from"))
        check.close("differences", one["value"], log_chance(trials, a, b, n) - log_chance(trials, a, b, start), 1e-15)
    check.end()
