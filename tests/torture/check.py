"""What must hold after torture, from plain tables and from what clients were answered. It shares no code with the service.

  check.py FOLDER                 takes the tables from the database of FOLDER/people.json, checks them, and repeats every call
  check.py FOLDER --check-self    breaks what was taken once for each rule: that rule must find it

Tables are taken as CSV into FOLDER/tables, answers and jobs of clients are in answers.jsonl and jobs.jsonl (load.py)."""
import collections
import concurrent.futures
import copy
import csv
import http.client
import itertools
import json
import pathlib
import random
import subprocess
import sys
import threading

csv.field_size_limit(1 << 26)
TABLES = {
    "accounts": "SELECT id, kind, resource, client, limit_units, spent_units, held_units, limit_delta, spent_delta, held_delta, entries"
                " FROM tacet.ledger_accounts",
    "entries": "SELECT account, sequence, kind, limit_units, spent_units, held_units, limit_delta, spent_delta, held_delta, resource"
               " FROM tacet.ledger_entries ORDER BY account, sequence",
    "answers": "SELECT client, key, status, convert_from(body, 'UTF8') AS body FROM tacet.answers",
    "holds": "SELECT hold, account, units, delta_units, ended FROM tacet.ledger_holds",
    "jobs": "SELECT id, state, account, hold_units FROM tacet.jobs",
    "teachers": "SELECT id, account, has_client_budget FROM tacet.teachers",
    "teacher_clients": "SELECT teacher, client, account FROM tacet.teacher_clients",
}
UNITS = ("limit_units", "spent_units", "held_units")
DELTAS = ("limit_delta", "spent_delta", "held_delta")


def take_tables(folder, people):
    pathlib.Path(folder, "tables").mkdir(exist_ok=True)
    for name, query in TABLES.items():
        with open(f"{folder}/tables/{name}.csv", "wb") as out:
            subprocess.run([*people["psql"], "-c", f"COPY ({query}) TO STDOUT WITH (FORMAT csv, HEADER)"], stdout=out, check=True)


class Found:
    """The tables and the clients' logs."""

    def __init__(self, folder):
        for name in TABLES:
            with open(f"{folder}/tables/{name}.csv", newline="") as file:
                setattr(self, name, list(csv.DictReader(file)))
        for row in (*self.accounts, *self.entries, *self.jobs):
            for column in (*UNITS, *DELTAS, "sequence", "entries", "hold_units"):
                if column in row:
                    row[column] = int(row[column])
        self.said = [json.loads(line) for line in open(f"{folder}/answers.jsonl")]
        self.jobs_said = [json.loads(line) for line in open(f"{folder}/jobs.jsonl")]

    def given(self):
        return (row for row in self.said if row["status"] == 200)

    def questions(self):
        """Stored answers of teachers, with the number of the question."""
        for row in self.answers:
            if row["status"] == "200" and row["body"].startswith('{"query":"qry_'):
                yield row["client"], row["key"], json.loads(row["body"])["query"]


# ---- the rules: each gives a sentence for what breaks it

def no_account_is_over_its_limit(found):
    """Worked out from the entries, one after another; the account's row is their sum, and none is missing."""
    sums, last, rows = collections.defaultdict(lambda: [0] * 6), collections.Counter(), {row["id"]: row for row in found.accounts}
    for entry in found.entries:
        account, now = entry["account"], sums[entry["account"]]
        last[account] += 1
        if entry["sequence"] != last[account]:
            yield f"{account} has no entry {last[account]}"
            last[account] = entry["sequence"]
        for i, column in enumerate(UNITS + DELTAS):
            now[i] += entry[column]
        if min(now) < 0 or now[1] + now[2] > now[0] or now[4] + now[5] > now[3]:
            yield f"{account} is over its limit at entry {entry['sequence']}: {now}"
    for account, row in rows.items():
        if [row[column] for column in UNITS + DELTAS] != sums[account] or row["entries"] != last[account]:
            yield f"{account}: its row is not the sum of its {last[account]} entries"
    yield from (f"entries of {account}, which is no account" for account in sums.keys() - rows.keys())


def every_answer_is_stored(found):
    stored = {(row["client"], row["key"]): (row["status"], row["body"]) for row in found.answers}
    for row in found.given():
        if stored.get((row["client"], row["key"])) != ("200", row["body"]):
            yield f"the answer to {row['client']} {row['key']} is not stored as it was given"


def no_key_has_two_answers(found):
    seen, numbers = {}, {}
    for row in itertools.chain(found.given(), (row for row in found.answers if row["body"].startswith('{"query":'))):
        name = row["client"], row["key"]
        if seen.setdefault(name, row["body"]) != row["body"]:
            yield f"{name} has two answers"
        if numbers.setdefault(json.loads(row["body"])["query"], name) != name:
            yield f"{name} and {numbers[json.loads(row['body'])['query']]} have one answer"


