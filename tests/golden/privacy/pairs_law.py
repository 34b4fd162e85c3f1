"""K runs of an (E, D) pair: optimal composition (Kairouz, Oh, Viswanath 2015, Thm 3.3), for the programs beside the
golden files. Set mp.dps first."""
from mpmath import exp, expm1, log1p, mpf


def law(e, d, k):
    """Losses, falling, with their masses; and the mass that no epsilon covers."""
    finite = exp(k * log1p(-d)) if d else mpf(1)
    mass, losses = finite * exp(-k * log1p(exp(-e))), []
    for i in range(k, -1, -1):
        losses.append(((2 * i - k) * e, mass))
        mass *= mpf(i) / (k - i + 1) * exp(-e)
    return losses, 1 - finite


def optimal_delta(e, d, k, epsilon):
    """delta of K runs of (E, D) at EPSILON."""
    losses, infinite = law(e, d, k)
    return infinite + sum(mass * -expm1(epsilon - loss) for loss, mass in losses if loss > epsilon)


def optimal_epsilon(e, d, k, at):
    """The least epsilon >= 0 at AT. Just below a loss delta is reached + above (1 - exp(epsilon - loss))."""
    losses, infinite = law(e, d, k)
    target, reached, above, loss = at - infinite, mpf(0), mpf(0), losses[0][0]
    if target < 0:
        return None
    for next_loss, mass in losses:
        step = -expm1(next_loss - loss)
        if reached + above * step >= target:
            break
        reached, above, loss = reached + above * step, mass + (1 - step) * above, next_loss
    share = (target - reached) / above
    return mpf(0) if share >= 1 else max(mpf(0), loss + log1p(-share))
