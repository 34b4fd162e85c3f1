"""The Gaussian mechanism in closed form (Balle and Wang 2018, Theorem 8), for the programs beside the golden files."""
from mpmath import erfc, exp, mpf, sqrt


def below(x):
    return erfc(-x / sqrt(2)) / 2


def delta_of(mu, epsilon):
    return below(mu / 2 - epsilon / mu) - exp(epsilon) * below(-mu / 2 - epsilon / mu)


def root(falling, low, high, turns=120):
    """Where FALLING, from above 0 to below 0, is 0."""
    for _ in range(turns):
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return low


def epsilon_of(mu, delta):
    """The least epsilon >= 0 at DELTA."""
    if delta_of(mu, mpf(0)) <= delta:
        return mpf(0)
    high = mpf(1)
    while delta_of(mu, high) > delta:
        high *= 2
    return root(lambda e: delta_of(mu, e) - delta, mpf(0), high)