def every_debit_is_made_once(found):
    """A stored answer has one debit on each account that pays for it, and there is no debit without an answer."""
    debits = collections.Counter((entry["resource"], entry["account"]) for entry in found.entries if entry["kind"] == "debit")
    teacher_of = {(row["client"], row["key"]): row["teacher"] for row in found.said}
    payers = {row["id"]: [row["account"]] for row in found.teachers}
    capped = {row["id"] for row in found.teachers if row["has_client_budget"] == "1"}
    own = {(row["teacher"], row["client"]): row["account"] for row in found.teacher_clients}
    for client, key, query in found.questions():
        teacher = teacher_of.get((client, key))
        for account in payers.get(teacher, []) + ([own.get((teacher, client))] if teacher in capped else []):
            times = debits.pop((query, account), 0)
            if times != 1:
                yield f"{client} {key}: {query} was debited {times} times from {account}"
    for (query, account), times in debits.items():
        yield f"{account} has {times} debits for {query}, which is no stored answer's"


def nothing_refused_was_charged(found):
    stored = {(client, key) for client, key, _ in found.questions()}
    for row in found.said:
        if row["status"] != 200 and (row["client"], row["key"]) in stored:
            yield f"{row['client']} {row['key']} was told {row['status']}, and has an answer"


def histories_are_in_real_order(found):
    """Of two answers on one account, the one that was there before the other was asked for has the smaller number; and what
    answers say is spent grows with the number."""
    rows = {json.loads(row["body"])["query"]: row for row in found.given()}
    kind = {row["id"]: row["kind"] for row in found.accounts}
    begun, spent = collections.defaultdict(lambda: (0, "")), collections.Counter()
    for entry in found.entries:
        row, account = rows.get(entry["resource"]), entry["account"]
        if not row or entry["kind"] != "debit":
            continue
        if row["end"] < begun[account][0]:
            yield f"{account}: {entry['resource']} stands behind {begun[account][1]}, and was answered before that was asked"
        begun[account] = max(begun[account], (row["begin"], entry["resource"]))
        if kind.get(account) == "client":
            says = json.loads(row["body"])["spent"]["epsilon"]
            if says <= spent[account]:
                yield f"{account}: {entry['resource']} says that {says} is spent, the one before it said {spent[account]}"
            spent[account] = says


def every_job_is_charged_once(found):
    """Each has one hold and one settlement of it; one that succeeded has paid all that was held, no other one more."""
    jobs, ids = {row["id"]: row for row in found.jobs}, collections.Counter()
    entries = collections.defaultdict(list)
    for entry in found.entries:
        if entry["resource"].startswith("job_"):
            entries[entry["resource"]].append(entry)
    for row in found.jobs_said:
        if row["status"] == 202:
            ids[json.loads(row["body"])["id"]] += 1
    for job in ids.keys() | jobs.keys() | entries.keys():
        kinds, row = [entry["kind"] for entry in entries[job]], jobs.get(job)
        paid = sum(entry["spent_units"] for entry in entries[job])
        if not row or ids[job] > 1:
            yield f"{job} was acknowledged {ids[job]} times" + ("" if row else " and is not stored")
        elif row["state"] not in ("succeeded", "failed", "cancelled"):
            yield f"{job} has not ended: {row['state']}"
        elif kinds != ["hold", "settle"] or paid > row["hold_units"] or (row["state"] == "succeeded" and paid != row["hold_units"]):
            yield f"{job} ({row['state']}) has the entries {kinds} and paid {paid} of {row['hold_units']}"


def no_hold_is_left(found):
    yield from (f"{row['id']} holds {row['held_units']}" for row in found.accounts if row["held_units"] or row["held_delta"])
    yield from (f"the hold {row['hold']} has not ended" for row in found.holds if row["ended"] == "0")


def every_answer_is_replayed(found, people, rows=None):
    """By any of the servers, byte for byte."""
    tokens = {student["id"]: student["token"] for student in people["students"]}
    rows, local, wrong = list(found.given()) if rows is None else rows, threading.local(), []

    def repeat(row):
        body = json.dumps(row["question"])
        for _ in range(100):
            try:
                if not getattr(local, "wire", None):
                    local.wire = http.client.HTTPConnection(random.choice(people["servers"]), timeout=30)
                local.wire.request("POST", f"/v1/teachers/{row['teacher']}/queries", body, {
                    "Authorization": "Bearer " + tokens[row["client"]], "Content-Type": "application/json", "Idempotency-Key": row["key"]})
                answer = local.wire.getresponse()
                text = answer.read().decode()
            except (OSError, http.client.HTTPException):
                local.wire = None
                continue
            if answer.status in (429, 503):
                continue
            if (answer.status, text, answer.headers.get("Idempotency-Replayed")) != (200, row["body"], "true"):
                wrong.append(f"{row['client']} {row['key']} was answered anew: {answer.status} {text[:100]}")
            return
        wrong.append(f"{row['client']} {row['key']} was not answered any more")

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        for _ in pool.map(repeat, rows):
            pass
    return wrong


