#!/usr/bin/python3
"""Tests of the oracle, and by the oracle: test_oracle.py TACET LEDGERS PLANS

The oracle meets closed forms. Wrong prices in a ledger are found. So many random plans, priced by
the server TACET, agree with the oracle. So do the ledgers in the folder LEDGERS, where the servers
of the tests left them (tests/http/server_process.c); "" is no folder.
"""
import glob
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import traceback
import urllib.error
import urllib.request
from concurrent.futures import ProcessPoolExecutor
from math import exp, inf, log, sqrt

from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import beta

import ledger
from oracle import divergence, epsilon, leaves

TACET, LEDGERS, PLANS = sys.argv[1], sys.argv[2], int(sys.argv[3])


def gaussian(sigma):
    return {"type": "GaussianDpEvent", "noise_multiplier": sigma}


def sampled(rate, sigma):
    return {"type": "PoissonSampledDpEvent", "sampling_probability": rate, "event": gaussian(sigma)}


def laplace(scale):
    return {"type": "LaplaceDpEvent", "noise_multiplier": scale}


def response(uniform, buckets):
    return {"type": "RandomizedResponseDpEvent", "noise_parameter": uniform, "num_buckets": buckets}


def pair(e, delta):
    return {"type": "EpsilonDeltaDpEvent", "epsilon": e, "delta": delta}


def dirichlet(actions, concentration, least, sensitivity):
    return {"type": "DirichletDpEvent", "actions": actions, "concentration": concentration,
            "min_probability": least, "sensitivity": sensitivity}


def repeated(count, event):
    return {"type": "SelfComposedDpEvent", "count": count, "event": event}


def composed(events):
    return {"type": "ComposedDpEvent", "events": events}


def expect(event, delta, value):
    least, most = epsilon(event, delta)
    assert least <= value <= most, "%s at delta %g: %.12g, not %.12g to %.12g" % (event, delta, value, least, most)
    assert most - least <= 2.1e-4 * value


# ---- Closed forms


def gaussian_delta(mu, e):
    """Balle and Wang 2018, Theorem 8."""
    return ndtr(mu / 2 - e / mu) - exp(e) * ndtr(-mu / 2 - e / mu)


def plain_gaussians_meet_their_closed_form():
    for mu in (0.01, 0.3, 1, 4):
        for e in (0.1 * mu, mu, 4 * mu):
            for count in (1, 7, 100000):
                expect(repeated(count, gaussian(sqrt(count) / mu)), gaussian_delta(mu, e), e)


def one_sampled_gaussian_meets_its_closed_form():
    for rate, sigma, e in ((0.1, 0.8, 0.5), (0.01, 0.6, 0.2), (0.5, 2, 0.3)):
        x = sigma**2 * log((exp(e) - 1 + rate) / rate) + 0.5  # where the loss is e
        delta = (1 - rate) * ndtr(-x / sigma) + rate * ndtr((1 - x) / sigma) - exp(e) * ndtr(-x / sigma)
        expect(sampled(rate, sigma), delta, e)


def laplace_meets_its_closed_form():
    for scale in (0.2, 1, 5):
        for delta in (1e-6, 1e-3, 0.02):
            expect(laplace(scale), delta, 1 / scale + 2 * log(1 - delta))


def randomised_response_meets_its_closed_form():
    for uniform, buckets, delta in ((0.5, 2, 0.01), (0.2, 10, 1e-5), (0.9, 3, 0.001)):
        true, other = 1 - uniform + uniform / buckets, uniform / buckets
        expect(response(uniform, buckets), delta, log((true - delta) / other))


def pairs_meet_their_finite_sum():
    """Kairouz, Oh and Viswanath 2015, Theorem 3.3, for two pairs (e, d)."""
    e, d = 0.7, 1e-4
    for x in (0.3, 1.1):
        finite = (exp(2 * e) - exp(x)) / (1 + exp(e)) ** 2
        if x < 0:
            finite += 2 * exp(e) * (1 - exp(x)) / (1 + exp(e)) ** 2
        expect(repeated(2, pair(e, d)), 1 - (1 - d) ** 2 * (1 - finite), x)
    assert epsilon(repeated(3, pair(0.25, 0)), 0) == (0.75, 0.75)
    assert epsilon(pair(e, d), d) == (e, e) and epsilon(pair(e, d), 0) == (inf, inf)
    assert epsilon(pair(e, d), d * (1 - 1e-9)) == (inf, inf)


