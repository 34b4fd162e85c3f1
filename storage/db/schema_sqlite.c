/* The tables, in SQLite's types. A version, once released, never changes: a new one is added.
 *
 * DESIGN. Tables that grow without end (answers, entries) are ordinary ones: rows are appended, and
 * only a small index is hit elsewhere. The rules that matter most stand here as
 * well as in C: no balance beyond its limit, and nothing that happened is changed or removed. Times
 * are milliseconds since 1970; ids and short words are checked by C. Every statement is one string.
 */
#include "storage/db/schema_sqlite.h"

#include <stddef.h>

static const char *const version_1[] = {
    "CREATE TABLE meta (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) STRICT",

    "CREATE TABLE clients ("
    " id TEXT NOT NULL PRIMARY KEY,"
    " name TEXT NOT NULL,"
    " role TEXT NOT NULL,"
    " secret_hash BLOB NOT NULL,"
    " created_ms INTEGER NOT NULL,"
    " revoked_ms INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID",
    "CREATE INDEX clients_by_time ON clients (created_ms, id)",

    /* ---- the ledger */
    "CREATE TABLE ledger_accounts ("
    " id TEXT NOT NULL PRIMARY KEY,"
    " kind TEXT NOT NULL,"
    " resource TEXT NOT NULL,"
    " client TEXT NOT NULL," /* '' for none: NULL would escape the uniqueness */
    " owner TEXT NOT NULL,"
    " unit TEXT NOT NULL,"
    " renyi_order REAL NOT NULL,"
    " epsilon REAL NOT NULL,"
    " delta REAL NOT NULL,"
    " limit_units INTEGER NOT NULL,"
    " spent_units INTEGER NOT NULL,"
    " held_units INTEGER NOT NULL,"
    " limit_delta INTEGER NOT NULL,"
    " spent_delta INTEGER NOT NULL,"
    " held_delta INTEGER NOT NULL,"
    " entries INTEGER NOT NULL,"
    " head BLOB NOT NULL,"
    " created_ms INTEGER NOT NULL,"
    " UNIQUE (kind, resource, client),"
    " CHECK (spent_units >= 0 AND held_units >= 0 AND spent_units + held_units <= limit_units),"
    " CHECK (spent_delta >= 0 AND held_delta >= 0 AND spent_delta + held_delta <= limit_delta),"
    " CHECK (limit_units <= 4000000000000000000 AND limit_delta <= 4000000000000000000)"
    ") STRICT, WITHOUT ROWID",
    "CREATE INDEX ledger_accounts_by_time ON ledger_accounts (created_ms, id)",
    "CREATE INDEX ledger_accounts_by_owner ON ledger_accounts (owner, created_ms, id)",
    "CREATE INDEX ledger_accounts_by_client ON ledger_accounts (client, created_ms, id)",

    "CREATE TABLE ledger_entries ("
    " account TEXT NOT NULL REFERENCES ledger_accounts (id),"
    " sequence INTEGER NOT NULL,"
    " time_ms INTEGER NOT NULL,"
    " kind TEXT NOT NULL,"
    " limit_units INTEGER NOT NULL,"
    " spent_units INTEGER NOT NULL,"
    " held_units INTEGER NOT NULL,"
    " limit_delta INTEGER NOT NULL,"
    " spent_delta INTEGER NOT NULL,"
    " held_delta INTEGER NOT NULL,"
    " epsilon REAL NOT NULL,"
    " delta REAL NOT NULL,"
    " client TEXT NOT NULL,"
    " resource TEXT NOT NULL,"
    " event TEXT NOT NULL,"
    " previous_hash BLOB NOT NULL,"
    " hash BLOB NOT NULL,"
    " PRIMARY KEY (account, sequence)) STRICT",

    "CREATE TABLE ledger_holds ("
    " hold TEXT NOT NULL,"
    " account TEXT NOT NULL REFERENCES ledger_accounts (id),"
    " units INTEGER NOT NULL,"
    " delta_units INTEGER NOT NULL,"
    " ended INTEGER NOT NULL DEFAULT 0,"
    " PRIMARY KEY (hold, account)) STRICT, WITHOUT ROWID",
    "CREATE INDEX ledger_holds_open ON ledger_holds (account) WHERE ended = 0",

    "CREATE TABLE answers ("
    " client TEXT NOT NULL,"
    " key TEXT NOT NULL,"
    " fingerprint BLOB NOT NULL,"
    " status INTEGER NOT NULL,"
    " content_type TEXT NOT NULL,"
    " location TEXT NOT NULL,"
    " body BLOB NOT NULL,"
    " created_ms INTEGER NOT NULL,"
    " PRIMARY KEY (client, key)) STRICT",

    "CREATE TRIGGER ledger_entries_stay BEFORE DELETE ON ledger_entries"
    " BEGIN SELECT RAISE(ABORT, 'entries of the ledger are never removed'); END",
    "CREATE TRIGGER ledger_entries_fixed BEFORE UPDATE ON ledger_entries"
    " BEGIN SELECT RAISE(ABORT, 'entries of the ledger never change'); END",
    "CREATE TRIGGER ledger_accounts_stay BEFORE DELETE ON ledger_accounts"
    " BEGIN SELECT RAISE(ABORT, 'accounts of the ledger are never removed'); END",
    "CREATE TRIGGER ledger_holds_stay BEFORE DELETE ON ledger_holds"
    " BEGIN SELECT RAISE(ABORT, 'holds of the ledger are never removed'); END",
    "CREATE TRIGGER ledger_holds_end_once BEFORE UPDATE ON ledger_holds WHEN OLD.ended <> 0"
    " BEGIN SELECT RAISE(ABORT, 'a hold ends once'); END",
    "CREATE TRIGGER answers_stay BEFORE DELETE ON answers"
    " BEGIN SELECT RAISE(ABORT, 'answers are never removed'); END",
    "CREATE TRIGGER answers_fixed BEFORE UPDATE ON answers"
    " BEGIN SELECT RAISE(ABORT, 'answers never change'); END",

    /* ---- datasets */
    "CREATE TABLE datasets ("
    " id TEXT NOT NULL PRIMARY KEY,"
    " owner TEXT NOT NULL,"
    " name TEXT NOT NULL,"
    " environment TEXT NOT NULL,"
    " state_dim INTEGER NOT NULL,"
    " action_count INTEGER NOT NULL,"
    " max_episode_steps INTEGER NOT NULL,"
    " discount REAL NOT NULL,"
    " min_action_probability REAL NOT NULL,"
    " is_public INTEGER NOT NULL,"
    " nominal_experts INTEGER NOT NULL,"
    " state TEXT NOT NULL,"
    " experts INTEGER NOT NULL DEFAULT 0,"
    " trajectories INTEGER NOT NULL DEFAULT 0,"
    " transitions INTEGER NOT NULL DEFAULT 0,"
    " account TEXT NOT NULL,"
    " created_ms INTEGER NOT NULL,"
    " purged INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID",
    "CREATE INDEX datasets_by_time ON datasets (created_ms, id)",
    "CREATE INDEX datasets_to_purge ON datasets (id) WHERE state = 'deleted' AND purged = 0",

    "CREATE TABLE experts ("
    " dataset TEXT NOT NULL REFERENCES datasets (id),"
    " number INTEGER NOT NULL,"
    " name TEXT NOT NULL,"
    " owner TEXT NOT NULL,"
    " PRIMARY KEY (dataset, number),"
    " UNIQUE (dataset, owner, name)) STRICT, WITHOUT ROWID",

    "CREATE TABLE expert_policies ("
    " dataset TEXT NOT NULL,"
    " number INTEGER NOT NULL,"
    " bytes BLOB NOT NULL,"
    " stored_ms INTEGER NOT NULL,"
    " PRIMARY KEY (dataset, number),"
    " FOREIGN KEY (dataset, number) REFERENCES experts (dataset, number)) STRICT",

    /* place: 0 while staged, then 1, 2, ... in the order of commits; -1: being dropped */
    "CREATE TABLE uploads ("
    " id TEXT NOT NULL PRIMARY KEY,"
    " dataset TEXT NOT NULL REFERENCES datasets (id),"
    " client TEXT NOT NULL,"
    " place INTEGER NOT NULL,"
    " chunks INTEGER NOT NULL,"
    " created_ms INTEGER NOT NULL,"
    " experts BLOB NOT NULL) STRICT",
    "CREATE INDEX uploads_in_order ON uploads (dataset, place)",
    "CREATE INDEX uploads_unfinished ON uploads (id) WHERE place <= 0",

    "CREATE TABLE upload_chunks ("
    " upload TEXT NOT NULL REFERENCES uploads (id),"
    " sequence INTEGER NOT NULL,"
    " bytes BLOB NOT NULL,"
    " PRIMARY KEY (upload, sequence)) STRICT",

    /* ---- jobs */
    "CREATE TABLE jobs ("
    " id TEXT NOT NULL PRIMARY KEY,"
    " owner TEXT NOT NULL,"
    " algorithm TEXT NOT NULL,"
    " mechanism TEXT NOT NULL,"
    " dataset TEXT NOT NULL,"
    " environment TEXT NOT NULL,"
    " request TEXT NOT NULL,"
    " plan TEXT NOT NULL,"
    " state TEXT NOT NULL,"
    " step INTEGER NOT NULL DEFAULT 0,"
    " total_steps INTEGER NOT NULL,"
    " account TEXT NOT NULL,"
    " hold_units INTEGER NOT NULL,"
    " hold_delta INTEGER NOT NULL,"
    " lease_owner TEXT NOT NULL DEFAULT '',"
    " lease_until_ms INTEGER NOT NULL DEFAULT 0,"
    " cancel_requested INTEGER NOT NULL DEFAULT 0,"
    " policy TEXT NOT NULL DEFAULT '',"
    " has_evaluation INTEGER NOT NULL DEFAULT 0,"
    " mean_return REAL NOT NULL DEFAULT 0,"
    " std_return REAL NOT NULL DEFAULT 0,"
    " episodes INTEGER NOT NULL DEFAULT 0,"
    " problem_slug TEXT NOT NULL DEFAULT '',"
    " problem_detail TEXT NOT NULL DEFAULT '',"
    " epsilon_spent REAL NOT NULL DEFAULT 0,"
    " created_ms INTEGER NOT NULL,"
    " started_ms INTEGER NOT NULL DEFAULT 0,"
    " finished_ms INTEGER NOT NULL DEFAULT 0) STRICT",
    "CREATE INDEX jobs_by_time ON jobs (created_ms, id)",
    "CREATE INDEX jobs_to_run ON jobs (state, created_ms, id)",
    "CREATE INDEX jobs_by_dataset ON jobs (dataset, state)",

    "CREATE TABLE checkpoints ("
    " job TEXT NOT NULL PRIMARY KEY REFERENCES jobs (id),"
    " step INTEGER NOT NULL,"
    " bytes BLOB NOT NULL) STRICT",

    /* ---- what was learned, and who may ask */
    "CREATE TABLE policies ("
    " id TEXT NOT NULL PRIMARY KEY,"
    " owner TEXT NOT NULL,"
    " name TEXT NOT NULL,"
    " environment TEXT NOT NULL,"
    " dataset TEXT NOT NULL,"
    " job TEXT NOT NULL,"
    " mechanism TEXT NOT NULL,"
    " released INTEGER NOT NULL,"
    " state_dim INTEGER NOT NULL,"
    " action_count INTEGER NOT NULL,"
    " certificate TEXT NOT NULL,"
    " created_ms INTEGER NOT NULL,"
    " bytes BLOB NOT NULL) STRICT",
    "CREATE INDEX policies_by_time ON policies (created_ms, id)",

    "CREATE TABLE certificates ("
    " id TEXT NOT NULL PRIMARY KEY,"
    " policy TEXT NOT NULL UNIQUE REFERENCES policies (id),"
    " owner TEXT NOT NULL,"
    " created_ms INTEGER NOT NULL,"
    " text TEXT NOT NULL) STRICT",

    "CREATE TABLE teachers ("
    " id TEXT NOT NULL PRIMARY KEY,"
    " owner TEXT NOT NULL,"
    " policy TEXT NOT NULL REFERENCES policies (id),"
    " mechanism TEXT NOT NULL,"
    " adjacency TEXT NOT NULL,"
    " concentration REAL NOT NULL,"
    " min_probability REAL NOT NULL,"
    " vanishing REAL NOT NULL,"
    " temperature REAL NOT NULL,"
    " radius REAL NOT NULL,"
    " lipschitz REAL NOT NULL,"
    " sensitivity REAL NOT NULL,"
    " renyi_order REAL NOT NULL,"
    " account TEXT NOT NULL REFERENCES ledger_accounts (id),"
    " has_client_budget INTEGER NOT NULL,"
    " client_epsilon REAL NOT NULL,"
    " client_delta REAL NOT NULL,"
    " created_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID",
    "CREATE INDEX teachers_by_time ON teachers (created_ms, id)",

    "CREATE TABLE teacher_clients ("
    " teacher TEXT NOT NULL REFERENCES teachers (id),"
    " client TEXT NOT NULL,"
    " account TEXT NOT NULL REFERENCES ledger_accounts (id),"
    " rollout INTEGER NOT NULL DEFAULT 0,"
    " revision INTEGER NOT NULL DEFAULT 1,"
    " created_ms INTEGER NOT NULL,"
    " PRIMARY KEY (teacher, client)) STRICT, WITHOUT ROWID",
    NULL,
};

