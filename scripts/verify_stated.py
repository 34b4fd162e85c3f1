"""What certificates state, beside the accounts and the audit trail: for verify.py, which reads all of them.

A job states what its account has paid, and that account's limits; a teacher states how its account was opened; a
student states a limit of its payer's account. Each names the account that paid for it. Once a dataset is not covered,
every later certificate says so.
"""
import functools
import json
import math

MALFORMED = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)
SLACK = 1e-9
GUARANTEE = "it states another guarantee than a limit of whom it was trained for"


def fits(stated, known):
    """Whether each number of STATED is that of KNOWN; what is not stated fits."""
    pairs = zip((stated.get("epsilon"), stated.get("delta")), known)
    return all(a is None or abs(a - b) <= SLACK * abs(b) for a, b in pairs)


def paid(privacy, units):
    """Whether UNITS, of 1e-9 of epsilon and of 1e-18 of delta, are PRIVACY rounded up."""
    exact = (privacy["epsilon"] * 1e9, privacy["delta"] * 1e18)
    return all(abs(a - b) <= 1 + SLACK * b for a, b in zip(units, exact))


@functools.lru_cache(1 << 16)
def least_delta(text):
    """Units of delta below which no epsilon is enough for the event TEXT: noise needs one, a pair its own, at least."""
    def least(event):
        if event["type"] in ("GaussianDpEvent", "DirichletDpEvent"):
            return 1
        if event["type"] == "EpsilonDeltaDpEvent":
            return int(event["delta"] * 1e18 * (1 - SLACK))
        inner = event["events"] if "events" in event else [event["event"]] if "event" in event else []
        return max(map(least, inner), default=0)
    return least(json.loads(text))


def at_least(stated, known):
    """Whether no number of STATED is below that of KNOWN."""
    pairs = zip((stated.get("epsilon"), stated.get("delta")), known)
    return all(a is None or a >= b * (1 - SLACK) for a, b in pairs)


class Certificate:
    def __init__(self, where, text, about, leaves):
        self.where, self.text, self.about, self.leaves = where, text, about, leaves  # leaves of the log, at least; or 0
        ledger, teacher = text.get("ledger") or {}, text.get("teacher")
        self.account, self.job, self.dataset = ledger.get("account"), text.get("job"), text.get("dataset")
        self.student = teacher if type(teacher) is dict and teacher else None
        self.key = self.account or (self.student and self.student["id"])
        self.entries = ledger.get("entries") or 1  # of its account when it was issued; an old one does not say
        self.covered = text.get("dataset_covered") is not False
        self.settled = False  # a student's payer had a limit that it states


