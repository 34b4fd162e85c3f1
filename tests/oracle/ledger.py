#!/usr/bin/python3
"""Re-prices every entry of a Tacet ledger with oracle.py, and names each price that is not right.

    python3 tests/oracle/ledger.py EXPORT...                 files; needs numpy and scipy
    TACET_TOKEN=... python3 tests/oracle/ledger.py URL       a running server, as an auditor
    TACET_TOKEN=... python3 tests/oracle/ledger.py --save EXPORT URL     and keep what was read

An EXPORT holds, one after another, the answers of GET /v1/ledger/accounts and of
GET /v1/ledger/accounts/ID/entries; or it is the SQLite file of a server's data directory. Exit code
0: all prices are right; 1: at least one is not, or an event is unknown.

WHAT AN ENTRY COSTS. Amounts are integers: epsilon in units of 1e-9, delta in units of 1e-18,
rounded up.

- An account with accounting "renyi" pays the Renyi divergence, at its order, of the entry's event,
  and as delta the probability that an (epsilon, delta) part of the event has an infinite loss.
- An account with accounting "basic" pays a job ("hold", "settle") the epsilon of the whole event at
  the entry's delta. It pays an answer or report ("debit") the epsilon of one run at its share of
  the entry's delta, times the number of runs.
- A dataset's account with accounting "basic" pays for the answer of a teacher what the client's
  account pays. Where that counts divergences, the first answer also costs delta d and
  ln(1/d) / (order - 1), once (docs/proofs/shards.md).
- A share is a part of a teacher's or dataset's account that is set aside for one client: the account
  holds it under the share's id, and pays at its end what the share has paid. The share's own entries
  are priced like the account's.
- A dataset's account that is converted pays all that it has left for one (epsilon, delta) event.
- A restored ledger pays what may have been spent since its backup ("restored"); that has no price.

A charge is a certified upper bound and therefore at least the true price, and it must not be above
it by more than BASIC_GAP or RENYI_GAP.
"""
import json
import os
import sqlite3
import sys
import urllib.request
from functools import lru_cache
from math import log
from typing import NamedTuple

from oracle import Unknown, divergence, epsilon, infinite_mass

UNIT, DELTA_UNIT = 1e-9, 1e-18
BASIC_GAP = 4e-4  # certified intervals are 2e-4 wide, and searches stop a little above them
RENYI_GAP = 1e-4  # near order 1 a divergence is a small difference, and its certified rounding errors are 2e-5 of it
VAGUE = 5e-4  # relative error of the oracle with which it says nothing about a price


class Verdict(NamedTuple):
    entry: dict
    charged: float  # epsilon
    least: float  # what the oracle says, with its error
    most: float
    problem: str  # "" when the price is right


# ---- Reading


def from_text(text):
    """Accounts and entries, wherever they are in a row of JSON values."""
    accounts, entries, at, todo = {}, {}, 0, []
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        value, at = json.JSONDecoder().raw_decode(text, at)
        todo.append(value)
    while todo:
        value = todo.pop()
        if isinstance(value, list):
            todo += value
        elif "sequence" in value:
            entries[value["account"], value["sequence"]] = value
        elif "accounting" in value:
            accounts[value["account"]] = value
        else:
            todo += value.get("items", [])
    return accounts, [entries[key] for key in sorted(entries)]


def from_database(path):
    """The same from a server's SQLite file, as api/books/accounts.c shows it."""
    database = sqlite3.connect(path)
    database.row_factory = sqlite3.Row
    accounts, entries = {}, []
    for row in database.execute("SELECT * FROM ledger_accounts"):
        accounts[row["id"]] = {"account": row["id"], "kind": row["kind"], "order": row["renyi_order"],
                               "accounting": "renyi" if row["renyi_order"] > 1 else "basic"}
    for row in database.execute("SELECT * FROM ledger_entries ORDER BY account, sequence"):
        units = {name: row[name + ("" if "delta" in name else "_units")]
                 for name in ("limit", "spent", "held", "limit_delta", "spent_delta", "held_delta")}
        entries.append({"account": row["account"], "sequence": row["sequence"], "kind": row["kind"],
                        "resource": row["resource"], "units": units, "event": json.loads(row["event"])})
    return accounts, entries


def from_server(url):
    """The pages of a running server, as they are."""
    def pages(path):
        more = ""
        while more is not None:
            asked = urllib.request.Request("%s%s?page_size=100%s" % (url, path, more and "&page_token=" + more))
            asked.add_header("Authorization", "Bearer " + os.environ.get("TACET_TOKEN", ""))
            with urllib.request.urlopen(asked) as answer:
                page = json.load(answer)
            yield page
            more = page["next_page_token"]
    for page in pages("/v1/ledger/accounts"):
        yield page
        for account in page["items"]:
            yield from pages("/v1/ledger/accounts/%s/entries" % account["account"])


# ---- Prices


@lru_cache(maxsize=None)
def epsilon_of(event, delta):
    return epsilon(json.loads(event), delta)


@lru_cache(maxsize=None)
def divergence_of(event, order):
    return divergence(json.loads(event), order)


def canonical(event):
    return json.dumps({k: v for k, v in event.items() if k != "reason"}, sort_keys=True)


