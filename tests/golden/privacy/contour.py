"""Exact delta and epsilon of composed privacy losses, for the programs beside the golden files.

With K(z) = ln E exp(z L), L the composed loss, delta(e) = (1/pi) Int_0^inf Re[exp(K(z) - z e) / (z (z + 1))] dt on
z = c + it, any c > 0 (the saddle point is taken). The sum by trapezoids converges exponentially. A sampled Gaussian's
moments are sums by trapezoids over its output. Double precision with numpy: ten digits or so.
"""
import numpy as np


def gaussian_moment(q, s, add):
    """z[n] -> ln E exp(z L) of one step at rate Q, noise multiplier S; the unit is ADDed, else removed."""
    x = np.arange(-14.0, 14.0 + 30.0 / s, 0.02 * min(1.0, s))
    u = x / s - 0.5 / s**2
    ratio = q * np.expm1(np.minimum(u, 300.0))  # E ratio = 0
    loss = np.log1p(ratio)
    log_weight = -0.5 * x * x + np.log((x[1] - x[0]) / np.sqrt(2 * np.pi))
    weight = np.exp(log_weight)
    drift = np.sum(weight * (loss - ratio))

    def one(z):
        power = -z if add else z + 1
        w = power * loss
        if np.max(w.real) < 40.0:
            return np.log1p(np.sum(weight * (np.expm1(w) - w)) + power * drift)
        top = np.max(w.real + log_weight)
        return top + np.log(np.sum(np.exp(w + log_weight - top)))

    return lambda z: np.array([one(each) for each in z])


def points_moment(loss, infinite):
    """Of a pair or of randomised response: exp(loss) against 1, and INFINITE mass of no finite loss."""
    def moment(z):
        e = np.exp(-loss)
        return np.log((np.exp(z * loss) + np.exp(-(z + 1) * loss)) / (1 + e)) + np.log1p(-infinite)

    return moment


class Composed:
    """PARTS: (moment, times) of each."""

    def __init__(self, parts, infinite=0.0):
        self.parts, self.infinite, self.lines = parts, infinite, {}

    def cumulant(self, z):
        return sum(times * moment(z) for moment, times in self.parts)

    def saddle(self, goal):
        """The c that is least for GOAL(c, K(c)), on a grid of ln c that zooms in."""
        low, high = -12.0, 9.0
        for _ in range(4):
            grid = np.linspace(low, high, 43)
            c = np.exp(grid)
            with np.errstate(all="ignore"):
                k = np.array([self.cumulant(np.array([one + 0j]))[0].real for one in c])
                value = goal(c, k - np.log(c) - np.log1p(c))
            best = int(np.nanargmin(np.where(np.isfinite(value), value, np.nan)))
            low, high = grid[max(0, best - 1)], grid[min(42, best + 1)]
        return c[best]

    def line(self, c):
        """K on the line through C, until the integrand is 1e-18 of its top."""
        top = self.cumulant(np.array([c + 0j]))[0].real - np.log(c * (c + 1))
        d = 1e-3 * c
        near = [self.cumulant(np.array([one + 0j]))[0].real - np.log(one * (one + 1)) for one in (c - d, c, c + d)]
        curve = max((near[0] + near[2] - 2 * near[1]) / d**2, 1e-300)
        step = min(0.25 / np.sqrt(curve), 0.15 * c)
        t, k = np.empty(0), np.empty(0, complex)
        while True:
            more = step * (len(t) + np.arange(64))
            z = c + 1j * more
            new = self.cumulant(z)
            t, k = np.append(t, more), np.append(k, new)
            size = new.real - np.log(np.abs(z * (z + 1)))
            if np.max(size) < top - 42 or len(t) > 200000:
                return step, t, k

    def delta(self, epsilon, c=None):
        if c is None:
            c = self.saddle(lambda c, k: k - c * epsilon)
        if c not in self.lines:
            self.lines[c] = self.line(c)
        step, t, k = self.lines[c]
        z = c + 1j * t
        term = np.exp(k - z * epsilon) / (z * (z + 1))
        return self.infinite + step / np.pi * (np.sum(term.real) - 0.5 * term[0].real)

    def epsilon(self, delta):
        target = np.log(delta - self.infinite)
        c = self.saddle(lambda c, k: (k - target) / c)
        low, high = 0.0, 1.0
        while self.delta(high, c) > delta:
            high *= 2
        for _ in range(60):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self.delta(middle, c) > delta else (low, middle)
        return high


def worse(make, delta):
    """The greater epsilon of MAKE(add): a unit removed, or added."""
    return max(make(add).epsilon(delta) for add in (False, True))
