#!/usr/bin/env python3
"""dirichlet.json: the Dirichlet mechanism, Dir(k p), p mixed to at least eta, by mpmath at 40 digits.

renyi: D_a(Dir(k p) || Dir(k q)) = 1/(a-1) sum_i [lG(a k p_i - (a-1) k q_i) - a lG(k p_i) + (a-1) lG(k q_i)] (the normalising
constants cancel), and its limit, KL. certified_sup_bound: order_max = 1 + eta/Delta_inf with Delta_inf at most Delta sqrt((m-1)/m),
up to which the shape of the smallest coordinate stays positive; a pair of neighbours costs at most the bound. eps_rdp: n D + ln((a-1)/a) - (ln delta + ln a)/(a-1) (Canonne, Kamath,
Steinke 2020, Prop. 12) and n D + ln(1/delta)/(a-1) (Mironov 2017) for the divergence and order in the file; the least over
all orders is at most that. delta_eq6: the union bound and the bound by negative association are incomplete beta functions;
equation (12), its last terms and (12') are gamma functions (docs/proofs/dirichlet.md); the exact delta lies between the bounds.
hockey_stick: one answer of two actions by incomplete beta functions up to where P = e^eps Q. Seen: 2e-12.
"""
from mpmath import beta, betainc, digamma, exp, inf, log, loggamma, mp, mpf, sqrt

from check import Check

mp.dps = 40
check = Check("dirichlet.json")


def renyi(k, p, q, a):
    total = mpf(0)
    for x, y in zip(p, q):
        mixed = a * k * x - (a - 1) * k * y
        if mixed <= 0:
            return inf
        total += loggamma(mixed) - a * loggamma(k * x) + (a - 1) * loggamma(k * y)
    return total / (a - 1)


def close(group, want, got, tolerance=1e-12):
    want = 0 if isinstance(want, float) and abs(want) < 1e-30 else want  # rounding of a zero
    if want is None or want in ("inf", "Infinity"):
        check.true(group, got == inf, got)
    else:
        check.close(group, want, got, tolerance)


for one in check.data["renyi"]:
    k, p, q = mpf(one["k"]), [mpf(x) for x in one["pi"]], [mpf(x) for x in one["pi_prime"]]
    close("renyi", one["D"], renyi(k, p, q, mpf(one["order"])), 1e-10)
    close("renyi", one["D_reverse"], renyi(k, q, p, mpf(one["order"])), 1e-10)
    kl = sum(loggamma(k * y) - loggamma(k * x) + k * (x - y) * digamma(k * x) for x, y in zip(p, q))
    close("kl", one["KL"], kl, 1e-10)

for one in check.data["certified_sup_bound"]:
    eta, change = mpf(one["eta"]), mpf(one["Delta_eff"])
    m = one["m"]
    close("order_max", one["order_max"], 1 + eta / mpf(one["Delta_inf"]))
    check.true("order_max", one["Delta_inf"] <= change * sqrt(mpf(m - 1) / m) * (1 + mpf(10)**-15), one)
    # A pair of neighbours, one small coordinate up and the others down alike, never costs more than the bound.
    k, a = mpf(one["k"]), mpf(one["order"])
    up = min(change * sqrt(mpf(m - 1) / m), 1 - m * eta)
    low = [eta] + [eta + up / (m - 1)] * (m - 2) + [1 - eta - (m - 2) * (eta + up / (m - 1))]
    high = [eta + up] + [eta] * (m - 2) + [1 - eta - up - (m - 2) * eta]
    for p, q in ((low, high), (high, low)):
        d = renyi(k, p, q, a)
        check.true("bounds", d == inf or d <= one["bound_refined"] * (1 + mpf(10)**-12), (one, d))

for one in check.data["eps_rdp"]:
    if one["eps_at_this_order"] is None:
        continue
    a, d, delta, n = mpf(one["order"]), mpf(one["D_per_query"]), mpf(one["delta"]), one["n"]
    close("eps_rdp", one["eps_at_this_order"], n * d + log((a - 1) / a) - (log(delta) + log(a)) / (a - 1), 1e-10)
    close("eps_rdp", one["eps_at_this_order_classic"], n * d + log(1 / delta) / (a - 1), 1e-10)
    check.true("eps_rdp", one["eps_best_over_orders"] <= one["eps_at_this_order"] * (1 + 1e-12), one)

for one in check.data["hockey_stick"]:
    k, p, q = mpf(one["k"]), [mpf(x) for x in one["pi"]], [mpf(x) for x in one["pi_prime"]]
    if one["n"] != 1 or len(p) != 2:
        continue
    a, b, c, d = k * p[0], k * p[1], k * q[0], k * q[1]
    # The ratio of the densities is monotone when a > c and b < d, so {P > e^eps Q} is an interval: its end by bisection.
    level = mpf(one["eps"]) + log(beta(a, b)) - log(beta(c, d))
    gap = lambda x: (a - c) * log(x) + (b - d) * log(1 - x) - level
    low, high, rising = mpf(0), mpf(1), a > c
    for _ in range(130):
        middle = (low + high) / 2
        low, high = (low, middle) if (gap(middle) > 0) == rising else (middle, high)
    ends = (low, mpf(1)) if rising else (mpf(0), low)
    value = betainc(a, b, *ends, regularized=True) - exp(mpf(one["eps"])) * betainc(c, d, *ends, regularized=True)
    close("hockey_stick", one["delta"], value, 1e-9)

for one in check.data["delta_eq6"]:
    m, k, eta, tau, change = one["m"], mpf(one["k"]), mpf(one["eta"]), mpf(one["tau"]), mpf("0.01")
    small, large = k * eta, k * (1 - (m - 1) * eta)
    below = [betainc(s, k - s, 0, tau, regularized=True) for s in (small, large)]
    close("union", one["union_upper"], (m - 1) * below[0] + below[1])
    close("association", one["neg_assoc_lower"], 1 - (1 - below[0])**(m - 1) * (1 - below[1]), 1e-9)
    check.true("delta", one["neg_assoc_lower"] - 1e-12 <= one["delta_exact"] <= one["union_upper"] + 1e-12, one)
    gamma = (m - 1) * loggamma(small) + loggamma(large) - m * loggamma(k / m)
    close("gamma_term", one["gamma_term"], gamma)
    close("eq12", one["eq12_eps_at_Lb_0p01"], sqrt(m) * k * change * log(1 / tau) + gamma)
    corrected = log((1 - (m - 1) * tau) / tau) + digamma(large) - digamma(small)
    close("eq12 corrected", one["eq12_corrected_at_Lb_0p01"], sqrt(m) / 2 * k * change * corrected)
check.end()
