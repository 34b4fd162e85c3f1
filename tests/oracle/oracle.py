"""A second accountant, of another kind than the one in C, to check prices with.

The C code bounds a price from two sides and proves each bound. This file computes one number and
says how far off it may be. It shares no code and no table with the C code, and it is short enough
to be read in half an hour.

METHOD. A mechanism is a pair of distributions (P, Q): what it gives on an input and on the
neighbouring input that is hardest to hide (Zhu, Dong and Wang 2022, "Optimal accounting of
differential privacy via characteristic function"). The privacy loss is L = ln(dP/dQ) under P.
Losses of mechanisms that run one after the other add up (ibid., Theorem 10), so the distribution
of the sum is a convolution, and

    delta(epsilon) = P(L infinite) + E[(1 - exp(epsilon - L))^+; L finite].                   (1)

1. Each mechanism becomes a list of losses with masses (section "Losses").
2. The masses are multiplied by exp(t L - K(t)), K(t) = ln E exp(t L). This tilt moves the middle
   of the sum to the epsilon in question, so that a tiny delta keeps its digits (Sommer, Meiser and
   Mohammadi 2019, "Privacy loss classes"). It is undone in (1).
3. The losses are put on an even grid. Each one is divided among the four nearest points such that
   its moments 0 to 3 stay the same (Lagrange's weights). Then the error of a mechanism that runs
   n times does not grow with n (Gopi, Lee and Wutschitz 2021, "Numerical composition of
   differential privacy", keep the mean alone).
4. One FFT per mechanism, a power, a product and one FFT back convolve them all (Koskela, Jaelkoe
   and Honkela 2020, "Computing tight differential privacy guarantees using FFT").
5. This is repeated on finer grids until the last three answers agree. Four times the distance
   between them, and an allowance for step 1, is the stated error.

A unit may be added or removed, and the price is the larger of the two figures.
"""
from collections import Counter
from functools import lru_cache
from math import exp, expm1, inf, lgamma, log, log1p, sqrt
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import gammaln, polygamma

AGREEMENT = 1e-4  # the relative error that ends the search for a fine enough grid
NODES = 2e-6  # relative allowance for losses that are a list where they are a continuum
GRID_LEAST, GRID_MOST = 11, 19  # log2 of the number of points


class Unknown(Exception):
    """An event that this accountant does not know. It is never skipped."""


class Figure(NamedTuple):
    value: float
    error: float  # the value may be off by so much


# ---- Events


def leaves(event, times=1):
    """The mechanisms of a tree of events (api/wire/event_json.h), each with how often it runs."""
    kind = event.get("type")
    if kind == "NoOpDpEvent":
        return Counter()
    if kind == "ComposedDpEvent":
        return sum((leaves(child, times) for child in event["events"]), Counter())
    if kind == "SelfComposedDpEvent":
        return leaves(event["event"], times * int(event["count"]))
    if kind == "PoissonSampledDpEvent":
        if event["event"].get("type") != "GaussianDpEvent":
            raise Unknown("a Poisson sample of %s" % event["event"].get("type"))
        rate, sigma = event["sampling_probability"], event["event"]["noise_multiplier"]
        return Counter({("gaussian", rate, sigma): times})
    if kind == "GaussianDpEvent":
        return Counter({("gaussian", 1, event["noise_multiplier"]): times})
    if kind == "LaplaceDpEvent":
        return Counter({("laplace", event["noise_multiplier"]): times})
    if kind == "RandomizedResponseDpEvent":
        return Counter({("response", event["noise_parameter"], event["num_buckets"]): times})
    if kind == "EpsilonDeltaDpEvent":
        return Counter({("pair", event["epsilon"], event["delta"]): times})
    if kind == "DirichletDpEvent":
        names = ("actions", "concentration", "min_probability", "sensitivity")
        return Counter({("dirichlet", *(event[name] for name in names)): times})
    raise Unknown("an event of type %s" % kind)