class Stated:
    def __init__(self, fault):
        self.fault, self.certificates, self.marks, self.row = fault, {}, {}, None
        self.settled, self.limits = {}, []  # of the account in hand: by job; (sequence, epsilon, delta)
        self.holds, self.first, self.policies = {}, None, set()  # sequences by job; its first leaf; jobs with a policy
        self.payers = {}  # accounts of datasets and teachers, and what each is for
        self.paying = set()  # datasets that have an account

    def read(self, where, text, about, claims):
        """The certificate WHERE, which is about ABOUT; the last of CLAIMS may be its log."""
        try:
            leaves = claims[-1][1] if claims and claims[-1][3] == where else 0
            certificate, privacy = Certificate(where, text, about, leaves), text["privacy"]
            self.certificates.setdefault(certificate.key, []).append(certificate)
            if not (privacy["epsilon"] >= 0 and 0 <= privacy["delta"] < 1):
                self.fault(where, 0, "its figures are none of differential privacy")
            if privacy["epsilon"] < (privacy.get("epsilon_lower") or 0) * (1 - SLACK):
                self.fault(where, 0, "its epsilon is below its own lower bound")
        except MALFORMED:
            self.fault(where, 0, "its figures cannot be read")

    def read_entry(self, entry):
        if entry["kind"] in ("open", "limit"):
            self.limits.append((entry["sequence"], entry["epsilon"], entry["delta"]))
        elif entry["kind"] == "hold":
            self.holds[entry["resource"]] = entry["sequence"]
        elif entry["kind"] == "settle":
            self.settled[entry["resource"]] = (entry["spent_units"], entry["spent_delta"], least_delta(entry["event"]))

    def end_account(self, row):
        """Behind the last entry of the account ROW."""
        client = row["kind"] == "client"
        if row["kind"] in ("dataset", "teacher"):
            self.payers[row["id"]] = row["resource"]
        self.paying |= {row["resource"]} if row["kind"] == "dataset" else set()
        for certificate in self.certificates.get(row["resource" if client else "id"], []):
            try:
                if client:
                    self.meet_payer(row, certificate)
                elif row["kind"] in ("dataset", "teacher"):
                    what = self.compare(row, certificate) or self.compare_log(certificate)
                    if what:
                        self.fault(certificate.where, 0, what)
            except MALFORMED:
                self.fault(certificate.where, 0, "its figures cannot be read")
        self.settled, self.limits, self.holds, self.first = {}, [], {}, None

    def most(self):
        """The greatest limit up to each."""
        return [tuple(max(each) for each in list(zip(*self.limits[:i + 1]))[1:]) for i in range(len(self.limits))]

    def meet_payer(self, row, certificate):
        """A student's certificate, and a client's account ROW at its teacher."""
        if certificate.student and certificate.student["client"] == row["client"]:
            certificate.settled = any(fits(certificate.text["privacy"], known) for known in self.most())

    def compare(self, row, certificate):
        """What CERTIFICATE states that the account ROW does not, or None."""
        if not self.limits:
            return "its account was never opened"
        privacy, ledger, job = certificate.text["privacy"], certificate.text["ledger"], certificate.job
        if (certificate.about[:4] == "tch_") != (row["kind"] == "teacher"):
            return "the account that it names is for something else"
        if row["kind"] == "teacher":
            known = (privacy["unit"], privacy.get("order") or 0) == (row["unit"], row["renyi_order"])
            good = known and fits(privacy, self.limits[0][1:])
            return None if good else "it states another privacy than its account was opened with"
        if job not in self.settled:
            return "its account has no settlement of its job"
        if certificate.about[:4] == "pol_" and job in self.policies:
            return "another policy is of its job"
        self.policies |= {job} if certificate.about[:4] == "pol_" else set()
        *units, least = self.settled[job]  # of a Renyi account: a divergence, and the deltas of parts alone
        good = privacy["delta"] * 1e18 > units[1] - 2 and math.ceil(privacy["delta"] * 1e18) >= least
        if not (good if row["renyi_order"] else paid(privacy, units)):
            known = "" if row["renyi_order"] else f", not {units[0] / 1e9:.9g} and {units[1] / 1e18:.9g}"
            stated = f"epsilon {privacy['epsilon']:.9g} and delta {privacy['delta']:.9g}"
            return f"it states other figures than its job has paid: {stated}{known}"
        exposure, most = ledger.get("exposure") or {}, self.most()
        count = sum(limit[0] <= certificate.entries for limit in self.limits)
        good = fits(exposure.get("limit", {}), self.limits[count - 1][1:])
        good = good and any(fits(exposure.get("greatest_limit", {}), known) for known in most[count - 1:])
        if row["resource"].startswith("acc_"):  # it counts those of the account before it, too
            good = all(at_least(exposure.get(name, {}), self.limits[count - 1][1:]) for name in ("limit", "greatest_limit"))
        return None if good else "it states other limits than its account had"

    def compare_log(self, certificate):
        """A certificate is issued behind its job's hold. One without a proof is as old as the account's first leaf."""
        entries = max(certificate.entries, self.holds.get(certificate.job, 0))
        if self.first and not (certificate.leaves and entries == certificate.entries):
            sequence, number = self.first
            certificate.leaves = number + 1 if entries == sequence and certificate.covered else 0
            return "it has no proof that the log has its entry" if entries > sequence else None
        return None

    def read_row(self, row):
        """A row of the audit trail, whose leaf comes next."""
        self.row = row["resource"] if (row["actor"], row["action"]) == ("service", "uncovered") else None

    def read_leaf(self, leaf):
        self.first = self.first or (leaf["sequence"], leaf["number"])
        if self.row:
            self.marks[self.row] = min(leaf["number"], self.marks.get(self.row, leaf["number"]))

    def compare_payer(self, certificate, jobs):
        """Why CERTIFICATE was not compared with what has to have paid for it, or None; JOBS have paid."""
        teacher, privacy = certificate.about[:4] == "tch_", certificate.text["privacy"]
        if certificate.account:
            resource = self.payers.get(certificate.account)
            before = set()
            while resource in self.payers and resource not in before:  # it goes on from another account
                before.add(resource)
                resource = self.payers[resource]
            good = resource == (certificate.about if teacher else certificate.dataset)
            return None if resource and good else "the account that it names is none, or for something else"
        if teacher or not certificate.job:
            return "it names no account"
        if certificate.job in jobs:
            return "it names no account, and one has paid for its job"
        if not certificate.student and certificate.dataset in self.paying:
            return "it names no account, and its dataset has one"
        silent = not certificate.student or certificate.settled or privacy["epsilon"] == privacy["delta"] == 0
        return None if silent else GUARANTEE

    def end(self, jobs):
        """Behind the last row; JOBS have paid."""
        every = [each for of in self.certificates.values() for each in of]
        for each in every:
            if not each.covered and each.leaves and each.dataset:  # a teacher of observations names none
                self.marks[each.dataset] = min(each.leaves, self.marks.get(each.dataset, each.leaves))
        for each in every:
            try:
                what = self.compare_payer(each, jobs)
            except MALFORMED:
                what = "its account cannot be read"
            if what:
                self.fault(each.where, 0, what)
            if each.covered and each.leaves > self.marks.get(each.dataset, each.leaves):
                self.fault(each.where, 0, "it does not say that an earlier job on its dataset is not covered")
