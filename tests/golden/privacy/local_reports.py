#!/usr/bin/env python3
"""local_reports.json: randomisers of one agent's vector, by mpmath at 40 digits.

prs: one bit of projected random sign is + with probability 1/2 + (u/C) tanh(eps/(2 bits))/2, and decoding divides by
bits tanh(eps/(2 bits)). sphere: U uniform on the sphere of R^d; U1^2 is Beta(1/2, (d-1)/2), so P(U1 >= t), E[U1; U1 >= t]
and E[U1^2; U1 >= t] are incomplete beta functions. privunit (Bhowmick et al. 2018): the cap U1 >= gamma has probability
cap_prob, is chosen with probability p = 1 - 1/(1 + e^eps cap/(1 - cap)), and the answer's mean is 1/scale, so its squared
error is scale^2 - 1. mse: Laplace's variance 2 (2 sqrt(d)/eps)^2. Seen: 1e-15, privunit 5e-12.
"""
from mpmath import beta, betainc, exp, mp, mpf, sqrt, tanh

from check import Check

mp.dps = 40
check = Check("local_reports.json")
for one in check.data["prs"]:
    shrink = tanh(mpf(one["eps"]) / (2 * one["dhat"]))
    check.close("prs", one["prob_plus"], (1 + mpf(one["u"]) / mpf(one["C"]) * shrink) / 2, 1e-13)
    check.close("prs", one["unbias_factor"], 1 / (one["dhat"] * shrink), 1e-13)


def tail(d, t):
    return betainc(mpf(d - 1) / 2, 0.5, 0, 1 - t * t, regularized=True) / 2


def mean(d, t):
    return (1 - t * t)**(mpf(d - 1) / 2) / ((d - 1) * beta(mpf(1) / 2, mpf(d - 1) / 2))


for one in check.data["sphere"]:
    d, t = one["dimension"], mpf(one["t"])
    check.close("sphere", one["tail"], tail(d, t), 1e-11)
    check.close("sphere", one["mean"], mean(d, t), 1e-11)
    check.close("sphere", one["square"], betainc(1.5, mpf(d - 1) / 2, t * t, 1, regularized=True) / (2 * d), 1e-11)
for one in check.data["privunit"]:
    d, gamma = one["d"], mpf(one["gamma"])
    cap = tail(d, gamma)
    p = 1 - 1 / (1 + exp(mpf(one["eps"])) * cap / (1 - cap))
    reach = mean(d, gamma) * (p / cap - (1 - p) / (1 - cap))
    check.close("privunit", one["cap_prob"], cap, 1e-8)
    check.close("privunit", one["p"], p, 1e-8)
    check.close("privunit", one["scale"], 1 / reach, 1e-8)
    check.close("privunit", one["mse_total"], 1 / reach**2 - 1, 1e-8)
for one in check.data["mse"]:
    check.close("mse", one["laplace_var_coord_C_2sqrtd"], 2 * (2 * sqrt(mpf(one["d"])) / mpf(one["eps"]))**2, 1e-12)
check.end()