# ---- Losses: (losses, ln of their masses, mass of an infinite loss)


def ln_sum_exp(x):
    top = x.max()
    return top + log(np.exp(x - top).sum())


def atoms(*pairs):
    """A few losses with their masses."""
    kept = [(loss, mass) for loss, mass in pairs if mass > 0]
    return np.array([p[0] for p in kept], float), np.log([p[1] for p in kept])


def gaussian(rate, sigma, added, count=1 << 13, low=None, high=None):
    """A Poisson sample under Gaussian noise: P = (1-q) N(0, s^2) + q N(1, s^2), Q = N(0, s^2), or
    the two exchanged. The trapezoid rule in the output x, which for such integrands is exact to
    rounding."""
    low, high = (-20 * sigma, 1 + 20 * sigma) if low is None else (low, high)
    x, step = np.linspace(low, high, count, retstep=True)
    none = -(x**2) / (2 * sigma**2) + log(step / sigma) - log(2 * np.pi) / 2
    ratio = (x - 0.5) / sigma**2  # ln of N(1, s^2) over N(0, s^2)
    loss = ratio if rate == 1 else np.where(
        ratio < 30, np.log1p(rate * np.expm1(np.minimum(ratio, 30))),
        np.logaddexp(log1p(-rate), log(rate) + ratio))
    return (-loss, none) if added else (loss, none + loss)


def gaussian_where_it_counts(rate, sigma, added, tilt, times):
    """The same only where the tilted mass is not negligible, with more outputs for few runs, whose
    sum is less smooth."""
    loss, ln_mass = gaussian(rate, sigma, added)
    weight = ln_mass + tilt * loss
    kept = np.flatnonzero(weight > weight.max() - 30)
    x = np.linspace(-20 * sigma, 1 + 20 * sigma, len(loss))
    return gaussian(rate, sigma, added, 1 << 15 if times < 300 else 1 << 12, x[kept[0]], x[kept[-1]])


def laplace(scale):
    """P and Q are Laplace distributions around 0 and 1: loss (1 - 2x)/b for 0 < x < 1."""
    x = (np.arange(16000) + 0.5) / 16000
    mass = np.exp(-x / scale)
    mass *= -expm1(-1 / scale) / 2 / mass.sum()
    ends, ln_ends = atoms((1 / scale, 0.5), (-1 / scale, exp(-1 / scale) / 2))
    return np.append((1 - 2 * x) / scale, ends), np.append(np.log(mass), ln_ends)


def response(uniform, buckets):
    """A uniform bucket is told with this probability, else the true one."""
    true, other = 1 - uniform + uniform / buckets, uniform / buckets
    loss = log(true / other)
    return atoms((loss, true), (-loss, other), (0, other * (buckets - 2)))


def pair(epsilon):
    """What every (epsilon, delta)-private mechanism is a post-processing of, when it does not fail:
    a bit told truthfully with odds e^epsilon (Kairouz, Oh and Viswanath 2015)."""
    return atoms((epsilon, 1 / (1 + exp(-epsilon))), (-epsilon, 1 / (1 + exp(epsilon))))


def gamma(a, b):
    """P and Q are Gamma distributions of shapes a and b, seen as v = ln(output)."""
    step = 1 / (48 * sqrt(a))
    v = np.arange(log(a) - 200 / a - 20 / sqrt(a), log(a + 40 * sqrt(a) + 200), step)
    return (a - b) * v + lgamma(b) - lgamma(a), a * v - np.exp(v) - lgamma(a) + log(step)


@lru_cache(maxsize=64)
def losses(leaf, added):
    kind, *of = leaf
    if kind == "gaussian":
        return *gaussian(*of, added), 0
    if kind == "pair":
        return *pair(of[0]), of[1]
    return *{"laplace": laplace, "response": response, "gamma": gamma}[kind](*of), 0


# ---- Dirichlet answers: the neighbours that are hardest to hide are known for two actions only