/* Entries as lines, a batch's worth in a row (ledger_block.h): a debit no longer costs rows and
 * places in an index of its own. That the account exists is checked by the change of its row, which
 * every entry comes with. */
static const char *const version_2[] = {
    "ALTER TABLE ledger_accounts ADD COLUMN number INTEGER NOT NULL DEFAULT 0",
    "UPDATE ledger_accounts SET number = (SELECT count(*) FROM ledger_accounts AS other "
    "WHERE (other.created_ms, other.id) <= (ledger_accounts.created_ms, ledger_accounts.id))",
    "CREATE UNIQUE INDEX ledger_accounts_by_number ON ledger_accounts (number)",

    "CREATE TABLE ledger_blocks ("
    " account INTEGER NOT NULL," /* its number */
    " first INTEGER NOT NULL,"   /* sequence of the first entry */
    " count INTEGER NOT NULL CHECK (count > 0),"
    " previous_hash BLOB NOT NULL,"
    " lines TEXT NOT NULL,"
    " PRIMARY KEY (account, first)) STRICT",
    "INSERT INTO ledger_blocks SELECT a.number, e.sequence, 1, e.previous_hash, "
    "printf('%d\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%!.17g\t%!.17g\t%s\t%s\t%s\n', e.time_ms, e.kind, "
    "e.limit_units, e.spent_units, e.held_units, e.limit_delta, e.spent_delta, e.held_delta, "
    "e.epsilon, e.delta, e.client, e.resource, e.event) "
    "FROM ledger_entries AS e JOIN ledger_accounts AS a ON a.id = e.account ORDER BY e.rowid",
    "DROP TABLE ledger_entries",
    "CREATE TRIGGER ledger_blocks_stay BEFORE DELETE ON ledger_blocks"
    " BEGIN SELECT RAISE(ABORT, 'entries of the ledger are never removed'); END",
    "CREATE TRIGGER ledger_blocks_fixed BEFORE UPDATE ON ledger_blocks"
    " BEGIN SELECT RAISE(ABORT, 'entries of the ledger never change'); END",
    NULL,
};

