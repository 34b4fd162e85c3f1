#!/usr/bin/env python3
"""Values of the stateless path by its definition, independently of the C code: writes gaussian_path.json.

HChaCha20 and ChaCha20 from RFC 8439 (the nonce and counter of the original form, 64 bits each), normals by root finding
with mpmath at 50 digits, bisection by its recursion rather than by coefficients.
"""
import random
import struct
from itertools import product

from mpmath import cosh, erfc, exp, expm1, findroot, log, mp, mpf, sqrt, tanh

from check import dump

mp.dps = 50


def quarter(s, a, b, c, d):
    for x, y, z, bits in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
        s[x] = (s[x] + s[y]) & 0xFFFFFFFF
        s[z] ^= s[x]
        s[z] = ((s[z] << bits) | (s[z] >> (32 - bits))) & 0xFFFFFFFF


def permuted(key, tail):
    start = list(struct.unpack("<16I", b"expand 32-byte k" + key + tail))
    s = start[:]
    for _ in range(10):
        for turn in ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
                     (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)):
            quarter(s, *turn)
    return start, s


def hand_down(key, first, second):
    _, s = permuted(key, struct.pack("<QQ", first % 2**64, second))
    return struct.pack("<8I", *(s[:4] + s[12:]))


def block(key, nonce):
    start, s = permuted(key, struct.pack("<QQ", 0, nonce))
    return struct.pack("<16I", *((x + y) & 0xFFFFFFFF for x, y in zip(start, s)))


def normal(word):
    p = mpf(2 * (word & (2**63 - 1)) + 1) / mpf(2)**65
    near = -sqrt(-2 * log(p)) if p < mpf("0.01") else mpf(-0.5)
    x = findroot(lambda t: log(erfc(-t / sqrt(2)) / 2) - log(p), near)
    return -x if word >> 63 else x


def place(level, index):
    if level < 0:
        return 0, index
    below = level % 3
    return 2**(level - below) + (index >> below), 2**below + (index & (2**below - 1))


def node_normal(key, number, nodes):
    key = hand_down(key, len(nodes), number)
    for level, index in nodes[:-1]:
        key = hand_down(key, level, index)
    tree, slot = place(*nodes[-1])
    return normal(struct.unpack("<8Q", block(key, tree))[slot])


def combination(beta, bits, index):
    """{node: coefficient} of the value at index / 2^bits, by the recursion from the ends."""
    left = {(-1, 0): mpf(1)}
    right = {(-1, 0): exp(-beta), (-1, 1): sqrt(-expm1(-2 * beta))}
    low, high, level = 0, 2**bits, 0
    while index not in (low, high):
        middle, half = (low + high) // 2, beta / mpf(2)**(level + 1)
        here = {k: (left.get(k, 0) + right.get(k, 0)) / (2 * cosh(half)) for k in {**left, **right}}
        here[(level, low >> (bits - level))] = sqrt(tanh(half))
        if index >= middle:
            low, left = middle, here
        else:
            high, right = middle, here
        level += 1
    return left if index == low else right


def value(case, number, point):
    axes = [combination(mpf(case["beta"]), case["bits"], i).items() for i in point]
    total = mpf(0)
    for chosen in product(*axes):
        weight = mpf(1)
        for _, coefficient in chosen:
            weight *= coefficient
        total += weight * node_normal(bytes(case["key"]), number, [node for node, _ in chosen])
    return total * mpf(case["sigma"])


def main():
    random.seed(11)
    cases = []
    for beta, sigma, bits, dimensions in ((1.75, 0.8125, 3, 1), (5.0, 1.0, 24, 1), (0.001, 3.0, 20, 1), (4000.0, 0.25, 16, 1),
                                          (2.5, 1.5, 5, 2), (1.0, 1.0, 2, 3)):
        case = {"beta": beta, "sigma": sigma, "bits": bits, "dimensions": dimensions,
                "key": [random.randrange(256) for _ in range(32)], "values": []}
        corners = [[0] * dimensions, [2**bits] * dimensions, [1] * dimensions, [2**bits - 1] * dimensions]
        points = corners + [[random.randrange(2**bits + 1) for _ in range(dimensions)] for _ in range(4)]
        for i, point in enumerate(points):
            v = value(case, i % 3, point)
            case["values"].append({"number": i % 3, "point": point, "value": float(v), "rest": float(v - mpf(float(v)))})
        cases.append(case)
    note = "gaussian_path.py beside this file; value + rest is the path's value before it is rounded to the grid"
    dump("gaussian_path.json", {"source": note, "cases": cases})


if __name__ == "__main__":
    main()