def dirichlet_pairs(actions, concentration, least, sensitivity, falls):
    """Parameters of the answers of neighbours. One action's probability rises from `least` by x,
    those of j others fall to it by y each, and a large one takes the rest; the 2-norm of the change
    is the sensitivity. FALLS has the (j, y / x). Each pair is taken both ways round."""
    room = 1 - actions * least
    for j, ratio in falls:
        x = min(room, min(sensitivity, sqrt(2) * room) / sqrt(1 + j * ratio**2 + (1 - j * ratio) ** 2))
        p, q = np.full(actions, least), np.full(actions, least)
        q[0] += x
        p[1:j + 1] += ratio * x
        p[-1], q[-1] = 1 - p[:-1].sum(), 1 - q[:-1].sum()
        yield concentration * p, concentration * q
        yield concentration * q, concentration * p


def dirichlet_divergence(a, b, order):
    """The Renyi divergence of two Dirichlet distributions (Gil, Alajaji and Linder 2013)."""
    mixed = order * a + (1 - order) * b
    if mixed.min() <= 0:
        return inf
    norm, norm_a, norm_b = (gammaln(c).sum() - gammaln(c.sum()) for c in (mixed, a, b))
    return (norm - order * norm_a + (order - 1) * norm_b) / (order - 1)


def dirichlet_bound(actions, concentration, least, sensitivity, order):
    """What no neighbours exceed: (A1) of docs/proofs/dirichlet.md."""
    room = 1 - actions * least
    change = min(sensitivity, sqrt(2) * room)
    one = min(change * sqrt((actions - 1) / actions), room)
    down = concentration * (least - (order - 1) * one)
    if down <= 0:
        return inf
    low, t = concentration * least, order / 2 * concentration**2 * polygamma(1, concentration * least)
    gap = gammaln(down) - order * gammaln(low) + (order - 1) * gammaln(low + concentration * one)
    return float(t * (change**2 - one**2) + max(gap / (order - 1), t * one**2))


def as_gammas(runs, which):
    """RUNS with Dirichlet answers about their pair number WHICH as Gammas: a Dirichlet vector is one
    of independent Gammas over its sum, and the loss does not depend on the sum, because the
    parameters of both have the same sum."""
    result = Counter()
    for leaf, times in runs.items():
        if leaf[0] != "dirichlet":
            result[leaf] += times
            continue
        others = leaf[1] - 2
        falls = [(0, 0), (others, 1 / (others + 1)), (others, 1 / others if others else 0)]
        for a, b in zip(*list(dirichlet_pairs(*leaf[1:], falls))[which]):
            if a != b:
                result["gamma", a, b] += times
    return result


# ---- Convolution


def ln_moment(parts, tilt):
    """K(tilt) of the sum."""
    return sum(n * ln_sum_exp(ln_mass + tilt * loss) for loss, ln_mass, n in parts)