def divergences_meet_their_closed_forms():
    for order in (1.5, 4, 40):
        least, most = divergence(repeated(3, gaussian(2)), order)
        assert abs(least / (3 * order / 8) - 1) < 1e-12 and least == most
        least, most = divergence(dirichlet(4, 20, 0.1, 0.01), order)
        assert 0 < least <= most <= 2 * least
    p, q = beta(2, 18), beta(2.5, 17.5)  # both ways round the change of one probability is 0.025
    both = [quad(lambda x: a.pdf(x) ** 3 * b.pdf(x) ** -2, 0, 1)[0] for a, b in ((p, q), (q, p))]
    least, most = divergence(dirichlet(2, 20, 0.1, 0.025 * sqrt(2)), 3)
    assert abs(least / (log(max(both)) / 2) - 1) < 1e-6 and least == most


# ---- Faults that must be found


def account(kind, accounting="basic", order=0):
    return {"account": kind, "kind": kind, "accounting": accounting, "order": order}


def entry(kind, units, delta, event, of="dataset", resource="r"):
    what = "held" if kind == "hold" else "spent"
    return {"account": of, "sequence": 1, "kind": kind, "resource": resource, "event": event,
            "units": {what: units, what + "_delta": delta}}


def problems(accounts, entries):
    return [v.problem for v in ledger.check({a["account"]: a for a in accounts}, entries)]


