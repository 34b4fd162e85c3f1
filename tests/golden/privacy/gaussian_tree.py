#!/usr/bin/env python3
"""Noise of coordinates of a path by its definition, independently of the C code: writes gaussian_tree.json.

Words: HChaCha20 of (number, 0) turns the release's key into the path's; word k of the point i is word k mod 8 of block 0
of ChaCha20 under the nonce i + 2^32 (k div 8). From these, Karney's Algorithm N of 2016 with fractions: the integer
nearest to scale (k + x) / 2^20.
"""
import random
import struct
from fractions import Fraction

from check import dump
from gaussian_path import block, hand_down


class Words:
    def __init__(self, key, number, point):
        self.key, self.point, self.taken = hand_down(key, number, 0), point, 0

    def word(self):
        at, self.taken = self.taken, self.taken + 1
        return struct.unpack("<8Q", block(self.key, self.point | (at // 8) << 32))[at % 8]

    def below(self, n):
        while True:
            product = (self.word() >> 32) * n
            if product % 2**32 >= 2**32 % n:
                return product >> 32


class Lazy:
    """A uniform number whose base 2^64 digits are drawn as they are looked at, 32 at most."""

    def __init__(self, words):
        self.words, self.digits = words, []

    def digit(self, place):
        while len(self.digits) <= place:
            self.digits.append(self.words.word())
        return self.digits[place]

    def less(self, other):
        for place in range(32):
            mine, its = self.digit(place), other.digit(place)
            if mine != its:
                return mine < its
        return False


def half_exponential(words):
    last = Lazy(words)
    if last.digit(0) >= 2**63:
        return True
    length = 1
    while True:
        after = Lazy(words)
        if not after.less(last):
            return length % 2 == 0
        last, length = after, length + 1


def step_coin(words, k, x):
    last, length = x, 0
    while True:
        after, part = Lazy(words), Lazy(words)
        if not after.less(last):
            return length % 2 == 0
        side = words.below(2 * k + 2)
        if side == 2 * k + 1 or (side == 2 * k and not part.less(x)):
            return length % 2 == 0
        last, length = after, length + 1


def whole_part(words):
    while True:
        k = 0
        while half_exponential(words):
            k += 1
        if all(half_exponential(words) for _ in range(k * (k - 1))):
            return k


def gaussian(words, scale):
    while True:
        k, x = whole_part(words), Lazy(words)
        if all(step_coin(words, k, x) for _ in range(k + 1)):
            break
    # The integer that the digits drawn so far decide, one more at a time.
    place = 0
    while True:
        x.digit(place)
        low = sum(Fraction(d, 2**(64 * (i + 1))) for i, d in enumerate(x.digits[:place + 1]))
        ends = [Fraction(scale, 2**20) * (k + low), Fraction(scale, 2**20) * (k + low + Fraction(1, 2**(64 * (place + 1))))]
        first, last = (end + Fraction(1, 2) for end in ends)
        if first.__floor__() == last.__floor__() or last.denominator == 1:
            break
        place += 1
    size = first.__floor__()
    return -size if words.word() >> 63 else size


def main():
    source, cases = random.Random(20), []
    for scale in (1, 2**20 + 12345, 2**51 + 2**40 + 7):
        key = bytes(source.randrange(256) for _ in range(32))
        noises = []
        for number, point in [(0, 0), (1, 0), (0, 1), (3, 2**24)] + [(source.randrange(16), source.randrange(2**24 + 1)) for _ in range(36)]:
            words = Words(key, number, point)
            noises.append({"number": number, "point": point, "noise": gaussian(words, scale), "words": words.taken})
        cases.append({"key": list(key), "scale": scale, "noises": noises})
    dump("gaussian_tree.json", {"source": "gaussian_tree.py beside this file", "cases": cases})


if __name__ == "__main__":
    main()
