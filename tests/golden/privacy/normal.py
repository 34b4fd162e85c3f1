#!/usr/bin/env python3
"""normal_quantile.json, by mpmath.

normal_quantile: the root of ln Phi(x) = ln((2 word + 1) 2^-65), mirrored for words whose first bit is set; value + rest is
x, to 1e-30.
"""
from mpmath import erfc, findroot, log, mp, mpf, sqrt

from check import Check

mp.dps = 60
check = Check("normal_quantile.json")
for one in check.data["normal_from_word"]:
    word = int(one["word"])
    p = mpf(2 * (word & (2**63 - 1)) + 1) / mpf(2)**65
    near = -sqrt(-2 * log(p)) if p < mpf("0.01") else mpf(-0.5)
    x = findroot(lambda t: log(erfc(-t / sqrt(2)) / 2) - log(p), near)
    x = -x if word >> 63 else x
    check.close("quantile", 1.0, (mpf(one["value"]) + mpf(one["rest"])) / x, 1e-30)
check.end()