/* Teachers of other mechanisms and by basic composition: delta_share is each answer's part of
 * delta, in units of 1e-18; a Renyi teacher has none. */
static const char *const version_3[] = {
    "ALTER TABLE teachers ADD COLUMN sigma REAL NOT NULL DEFAULT 0",
    "ALTER TABLE teachers ADD COLUMN delta_share INTEGER NOT NULL DEFAULT 0",
    NULL,
};

/* Claims of a job since it last got on: one that ends its worker every time must end itself. */
static const char *const version_4[] = {
    "ALTER TABLE jobs ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0",
    NULL,
};

/* Aggregations of locally private reports. Reports are removed when they are applied; the number of
 * accepted reports of each agent is kept for ever. */
static const char *const version_5[] = {
    "CREATE TABLE aggregations ("
    " id TEXT NOT NULL PRIMARY KEY,"
    " owner TEXT NOT NULL,"
    " name TEXT NOT NULL,"
    " environment TEXT NOT NULL,"
    " state_dim INTEGER NOT NULL,"
    " action_count INTEGER NOT NULL,"
    " hidden INTEGER NOT NULL,"
    " mechanism TEXT NOT NULL,"
    " epsilon REAL NOT NULL,"
    " clip REAL NOT NULL,"
    " projection_clip REAL NOT NULL,"
    " submissions_per_agent INTEGER NOT NULL,"
    " price_units INTEGER NOT NULL,"
    " buffer INTEGER NOT NULL,"
    " learning_rate REAL NOT NULL,"
    " discount REAL NOT NULL,"
    " value_weight REAL NOT NULL,"
    " entropy_weight REAL NOT NULL,"
    " exploration REAL NOT NULL,"
    " exploration_decay REAL NOT NULL,"
    " refuses_stale INTEGER NOT NULL,"
    " is_open INTEGER NOT NULL,"
    " version INTEGER NOT NULL,"
    " reports INTEGER NOT NULL,"
    " applied INTEGER NOT NULL CHECK (applied <= reports),"
    " created_ms INTEGER NOT NULL,"
    " scheme BLOB NOT NULL) STRICT",
    "CREATE INDEX aggregations_by_time ON aggregations (created_ms, id)",
    "CREATE TABLE aggregation_parameters ("
    " aggregation TEXT NOT NULL PRIMARY KEY REFERENCES aggregations (id),"
    " bytes BLOB NOT NULL) STRICT",
    "CREATE TABLE aggregation_agents ("
    " aggregation TEXT NOT NULL REFERENCES aggregations (id),"
    " client TEXT NOT NULL,"
    " reports INTEGER NOT NULL,"
    " PRIMARY KEY (aggregation, client)) STRICT, WITHOUT ROWID",
    "CREATE TABLE aggregation_reports ("
    " aggregation TEXT NOT NULL REFERENCES aggregations (id),"
    " sequence INTEGER NOT NULL,"
    " client TEXT NOT NULL,"
    " number INTEGER NOT NULL,"
    " bytes BLOB NOT NULL,"
    " accepted_ms INTEGER NOT NULL,"
    " PRIMARY KEY (aggregation, sequence)) STRICT, WITHOUT ROWID",
    "CREATE TRIGGER aggregation_agents_stay BEFORE DELETE ON aggregation_agents"
    " BEGIN SELECT RAISE(ABORT, 'what was accepted is never forgotten'); END",
    NULL,
};