def price(entry, account, client, is_first):
    """(least, greatest) price in epsilon or divergence, and the allowance for the charge above it.
    CLIENT is the account of the client that a dataset's entry with basic accounting answers, or
    None."""
    event, delta = entry["event"], amounts(entry)[1] * DELTA_UNIT
    payer = client or account
    if payer["accounting"] == "renyi":
        own = 0 if client else infinite_mass(event)
        if not client and abs(delta - own) > DELTA_UNIT + 1e-6 * own or client and bool(delta) != is_first:
            raise Unknown("a delta of %g on entry with Renyi accounting" % delta)
        once = log(1 / delta) / (payer["order"] - 1) if client and delta else 0
        least, most = divergence_of(canonical(event), payer["order"])
        return least + once, most + once, RENYI_GAP
    count = 1
    if entry["kind"] == "debit" and event["type"] == "SelfComposedDpEvent":
        count, event = event["count"], event["event"]
    least, most = epsilon_of(canonical(event), delta / count)
    if most - least > VAGUE * most and "DirichletDpEvent" not in canonical(event):
        raise Unknown("the oracle can only say that it is %.9g to %.9g" % (least, most))
    return count * least, count * most, BASIC_GAP


def amounts(entry):
    """(epsilon, delta) of an entry, in units."""
    what = "held" if entry["kind"] == "hold" else "spent"
    return entry["units"][what], entry["units"][what + "_delta"]


def check_entry(entry, account, client, is_first):
    units, delta = amounts(entry)
    try:
        if entry["event"]["type"] == "NoOpDpEvent":
            least, most, gap = 0, 0, 0
            problem = "charges delta for nothing" if delta else ""
        else:
            least, most, gap = price(entry, account, client, is_first)
            problem = ""
    except (Unknown, KeyError, TypeError) as fault:
        return Verdict(entry, units * UNIT, 0, 0, "cannot be priced: %s %s" % (type(fault).__name__, fault))
    rounding = 1 + entry["event"].get("count", 1) if most > 0 else 0  # each run's price is rounded up
    if units < least / UNIT * (1 - 1e-9) - rounding:
        problem = "charges too little"
    elif units > most / UNIT * (1 + gap) + rounding:
        problem = "charges too much"
    return Verdict(entry, units * UNIT, least, most, problem)


def check_share(entry, entries):
    """An account's entry that sets a share aside, or ends it."""
    own = [e for e in entries if e["account"] == entry["resource"]]
    units, delta = amounts(entry)
    if entry["kind"] == "hold":
        should = {(e["units"]["limit"], e["units"]["limit_delta"]) for e in own if e["kind"] == "open"}
    else:
        spent = [amounts(e) for e in own if e["kind"] in ("debit", "restored")]
        should = {(sum(u for u, _ in spent), sum(d for _, d in spent))}
    problem = "" if (units, delta) in should else "is not what the share was opened with, or has paid"
    return Verdict(entry, units * UNIT, units * UNIT, units * UNIT, problem)


def check(accounts, entries):
    """A verdict on each entry with an event that has a price, in order."""
    entries = [entry for entry in entries if entry["kind"] != "folded"]
    teachers = {entry["resource"]: accounts[entry["account"]] for entry in entries
                if entry["kind"] == "debit" and accounts[entry["account"]]["kind"] in ("teacher", "share")}
    clients = {entry["resource"]: accounts[entry["account"]] for entry in entries
               if entry["kind"] == "debit" and accounts[entry["account"]]["kind"] == "client"}
    seen, verdicts = set(), []
    for entry in entries:
        account = accounts[entry["account"]]
        teacher = client = None
        if entry["kind"] == "restored":
            continue
        if entry["kind"] in ("hold", "settle") and entry["resource"].startswith("acc_"):
            verdicts.append(check_share(entry, entries))
            continue
        converts = isinstance(entry["event"], dict) and entry["event"].get("type") == "EpsilonDeltaDpEvent"
        if entry["kind"] == "debit" and account["kind"] == "dataset" and not converts:
            teacher = teachers.get(entry["resource"])
            if teacher is None:
                verdicts.append(Verdict(entry, amounts(entry)[0] * UNIT, 0, 0, "pays for an unknown teacher"))
                continue
        is_first = False
        if teacher and account["accounting"] == "basic":
            is_first = (teacher["account"], account["account"]) not in seen
            seen.add((teacher["account"], account["account"]))
            client = clients.get(entry["resource"], teacher)
        verdicts.append(check_entry(entry, account, client, is_first))
    return verdicts


def report(name, verdicts):
    """Prints each wrong price; the number of them."""
    wrong = [v for v in verdicts if v.problem]
    for v in wrong:
        print("%s: account %s, entry %d (%s) %s: charged %.9g, the oracle says %.9g to %.9g for %s"
              % (name, v.entry["account"], v.entry["sequence"], v.entry["kind"], v.problem, v.charged,
                 v.least, v.most, json.dumps(v.entry["event"])))
    return len(wrong)


def summary(verdicts):
    """One line on how well charges and oracle agree."""
    priced = [v for v in verdicts if v.most > 0]
    events = {canonical(v.entry["event"]) for v in priced}
    gaps = [v.charged / v.most - 1 for v in priced]
    return ("%d entries, %d of them with a price, %d distinct events; a charge is above the oracle's "
            "figure by at most %.2g of it" % (len(verdicts), len(priced), len(events), max(gaps, default=0)))


def main(arguments):
    save = None
    if arguments[:1] == ["--save"]:
        save, arguments = arguments[1], arguments[2:]
    if not arguments or arguments[0].startswith("-"):
        print(__doc__)
        return 2
    wrong = 0
    for name in arguments:
        if name.startswith("http"):
            text = "\n".join(json.dumps(page) for page in from_server(name))
            if save:
                with open(save, "w") as file:
                    file.write(text)
            read = from_text(text)
        elif name.endswith(".db"):
            read = from_database(name)
        else:
            with open(name) as file:
                read = from_text(file.read())
        verdicts = check(*read)
        wrong += report(name, verdicts)
        print("%s: %s" % (name, summary(verdicts)))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