def thinned(parts):
    """Every so many of the losses only: good enough to choose a tilt and a window by."""
    strides = [max(1, len(loss) // 600) for loss, _, _ in parts]
    return [(loss[::s], ln_mass[::s] - ln_sum_exp(ln_mass[::s]), n)
            for (loss, ln_mass, n), s in zip(parts, strides)]


def choose_tilt(parts, delta):
    """The tilt whose order gives the least epsilon by Renyi accounting (Canonne, Kamath and Steinke
    2020): there the middle of the tilted sum is near the epsilon at delta."""
    def epsilon_of(ln_tilt):
        t = exp(ln_tilt)
        return (ln_moment(parts, t) - log(delta) + t * log(t) - (1 + t) * log1p(t)) / t
    return exp(minimize_scalar(epsilon_of, bounds=(-7, 12), method="bounded", options={"xatol": 0.1}).x)


def choose_width(parts, tilt):
    """A window that misses less than exp(-25) of the tilted sum, by Chernoff's bound on both sides."""
    base, change = ln_moment(parts, tilt), 1e-4 * tilt
    middle = (ln_moment(parts, tilt + change) - ln_moment(parts, tilt - change)) / (2 * change)
    sides = [min((ln_moment(parts, tilt + sign * theta) - base - sign * theta * middle + 25) / theta
                 for theta in np.geomspace(1e-3, 1e5, 25)) for sign in (1, -1)]
    return 2.2 * max(*sides, 25 / tilt)


def convolve(parts, tilt, points, width):
    """The tilted sum on an even grid around its mean: (mean, offsets, masses)."""
    step, middle = width / points, 0
    spectrum = np.ones(points // 2 + 1, complex)
    for loss, ln_mass, times in parts:
        mass = np.exp(ln_mass + tilt * loss - ln_sum_exp(ln_mass + tilt * loss))
        mean = mass @ loss
        middle += times * mean
        at = (loss - mean) / step
        f = at - np.floor(at)
        grid = np.zeros(points)
        for offset, weight in ((-1, -f * (f - 1) * (f - 2) / 6), (0, (f + 1) * (f - 1) * (f - 2) / 2),
                               (1, -(f + 1) * f * (f - 2) / 2), (2, (f + 1) * f * (f - 1) / 6)):
            place = (np.floor(at) + offset) % points
            grid += np.bincount(place.astype(int), mass * weight, points)
        spectrum *= np.fft.rfft(grid) ** times
    masses = np.fft.fftshift(np.fft.irfft(spectrum, points))
    return middle, step * (np.arange(points) - points // 2), masses


def crossing(loss, masses, delta):
    """The epsilon at which (1) falls to DELTA, for finite losses in increasing order."""
    above = np.cumsum(masses[::-1])[::-1]
    shrunk = np.cumsum((masses * np.exp(-loss))[::-1])[::-1]
    too_much = np.flatnonzero(~(above[1:] - np.exp(loss[:-1]) * shrunk[1:] <= delta))
    i = too_much[-1] + 1 if len(too_much) else 0
    return log((above[i] - delta) / shrunk[i]) if above[i] > delta else loss[i]


def one_way(runs, delta, added):
    """Epsilon at DELTA when a unit is added in all parts, or removed in all parts."""
    parts, ln_safe = [], 0
    for leaf, times in runs.items():
        loss, ln_mass, fails = losses(leaf, added)
        parts.append((loss, ln_mass, times))
        ln_safe += times * log1p(-fails)
    finite = (delta + expm1(ln_safe)) / exp(ln_safe)
    if finite <= 0:
        return Figure(inf, 0)
    thin = thinned(parts)
    tilt = choose_tilt(thin, finite)
    width = choose_width(thin, tilt)
    parts = [(*gaussian_where_it_counts(*leaf[1:], added, tilt, times), times) if leaf[0] == "gaussian" else part
             for (leaf, times), part in zip(runs.items(), parts)]
    moment = ln_moment(parts, tilt)
    values, error = [], inf
    for size in range(GRID_LEAST, GRID_MOST + 1):
        middle, offset, masses = convolve(parts, tilt, 1 << size, width)
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = finite * exp(tilt * middle - moment)
            value = max(0, middle + crossing(offset, masses * np.exp(-tilt * offset), scaled))
        values.append(value)
        if len(values) < 3:
            continue
        spread = max(values[-3:]) - min(values[-3:])
        error = 4 * spread + NODES * (value + width / 200)
        if error <= AGREEMENT * value:
            break
    return Figure(value, error)


# ---- Questions


def pld_epsilon(runs, delta):
    """Epsilon at DELTA > 0 of mechanisms without Dirichlet answers."""
    directions = {added and any(leaf[0] == "gaussian" and leaf[1] < 1 for leaf in runs)
                  for added in (False, True)}
    figures = [one_way(runs, delta, added) for added in directions]
    return Figure(max(f.value for f in figures), max(f.error for f in figures))


def pure_epsilon(runs):
    """Epsilon where outputs with an infinite loss use up all of delta: the sum of the greatest
    other losses."""
    total = 0
    for leaf, times in runs.items():
        if leaf[0] not in ("pair", "laplace", "response"):
            return inf
        total += times * losses(leaf, False)[0].max()
    return total


def least_divergence(leaf, order):
    """The Renyi divergence of a mechanism; of an (epsilon, delta) pair that of its outputs with a
    finite loss (infinite_mass is the rest); of Dirichlet answers that of the costliest neighbours in
    a search, which is no bound."""
    if leaf[0] == "dirichlet":
        falls = [(0, 0)] + [(j, ratio) for j in range(1, leaf[1] - 1) for ratio in np.linspace(0, 1 / j, 12)]
        return max(dirichlet_divergence(a, b, order) for a, b in dirichlet_pairs(*leaf[1:], falls))
    if leaf[0] == "gaussian" and leaf[1] == 1:
        return order / (2 * leaf[2] ** 2)  # Mironov 2017, Corollary 3
    if leaf[0] == "gaussian" and order > 16 * leaf[2]:
        raise Unknown("a sampled Gaussian at so high an order")  # beyond the outputs in `gaussian`
    values = []
    for added in (False, True):
        loss, ln_mass, fails = losses(leaf, added)
        if fails and leaf[0] != "pair":
            return inf
        values.append(ln_sum_exp(ln_mass + (order - 1) * loss) / (order - 1))
    # The outputs with a finite loss have the mass 1 - delta (docs/proofs/budgets.md, what is set aside).
    return max(values) + (log1p(-leaf[2]) / (order - 1) if leaf[0] == "pair" else 0)


def most_divergence(leaf, order):
    """The same, but of Dirichlet answers a bound. For two actions the costliest neighbours are known."""
    if leaf[0] == "dirichlet" and leaf[1] > 2:
        return dirichlet_bound(*leaf[1:], order)
    return least_divergence(leaf, order)


def divergence(event, order):
    """(least, greatest) that the price of EVENT may be on an account of Renyi divergences."""
    runs = leaves(event)
    return (max(0, sum(times * least_divergence(leaf, order) for leaf, times in runs.items())),
            max(0, sum(times * most_divergence(leaf, order) for leaf, times in runs.items())))


def infinite_mass(event):
    """The probability that some (epsilon, delta) part of EVENT has an output with an infinite loss."""
    return -expm1(sum(times * log1p(-leaf[2]) for leaf, times in leaves(event).items() if leaf[0] == "pair"))


def epsilon(event, delta):
    """(least, greatest) that the price of EVENT at DELTA may be. The two differ by the stated error;
    for Dirichlet answers, by the distance of a proved bound from the costliest known neighbours."""
    runs = leaves(event)
    if not runs:
        return 0, 0
    own = infinite_mass(event)
    if abs(delta - own) <= 1e-12 * own:
        return pure_epsilon(runs), pure_epsilon(runs)
    if delta < own:
        return inf, inf
    if not any(leaf[0] == "dirichlet" for leaf in runs):
        figure = pld_epsilon(runs, delta)
        return max(0, figure.value - figure.error), figure.value + figure.error
    figures = [pld_epsilon(as_gammas(runs, i), delta) for i in range(6)]
    least = max(0, *(f.value - f.error for f in figures))

    finite = delta - infinite_mass(event)  # what losses that are finite may leave
    if finite <= 0:
        return least, inf

    def by_renyi(t):  # of order 1 + t (Canonne, Kamath and Steinke 2020)
        most = sum(times * most_divergence(leaf, 1 + t) for leaf, times in runs.items())
        return most + log1p(-1 / (1 + t)) - log(finite * (1 + t)) / t
    highest = min([1e4] + [16 * leaf[2] - 1 for leaf in runs if leaf[0] == "gaussian" and leaf[1] < 1])
    return least, max(0, min(map(by_renyi, np.geomspace(1e-2, highest, 140))))