/* Mean return so far of a public training; NULL: none is, or may be, shown. */
static const char *const version_6[] = {
    "ALTER TABLE jobs ADD COLUMN shown_return REAL",
    NULL,
};

/* The findings of a job that gives numbers and no policy. */
static const char *const version_7[] = {
    "ALTER TABLE jobs ADD COLUMN findings TEXT NOT NULL DEFAULT ''",
    NULL,
};

/* Released Q-functions. The sealed text is ciphertext; ending a release erases it. */
static const char *const version_8[] = {
    "CREATE TABLE q_releases ("
    " id TEXT NOT NULL PRIMARY KEY,"
    " owner TEXT NOT NULL,"
    " name TEXT NOT NULL,"
    " environment TEXT NOT NULL,"
    " dataset TEXT NOT NULL,"
    " job TEXT NOT NULL,"
    " certificate TEXT NOT NULL UNIQUE,"
    " terms TEXT NOT NULL,"
    " created_ms INTEGER NOT NULL,"
    " ended_ms INTEGER NOT NULL,"
    " sealed BLOB NOT NULL,"
    " certificate_text TEXT NOT NULL) STRICT",
    "CREATE INDEX q_releases_by_time ON q_releases (created_ms, id)",
    "CREATE TRIGGER q_releases_stay BEFORE DELETE ON q_releases"
    " BEGIN SELECT RAISE(ABORT, 'what was released is never forgotten'); END",
    "CREATE TRIGGER q_releases_end_once BEFORE UPDATE ON q_releases WHEN OLD.ended_ms <> 0"
    " OR NEW.ended_ms = 0 OR NEW.terms <> OLD.terms OR length(NEW.sealed) <> 0"
    " BEGIN SELECT RAISE(ABORT, 'a release never changes, and ends once'); END",
    NULL,
};

/* The release of a job that gives a Q-function. */
static const char *const version_9[] = {
    "ALTER TABLE jobs ADD COLUMN q_release TEXT NOT NULL DEFAULT ''",
    NULL,
};

const char *const *const schema_sqlite[] = {
    version_1,        version_2,        version_3,        version_4, version_5,
    version_6,        version_7,        version_8,        version_9, schema_sqlite_10,
    schema_sqlite_11, schema_sqlite_12, schema_sqlite_13, NULL};
