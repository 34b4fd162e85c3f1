#!/usr/bin/env python3
"""normal_quantile.json and rounded_gaussian.json, by mpmath.

normal_quantile: the root of ln Phi(x) = ln((2 word + 1) 2^-65), mirrored for words whose first bit is set; value + rest is
x, to 1e-30. rounded_gaussian: P(|R| >= k) = erfc((k - 1/2) / (4096 sqrt 2)) and the cell between two of them, in units of
2^-127, rounded down, at 600 bits: the same hexadecimal digits.
"""
from mpmath import erfc, findroot, floor, log, mp, mpf, sqrt

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

mp.prec = 600
check = Check("rounded_gaussian.json")


def tail(size):
    return erfc((size - mpf(1) / 2) / (4096 * sqrt(mpf(2))))


def units(mass):
    return format(int(floor(mass * mpf(2)**127)), "032x")


check.true("zero", units(1 - tail(1)) == check.data["zero"], "cell 0")
for one in check.data["rows"]:
    k = one["size"]
    check.true("tails", units(tail(k)) == one["tail"], k)
    check.true("cells", units(tail(k) - tail(k + 1)) == one["cell"], k)
check.end()
