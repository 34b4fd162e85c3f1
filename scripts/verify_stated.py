"""What certificates state, beside the accounts and the audit trail: for verify.py, which reads all of them.

A job states what its account has paid, and that account's limits; a teacher states how its account was opened; a
student states a limit of its payer's account. Once a dataset is not covered, no later certificate says that it is.
"""
import re

UNCOVERED = re.compile(rb'"actor":"service","client":"","role":"","token":0,"action":"uncovered","resource":"(\w+)"')
MALFORMED = (ValueError, KeyError, TypeError, AttributeError)
SLACK = 1e-9


def fits(stated, known):
    """Whether each number of STATED is that of KNOWN; what is not stated fits."""
    pairs = zip((stated.get("epsilon"), stated.get("delta")), known)
    return all(a is None or abs(a - b) <= SLACK * abs(b) for a, b in pairs)


def paid(privacy, units):
    """Whether UNITS, of 1e-9 of epsilon and of 1e-18 of delta, are PRIVACY rounded up."""
    exact = (privacy["epsilon"] * 1e9, privacy["delta"] * 1e18)
    return all(abs(a - b) <= 1 + SLACK * b for a, b in zip(units, exact))


class Stated:
    def __init__(self, fault):
        self.fault, self.certificates, self.marks, self.row = fault, {}, {}, None
        self.settled, self.limits = {}, []  # of the account in hand: by job; (sequence, epsilon, delta)

    def read(self, where, certificate, claims):
        """The certificate WHERE; the last of CLAIMS may be its log."""
        leaves = claims[-1][1] if claims and claims[-1][3] == where else 0
        try:
            ledger, privacy, teacher = (certificate.get(name) or {} for name in ("ledger", "privacy", "teacher"))
            key = ledger.get("account") or (teacher["id"] if type(teacher) is dict and teacher else None)
            self.certificates.setdefault(key, []).append((where, certificate, leaves))
            if not (privacy["epsilon"] >= 0 and 0 <= privacy["delta"] < 1):
                self.fault(where, 0, "its figures are none of differential privacy")
            if privacy["epsilon"] < (privacy.get("epsilon_lower") or 0) * (1 - SLACK):
                self.fault(where, 0, "its epsilon is below its own lower bound")
        except MALFORMED:
            self.fault(where, 0, "its figures cannot be read")

    def read_entry(self, entry):
        if entry["kind"] in ("open", "limit"):
            self.limits.append((entry["sequence"], entry["epsilon"], entry["delta"]))
        elif entry["kind"] == "settle":
            self.settled[entry["resource"]] = (entry["spent_units"], entry["spent_delta"])

    def end_account(self, row):
        """Behind the last entry of the account ROW."""
        client = row["kind"] == "client"
        for where, certificate, _ in self.certificates.get(row["resource" if client else "id"], []):
            try:
                what = self.compare(row, certificate) if not client or self.is_payer(row, certificate) else None
            except MALFORMED:
                what = "its figures cannot be read"
            if what:
                self.fault(where, 0, what)
        self.settled, self.limits = {}, []

    @staticmethod
    def is_payer(row, certificate):
        return certificate["teacher"]["client"] == row["client"]

    def compare(self, row, certificate):
        """What CERTIFICATE states that the account ROW does not, or None."""
        if not self.limits:
            return "its account was never opened"
        privacy, ledger, job = certificate["privacy"], certificate["ledger"], certificate.get("job")
        entries = ledger.get("entries") or 1  # an old one does not say
        most = [tuple(max(each) for each in list(zip(*self.limits[:i + 1]))[1:]) for i in range(len(self.limits))]
        if row["kind"] == "client":
            good = privacy["epsilon"] == 0 or any(fits(privacy, known) for known in most)
            return None if good else "it states another guarantee than a limit of whom it was trained for"
        if row["kind"] == "teacher":
            known = (privacy["unit"], privacy.get("order") or 0) == (row["unit"], row["renyi_order"])
            good = known and fits({"epsilon": privacy["epsilon"], "delta": privacy["delta"]}, self.limits[0][1:])
            return None if good else "it states another privacy than its account was opened with"
        if row["kind"] != "dataset":
            return None
        if job not in self.settled:
            return "its account has no settlement of its job"
        units = self.settled[job]  # of a Renyi account: a divergence, and the deltas of parts alone
        if not (privacy["delta"] * 1e18 > units[1] - 2 if row["renyi_order"] else paid(privacy, units)):
            return "it states other figures than its job has paid"
        exposure, count = ledger.get("exposure") or {}, sum(limit[0] <= entries for limit in self.limits)
        good = fits(exposure.get("limit", {}), self.limits[count - 1][1:])
        good = good and any(fits(exposure.get("greatest_limit", {}), known) for known in most[count - 1:])
        return None if good or row["resource"].startswith("acc_") else "it states other limits than its account had"

    def read_row(self, text):
        """A row of the audit trail, whose leaf comes next."""
        found = UNCOVERED.search(text)
        self.row = found and found[1].decode()

    def read_leaf(self, number):
        if self.row:
            self.marks[self.row] = min(number, self.marks.get(self.row, number))

    def end(self, jobs):
        """Behind the last row; JOBS have paid."""
        for where, certificate, _ in self.certificates.get(None, []):
            if certificate.get("job") in jobs:
                self.fault(where, 0, "it names no account, and one has paid for its job")
        every = [each for of in self.certificates.values() for each in of]
        for _, certificate, leaves in every:
            if certificate.get("dataset_covered") is False and leaves:
                dataset = certificate["dataset"]
                self.marks[dataset] = min(leaves, self.marks.get(dataset, leaves))
        for where, certificate, leaves in every:
            if certificate.get("dataset_covered") is True and leaves > self.marks.get(certificate["dataset"], leaves):
                self.fault(where, 0, "it says that its dataset is covered, after a job that nothing covers")