RULES = [no_account_is_over_its_limit, every_answer_is_stored, no_key_has_two_answers, every_debit_is_made_once,
         nothing_refused_was_charged, histories_are_in_real_order, every_job_is_charged_once, no_hold_is_left]


def check(found, people):
    """Gives what is wrong, by rule."""
    wrong = {rule.__name__: list(rule(found)) for rule in RULES}
    wrong["every_answer_is_replayed"] = every_answer_is_replayed(found, people)
    return wrong


# ---- one edit for each rule

def edit_limit(found):
    account = next(row for row in found.accounts if row["kind"] == "client" and row["entries"] > 1)
    less = account["limit_units"] - account["spent_units"] + 1
    account["limit_units"] -= less
    next(entry for entry in found.entries if entry["account"] == account["id"])["limit_units"] -= less


def edit_missing(found):
    """An entry that nobody misses but its neighbours: the sums are set right."""
    at = next(i for i, entry in enumerate(found.entries) if entry["kind"] == "debit")
    gone = found.entries.pop(at)
    next(row for row in found.accounts if row["id"] == gone["account"])["spent_units"] -= gone["spent_units"]


def edit_stored(found):
    row = next(found.given())
    found.answers = [other for other in found.answers if (other["client"], other["key"]) != (row["client"], row["key"])]


def edit_two(found):
    row = dict(next(found.given()))
    row["body"] = row["body"].replace('"query":"qry_', '"query":"qry_x')
    found.said.append(row)


def edit_twice(found):
    found.entries.append(dict(next(entry for entry in found.entries if entry["kind"] == "debit")))


def edit_free(found):
    found.entries.remove(next(entry for entry in found.entries if entry["kind"] == "debit"))


def edit_refused(found):
    row = copy.deepcopy(next(found.given()))
    row["status"] = 403
    found.said.append(row)


def edit_order(found):
    """The first and the last one of an account change places."""
    longest = max((row for row in found.accounts if row["kind"] == "client"), key=lambda row: row["entries"])["id"]
    debits = [entry for entry in found.entries if entry["account"] == longest and entry["kind"] == "debit"]
    debits[0]["resource"], debits[-1]["resource"] = debits[-1]["resource"], debits[0]["resource"]


def edit_job(found):
    found.entries.append(dict(next(entry for entry in found.entries if entry["kind"] == "settle")))


def edit_hold(found):
    found.holds[0]["ended"] = "0"


EDITS = [(no_account_is_over_its_limit, edit_limit), (no_account_is_over_its_limit, edit_missing), (every_answer_is_stored, edit_stored),
         (no_key_has_two_answers, edit_two), (every_debit_is_made_once, edit_twice), (every_debit_is_made_once, edit_free),
         (nothing_refused_was_charged, edit_refused), (histories_are_in_real_order, edit_order), (every_job_is_charged_once, edit_job),
         (no_hold_is_left, edit_hold)]


def check_self(folder, people):
    """Each edit is made on the tables alone, which are read anew for it. Gives the number of edits that no rule found."""
    missed = 0
    for rule, edit in EDITS:
        found = Found(folder)
        edit(found)
        says = next(rule(found), None)
        missed += says is None
        print(f"check: {edit.__name__}: {says or 'NOT FOUND by ' + rule.__name__}", flush=True)
    row = dict(next(Found(folder).given()))
    row["body"] = row["body"].replace("0", "1", 1)
    says = every_answer_is_replayed(None, people, [row])
    print(f"check: edit_replay: {says[0][:120] if says else 'NOT FOUND by every_answer_is_replayed'}", flush=True)
    return missed + (not says)


def main():
    folder = sys.argv[1]
    people = json.loads(pathlib.Path(folder, "people.json").read_text())
    if "--check-self" in sys.argv:
        sys.exit(1 if check_self(folder, people) else 0)
    take_tables(folder, people)
    found = Found(folder)
    wrong = check(found, people)
    for rule, says in wrong.items():
        print(f"check: {rule}: {'holds' if not says else f'BROKEN {len(says)} times'}")
        for sentence in says[:10]:
            print("    " + sentence)
    print(f"check: {len(found.said)} calls of clients, {sum(1 for _ in found.given())} answers about"
          f" {sum(len(row['question'].get('states', [1])) for row in found.given())} states, {len(found.answers)} stored,"
          f" {len(found.entries)} entries of {len(found.accounts)} accounts, {len(found.jobs)} jobs")
    sys.exit(1 if any(wrong.values()) else 0)


if __name__ == "__main__":
    main()
