#!/usr/bin/env python3
"""Mutants of the product that the simulator has to find.

Each row of MUTANTS puts a mistake into one file of a copy of the tree, builds test_simulator there and lives until the mistake is
found. A row whose old text does not stand in its file exactly once fails: the code has moved, so move the row.

    tests/simulator/mutants.py [--check] [--steps N] [--copy DIRECTORY] [NAME...]

--check, which make test runs, only looks whether every row is still where the code is. The copy is made anew unless it exists.
MAKE (default "make -j2") builds. Run by hand: it takes a minute for each two mutants.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

LIFE = 2000  # steps, as in simulator_test.c

MUTANTS = [
    # name, file, old text, new text
    ("the client does not pay", "api/teachers/query_pay.c",
     "payer_price(standing->account, &cost[PAYER_CLIENT]);", "payer_price(standing->account, &(struct filter_price){0});"),
    ("the teacher's account does not pay", "storage/ledger/ledger_charge.c",
     "    for (unsigned i = 0; status == DB_OK && out->verdict == LEDGER_OK && i < out->count; i++) {\n"
     "        struct ledger_part *part = &out->parts[i];\n        struct ledger_entry entry = {.time_ms = charge->now_ms,\n"
     "                                     .kind = LEDGER_ENTRY_DEBIT,",
     "    for (unsigned i = 0; status == DB_OK && out->verdict == LEDGER_OK && i < 1; i++) {\n"
     "        struct ledger_part *part = &out->parts[i];\n        struct ledger_entry entry = {.time_ms = charge->now_ms,\n"
     "                                     .kind = LEDGER_ENTRY_DEBIT,"),
    ("several states for the price of one", "api/teachers/query.c",
     "teacher_prices_times(&t->price, query->count, &query->cost)", "teacher_prices_times(&t->price, 1, &query->cost)"),
    ("the dataset's first answer costs no more", "api/teachers/query_pay.c",
     "        out->units += first.units;", "        out->units += 0 * first.units;"),
    ("an answer although the budget is held", "api/teachers/query_pay.c",
     "    else if (outcome.verdict != LEDGER_OK)\n", "    else if (outcome.verdict == LEDGER_EXHAUSTED)\n"),
    ("a random answer although the budget is only held", "api/teachers/query_pay.c",
     "query->random = outcome.verdict == LEDGER_EXHAUSTED &&", "query->random = outcome.verdict != LEDGER_OK &&"),
    ("a random answer is not marked", "api/teachers/query_reply.c",
     "    if (answer->random)", "    if (answer->random && answer->floor)"),
    ("what is held does not count", "storage/ledger/ledger_charge.c",
     "    if (a->spent_units + a->held_units + part->requested_units > a->limit_units ||",
     "    if (a->spent_units + part->requested_units > a->limit_units ||"),
    ("a lost hold", "storage/ledger/ledger_hold.c",
     "                                 .held_units = part->requested_units,", "                                 .held_units = 0,"),
    ("a hold that is not freed", "storage/ledger/ledger_hold.c",
     ".held_units = -held->units,", ".held_units = 0,"),
    ("a settlement pays nothing", "storage/ledger/ledger_hold.c",
     "                                 .kind = LEDGER_ENTRY_SETTLE,\n"
     "                                 .spent_units = part->requested_units,",
     "                                 .kind = LEDGER_ENTRY_SETTLE,\n                                 .spent_units = 0,"),
    ("a job ends without a settlement", "api/jobs/run/job_finish.c",
     "    if (job->account[0] == '\\0')\n        return DB_OK;\n    enum db_status status = ledger_find(",
     "    if (job->account[0] != '\\0')\n        return DB_OK;\n    enum db_status status = ledger_find("),
    ("a job that was left pays for its last steps alone", "api/jobs/run/job_finish.c",
     "if (finish->ending->policy || run->release || run->resumed)", "if (finish->ending->policy || run->release)"),
    ("a job that succeeds pays nothing", "api/jobs/run/job_finish.c",
     "    finish->units = job->hold_units;", "    finish->units = run->resumed ? job->hold_units : 0;"),
    ("a cancelled job keeps its hold", "api/jobs/jobs.c",
     "    case JOB_CANCEL_DONE: problem = release_hold(call, job); break;", "    case JOB_CANCEL_DONE: break;"),
    ("a running job that is cancelled is free", "api/jobs/jobs.c",
     "    case JOB_CANCEL_REQUESTED: break;", "    case JOB_CANCEL_REQUESTED: problem = release_hold(call, job); break;"),
    ("a lost lease ends the job all the same", "api/jobs/run/job_finish.c",
     "    if (status == DB_OK && !ours) {", "    if (status == DB_OK && !ours && !run) {"),
    ("a job without a hold", "api/jobs/jobs.c",
     "    problem = hold_price(call, wish, &job, &held);\n", "    (void)hold_price;\n"),
    ("a reused key gets the old answer", "api/call/idempotency.c",
     "    return sodium_memcmp(print, answer->fingerprint, sizeof print) == 0 ||",
     "    return sodium_memcmp(print, answer->fingerprint, sizeof print) <= 0 ||"),
    ("an answer is not stored", "api/call/call_serve.c",
     "problem = idempotency_store(call, key);", "problem = PROBLEM_NONE;"),
    ("an answer is stored without its last byte", "api/call/idempotency.c",
     "        .status = reply->status, .body_size = size, .created_ms", "        .status = reply->status, .body_size = size - 1, .created_ms"),
    ("keys of all clients are one", "storage/answers/answers.c",
     '"WHERE client = $1 AND key = $2",', '"WHERE $1 = $1 AND key = $2 LIMIT 1",'),
    ("the answer leaves, whatever becomes of the debit", "server/batch.c",
     "    if (status != DB_OK)\n        batch_answer_failure(place, list, status);",
     "    if (status == DB_RETRY)\n        batch_answer_failure(place, list, status);"),
    ("a commit that failed is taken for a good one", "server/batch.c",
     "    status = db_commit_batch(place->db);", "    if (db_commit_batch(place->db) == DB_RETRY)\n        status = DB_RETRY;"),
    ("a request that failed half way stays in its batch", "storage/db/db.c",
     "db_changes(db) != before)", "db_changes(db) < before)"),
    ("a savepoint that is never rolled back", "storage/db/db.c",
     "    if (status != DB_OK)\n        undo_step(db);", "    if (status == DB_RETRY)\n        undo_step(db);"),
    ("balances of a batch are not written", "storage/ledger/ledger_batch.c",
     "        if (account->row.entries == account->now.entries)", "        if (account->row.entries + 1 == account->now.entries)"),
    ("a batch commits although its balances failed", "storage/db/db.c",
     "    enum db_status status = commit ? db_batch_write(db) : db->lost;\n",
     "    enum db_status status = commit ? db_batch_write(db) : db->lost;\n"
     "    if (commit && db->lost == DB_OK && status != DB_RETRY)\n        status = DB_OK;\n"),
    ("a limit below what is spent", "storage/ledger/ledger_limit.c",
     "    if (l->limit_units < a->spent_units + a->held_units ||", "    if (l->limit_units < a->held_units ||"),
    ("the end of a release is not stored", "api/releases/q_releases.c",
     "    enum db_status status = q_releases_end(call->db, row->id, call->now_ms);", "    enum db_status status = DB_OK;"),
    ("an ended release answers who just asked", "api/releases/q_releases.c",
     "    pass_end_all(call->app);\n    return call_reply_empty", "    return call_reply_empty"),
    ("any secret is good", "storage/client_tokens.c", "t.secret_hash = \"\n        \"$2 AND c.id", "t.secret_hash <> \"\n        \"$2 AND c.id"),
    ("strangers cancel jobs", "api/jobs/jobs.c",
     "!call_owns(call, job->owner)", "job->owner[0] == '\\0'"),
    ("a revoked student asks on", "api/call/auth.c", "bearer.client.revoked_ms != 0 ||", "bearer.client.revoked_ms < 0 ||"),
    ("a revoked student keeps a pass", "api/books/clients.c", "    pass_end_all(call->app);\n", ""),
    ("a dataset is deleted under its jobs", "api/data/datasets.c",
     "    if (status == DB_OK && used) {", "    if (status != DB_OK && used) {"),
    ("a job on data that were deleted while it was planned", "api/jobs/jobs.c",
     "        problem = check_dataset_now(call, wish);\n", "        problem = PROBLEM_NONE;\n"),
    ("a teacher answers from data that were deleted", "api/teachers/query.c",
     "    if (t->dataset[0] == '\\0')\n        return PROBLEM_NONE;\n", "    if (t->dataset[0] != 'x')\n        return PROBLEM_NONE;\n"),
    ("an entry that could not be written is forgotten", "storage/ledger/ledger_entry.c",
     "    return status == DB_NONE ? DB_RETRY : status;\n}\n\n/* ---- reading */",
     "    return status == DB_NONE ? DB_RETRY : DB_OK;\n}\n\n/* ---- reading */"),
    ("a key that is over is answered anew", "api/call/retention.c",
     "    if (date >= 0 && date < from) {", "    if (date >= 0 && date < 0) {"),
    ("answers are removed a day early", "api/prune.c",
     ".from_ms = retention_at(app, now_ms), .now_ms", ".from_ms = retention_at(app, now_ms) + 86400000, .now_ms"),
    ("after a removal the clock alone says which keys are over", "api/prune.c",
     "atomic_store(&app->answers_from_ms, work.sweep.from_ms);", "atomic_store(&app->answers_from_ms, 0);"),
    ("a start forgets from when answers are kept", "api/app.c",
     "atomic_init(&app->answers_from_ms, settings->answers_from_ms);", "atomic_init(&app->answers_from_ms, 0);"),
    ("from when answers are kept is noted once", "storage/answers/answers.c",
     "    if (status != DB_OK || noted_ms >= from_ms)", "    if (status != DB_OK || noted_ms > 0)"),
    # limits
    ("one steward alone sets a limit", "api/books/limits.c",
     "    if (approvals > 1)\n        return store_proposal", "    if (approvals > LIMIT_APPROVALS_MAX)\n        return store_proposal"),
    ("who proposed a limit approves it", "api/books/limits.c",
     "    if (problem == PROBLEM_NONE && strcmp(row.proposer, call->caller.id) == 0)", "    if (problem == PROBLEM_NONE && row.proposer[0] == '\\0')"),
    ("a limit that was declined is approved", "api/books/limits.c",
     "out->state != LIMIT_CHANGE_OPEN)", "out->state == LIMIT_CHANGE_APPROVED)"),
    ("an approved limit waits still", "api/books/limits.c",
     "    enum db_status status = limit_changes_decide(call->db, row);", "    enum db_status status = DB_OK;"),
    ("an approval sets no limit", "api/books/limits.c",
     "        problem = limit_apply(call, &set, &set.account);\n    if (problem != PROBLEM_NONE)\n        return problem;\n    return decide_change",
     "        problem = PROBLEM_NONE;\n    if (problem != PROBLEM_NONE)\n        return problem;\n    return decide_change"),
    ("a limit changes whatever it was", "api/call/revision.c",
     'bool found = strcmp(header, "*") == 0;', 'bool found = header[0] != 0;'),
    ("a limit is set twice", "storage/ledger/ledger_limit.c",
     "    return ledger_post(db, a, &entry);",
     "    status = ledger_post(db, a, &entry);\n    entry.limit_units = entry.limit_delta = 0;\n"
     "    return status == DB_OK ? ledger_post(db, a, &entry) : status;"),
    # students ask for larger ones
    ("a request for a limit is granted twice", "api/teachers/budget_requests.c",
     "out->state != BUDGET_REQUEST_OPEN)", "out->state == BUDGET_REQUEST_DECLINED)"),
    ("a request that was granted waits still", "api/teachers/budget_requests.c",
     "    enum db_status status = budget_requests_decide(call->db, row);", "    enum db_status status = DB_OK;"),
    ("a granted request lowers a limit", "api/teachers/budget_requests.c",
     "    if (grant->limits.limit_units >= now->limit_units &&", "    if (grant->limits.limit_units > 0 &&"),
    ("a student asks while a request waits", "api/teachers/budget_requests.c", "    if (here > 0)", "    if (here > 1)"),
    ("a revoked student gets a limit", "api/teachers/grant.c", "client.revoked_ms != 0 ||", "client.revoked_ms < 0 ||"),
    # uploads
    ("a repeated upload is counted again", "api/call/call_serve.c",
     "    if (problem == PROBLEM_NONE && key)\n        problem = idempotency_store",
     "    if (problem == PROBLEM_NONE && key && call->route->body != BODY_STREAM)\n        problem = idempotency_store"),
    ("two uploads at once under one key", "api/call/call_serve.c",
     "problem = key ? idempotency_replay(", "problem = key && call->route->body != BODY_STREAM ? idempotency_replay("),
    ("half an upload stays", "storage/uploads_drop.c", "        before_ms = INT64_MAX;", "        before_ms = 0;"),
    ("an upload that was cut is stored so far", "api/data/trajectories.c",
     "            if (call_error_count(call) > 0)\n                return PROBLEM_VALIDATION;\n            return upload_flush",
     "            return upload_flush"),
    ("an upload is not counted", "storage/uploads.c",
     '"UPDATE datasets SET trajectories = trajectories + $2, "', '"UPDATE datasets SET trajectories = $2, "'),
    ("an expert gets another key with each upload", "storage/keys/keyring.c",
     "    if (status != KEYRING_NONE && !(status == KEYRING_ERASED && is_new))", "    if (status == KEYRING_FULL && is_new)"),
    # keys that sign, and what they sign
    ("the key before a rotation signs alone", "api/call/certificate.c",
     "tlog_checkpoint_add(out, &checkpoint, pair[0].secret_key);", "tlog_checkpoint_add(out, &checkpoint, pair[count - 1].secret_key);"),
    ("a rotation is told and not stored", "storage/signing_keys.c",
     "        status = db_owed(table_insert(db, &signing_keys_table, out, NULL, 0));\n", "        status = DB_OK;\n"),
    ("a checkpoint tells of an entry too many", "api/call/certificate.c",
     "{.size = (int64_t)tree->tree.size};", "{.size = (int64_t)tree->tree.size + 1};"),
    # a mistake only where another server is at work on the database
    ("a pass outlives what another server ended", "api/call/pass.c", "#define LIVES_MS    1000\n", "#define LIVES_MS    1000000\n"),
    # in batches as PostgreSQL has them
    ("a key of the same batch is looked for once", "storage/answers/answers.c",
     "    if (expected)\n        expected->is_new = false;\n", "    (void)expected;\n"),
    ("rows that were put off come after a statement that reads them", "storage/db/db_connection.c",
     "    enum db_status status = db_send_rows(db);\n    return status == DB_OK ? db_run_now",
     "    enum db_status status = DB_OK;\n    return status == DB_OK ? db_run_now"),
    # where a standby takes over
    ("an answer that no standby has is given again", "api/call/call_serve.c",
     "    enum db_status status = db_transact(call->db, try_replay, &change);\n    *out_replayed = change.replayed;\n"
     "    return status == DB_OK ? change.problem : call_db(call, status);",
     "    (void)try_replay;\n    (void)change;\n    return problem;"),
    ("a server goes on after a commit that nobody knows", "storage/db/db_connection.c",
     "    return db->fault.broken;", "    return db->fault.broken && !db;"),
    ("keys of days to come are answered", "api/call/retention.c",
     "    if (date > call->now_ms + ANSWERS_EARLY_MS) {", "    if (date == INT64_MAX) {"),
]


def replaced(text, row):
    name, path, old, new = row
    if text.count(old) != 1:
        sys.exit(f"{name}: its old text is {text.count(old)} times in {path}; move the row to where the code is now")
    return text.replace(old, new)


def live(copy, steps):
    """The steps until the simulator found something, and what; None: nothing."""
    run = subprocess.run(["build/release/test_simulator", "--filter", "simulator/nothing*"], cwd=copy, capture_output=True,
                         text=True, env=dict(os.environ, STEPS=str(steps), SEED="1"))
    if run.returncode == 0:
        return None
    found = re.search(r"SEED=(\d+) step (\d+): (.*)", run.stderr)
    if found:
        return (int(found[1]) - 1) * LIFE + int(found[2]), found[3][:90]
    if "simulator/scene.c" in run.stderr:
        return 0, "the first calls of the scene already"
    last = [line for line in run.stderr.splitlines() if "ssert" in line or "CRASH" in line or "rror" in line]
    return -1, (last or ["it ended"])[0][:90]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--steps", type=int, default=400000)
    parser.add_argument("--copy")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    rows = [row for row in MUTANTS if not arguments.names or row[0] in arguments.names]
    for row in rows:  # all of them before the first is built
        replaced(open(row[1]).read(), row)
    if arguments.check:
        return 0
    copy = arguments.copy or tempfile.mkdtemp(prefix="tacet-mutants-")
    if not os.path.exists(os.path.join(copy, "Makefile")):
        shutil.copytree(".", copy, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".git", "test_*"))
    make = os.environ.get("MAKE", "make -j2") + " WARNINGS=-w build/release/test_simulator"
    built = subprocess.run(make, shell=True, cwd=copy, capture_output=True, text=True)
    if built.returncode != 0:
        sys.exit(f"the sound program does not build\n{built.stderr[-2000:]}")
    if found := live(copy, 10 * LIFE):  # else every mutant would seem to be found
        sys.exit(f"the sound program fails: {found}")
    missed = 0
    for row in rows:
        path = os.path.join(copy, row[1])
        sound = open(row[1]).read()
        open(path, "w").write(replaced(sound, row))
        try:
            built = subprocess.run(make, shell=True, cwd=copy, capture_output=True, text=True)
            if built.returncode != 0:
                sys.exit(f"{row[0]}: does not build\n{built.stderr[-2000:]}")
            found = live(copy, arguments.steps)
        finally:
            open(path, "w").write(sound)
        missed += found is None
        told = "MISSED" if found is None else f"{found[0] if found[0] >= 0 else 'assert':>8}  {found[1]}"
        print(f"{row[0]:52} {told}", flush=True)
    print(f"{len(rows) - missed} of {len(rows)} found")
    if not arguments.copy:
        shutil.rmtree(copy)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