def changed_prices_are_found():
    units = 5748391608  # what tacet charges for this run at delta 1e-5
    def of(units, rate=0.0427, sigma=2, delta=10**13):
        return problems([account("dataset")], [entry("settle", units, delta, repeated(3000, sampled(rate, sigma)))])
    assert of(units) == [""]
    assert of(units * 999 // 1000) == ["charges too little"]
    assert of(units * 1001 // 1000) == ["charges too much"]
    assert of(units, sigma=1.998) == of(units, rate=0.04275) == of(units, delta=99 * 10**11) == ["charges too little"]
    assert of(units, sigma=2.002) == ["charges too much"]


def changed_answers_are_found():
    people = [account("dataset"), account("teacher", "renyi", 5.0)]
    def of(units, first, delta=10**13, sigma=10):
        return problems(people, [entry("debit", first, delta, gaussian(sigma)),
                                 entry("debit", units, 0, gaussian(sigma), "teacher")])
    once = -log(1e-5) / 4 * 1e9
    assert of(25000000, int(once) + 25000001) == ["", ""]
    assert of(24999000, int(once) + 25000001) == ["", "charges too little"]
    assert of(25000000, int(once)) == ["charges too little", ""]
    assert of(25000000, 25000000, 0)[0].startswith("cannot be priced")
    assert of(25000000, int(once) + 25000001, sigma=9.99) == ["charges too little"] * 2
    composed_later = {"account": "a later one", "kind": "dataset", "accounting": "renyi", "order": 5.0}
    assert problems(people + [composed_later],  # a converted dataset's accounts, in the order of their names
                    [entry("debit", 25000001, 0, gaussian(10), "a later one"),
                     entry("debit", int(once) + 25000001, 10**13, gaussian(10)),
                     entry("debit", 25000000, 0, gaussian(10), "teacher")]) == [""] * 3


def changed_divergences_are_found():
    event = composed([repeated(100, sampled(0.1, 2)), pair(1e-4, 1e-9)])
    least, _ = divergence(event, 5.0)
    def of(units, delta=10**9):
        return problems([account("dataset", "renyi", 5.0)], [entry("settle", int(units * 1e9) + 1, delta, event)])
    assert of(least) == [""]
    assert of(least * 0.999) == ["charges too little"]
    assert of(least * 1.001) == ["charges too much"]
    assert of(least, 0)[0].startswith("cannot be priced") and of(least, 2 * 10**9)[0].startswith("cannot be priced")


def unknown_events_are_found():
    for event in ({"type": "NonPrivateDpEvent"}, {"type": "NewDpEvent"}, {"no": "type"}, None,
                  {"type": "PoissonSampledDpEvent", "sampling_probability": 0.1, "event": laplace(1)}):
        assert problems([account("dataset")], [entry("settle", 1, 1, event)])[0].startswith("cannot be priced")


def every_kind_of_event_is_known():
    with open("api/wire/event_json.c") as file:
        kinds = set(re.findall(r'\{"(\w+DpEvent)"', file.read()))
    known = [gaussian(1), sampled(0.1, 1), laplace(1), response(0.5, 2), pair(0.1, 1e-9), repeated(2, gaussian(1)),
             composed([gaussian(1)]), dirichlet(2, 20, 0.1, 0.01), {"type": "NoOpDpEvent"}]
    assert kinds == {event["type"] for event in known} | {"NonPrivateDpEvent"}  # which is never charged
    for event in known:
        assert epsilon(event, 1e-5)[1] < inf
        assert divergence(event, 3)[1] < inf or event["type"] == "EpsilonDeltaDpEvent"


# ---- Plans


def random_part(draw):
    few = int(10 ** draw.uniform(0, 2))
    rate, epochs = 10 ** draw.uniform(-4, -0.1), 10 ** draw.uniform(0, 3)
    count = int(epochs / rate) + 1
    least_noise = max(0.7, 0.3 * rate * sqrt(count))
    actions = draw.randint(2, 6)
    least = draw.uniform(0.02, 0.9 / actions)
    make = draw.choices([
        lambda: repeated(count, sampled(rate, least_noise * 10 ** draw.uniform(0, 1))),
        lambda: repeated(count, gaussian(sqrt(count) * 10 ** draw.uniform(-0.3, 1.5))),
        lambda: repeated(few, laplace(sqrt(few) * 10 ** draw.uniform(-0.3, 2))),
        lambda: repeated(few, response(draw.uniform(0.3, 0.99), draw.randint(2, 20))),
        lambda: repeated(few, pair(10 ** draw.uniform(-2, 0) / sqrt(few), 10 ** draw.uniform(-12, -8))),
        lambda: repeated(few, dirichlet(actions, draw.uniform(1, 6) / least, least, 10 ** draw.uniform(-3.5, -2)))],
        weights=(12, 6, 6, 6, 6, 2))
    return make[0]()


def random_plan(draw):
    parts = [random_part(draw) for _ in range(draw.choice((1, 1, 2, 3)))]
    return parts[0] if len(parts) == 1 else composed(parts), 10 ** draw.uniform(-9, -2)


class Server:
    """A server without data, which prices plans: POST /v1/accounting:compose."""

    def __enter__(self):
        self.data = tempfile.mkdtemp(prefix="tacet-oracle-")
        make = [TACET, "client", "create", "--data", self.data, "--role", "steward", "--name", "oracle"]
        self.token = subprocess.run(make, capture_output=True, text=True, check=True).stdout.strip()
        self.process = subprocess.Popen([TACET, "serve", "--data", self.data, "--listen", "127.0.0.1:0"],
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.url = self.process.stdout.readline().split()[-1]
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()
        shutil.rmtree(self.data)

    def ask(self, plan):
        """Its figures for epsilon; None where it has none."""
        body = json.dumps({"events": plan[0], "delta": plan[1]}).encode()
        asked = urllib.request.Request(self.url + "/v1/accounting:compose", body)
        asked.add_header("Authorization", "Bearer " + self.token)
        asked.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(asked) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            text = error.read().decode()
            assert error.code == 422 and "no epsilon that can be certified" in text, text
            return None


def disagreement(plan, tacet, least, most):
    """In words, or ""."""
    if tacet is None:
        return "" if least == inf else "has a price, which tacet does not give"
    # Of Dirichlet answers tacet's lower figure and the oracle's are those of the same neighbours.
    is_dirichlet = any(leaf[0] == "dirichlet" for leaf in leaves(plan[0]))
    if tacet["epsilon_lower"] > (least * 1.0001 if is_dirichlet else most):
        return "costs less than tacet's lower figure"
    if tacet["epsilon"] < least:
        return "costs more than tacet's upper figure"
    if is_dirichlet and tacet["epsilon"] > most * 1.001:
        return "has an upper figure that is above the theorem's"
    return ""


def wrong_figures_are_found():
    plan = repeated(3000, sampled(0.0427, 2)), 1e-5
    def of(factor):
        tacet = {"epsilon": 5.748391608 * factor, "epsilon_lower": 5.748238870 * factor}
        return disagreement(plan, tacet, *epsilon(*plan))
    assert of(1) == "" and "upper" in of(0.999) and "lower" in of(1.001)


def random_plans_agree():
    draw = random.Random(20260101)
    plans = [random_plan(draw) for _ in range(PLANS)]
    refused, inside, vague, wrong, farthest = 0, 0, 0, [], 0
    with Server() as server, ProcessPoolExecutor() as cores:
        for plan, (least, most) in zip(plans, cores.map(epsilon, *zip(*plans))):
            tacet = server.ask(plan)
            problem = disagreement(plan, tacet, least, most)
            if problem:
                wrong.append("%s at delta %r %s: %s; the oracle says %.9g to %.9g"
                             % (json.dumps(plan[0]), plan[1], problem, tacet, least, most))
            if tacet is None:
                refused += 1
            elif tacet["accountant"] != "renyi" and tacet["epsilon"] > 0:
                upper, lower, middle = tacet["epsilon"], tacet["epsilon_lower"], (least + most) / 2
                inside += lower <= middle <= upper
                farthest = max(farthest, (middle - upper) / upper, (lower - middle) / upper)
                vague += most - least > 1e-3 * upper
    print("%d plans: %d have no finite epsilon; %d figures are in tacet's interval, the others at most %.2g "
          "of epsilon outside; of %d the oracle is not sure to a thousandth" % (PLANS, refused, inside, farthest, vague))
    assert vague <= PLANS // 50
    assert not wrong, "%d plans\n%s" % (len(wrong), "\n".join(wrong))


# ---- Ledgers


def verdicts_of(name):
    with open(name, "rb") as file:
        if not file.read(15) == b"SQLite format 3":
            return []  # a test damaged it
    return ledger.check(*ledger.from_database(name))


def ledgers_agree():
    verdicts, wrong = [], 0
    names = sorted(glob.glob(os.path.join(LEDGERS, "*.db")))
    with ProcessPoolExecutor() as cores:
        for name, some in zip(names, cores.map(verdicts_of, names)):
            wrong += ledger.report(name, some)
            verdicts += some
    print(ledger.summary(verdicts))
    kinds = {leaf[0] for v in verdicts for leaf in leaves(v.entry["event"])}
    print("mechanisms: " + ", ".join(sorted(kinds)))
    assert wrong == 0, "%d wrong prices" % wrong
    assert len(verdicts) >= 1000 and {"gaussian", "dirichlet", "pair"} <= kinds, "the ledgers of the tests are missing"


def main():
    tests = [plain_gaussians_meet_their_closed_form, one_sampled_gaussian_meets_its_closed_form,
             laplace_meets_its_closed_form, randomised_response_meets_its_closed_form,
             pairs_meet_their_finite_sum, divergences_meet_their_closed_forms, changed_prices_are_found,
             changed_answers_are_found, changed_divergences_are_found, unknown_events_are_found, every_kind_of_event_is_known,
             wrong_figures_are_found, random_plans_agree] + [ledgers_agree] * (LEDGERS != "")
    failed = 0
    for test in tests:
        try:
            test()
        except Exception:  # of any kind: the others still run
            failed += 1
            print("%s FAILED\n%s" % (test.__name__, traceback.format_exc()))
    print("Synthesis: Tested: %d | Passing: %d | Failing: %d" % (len(tests), len(tests) - failed, failed))
    return failed > 0


sys.exit(main())
