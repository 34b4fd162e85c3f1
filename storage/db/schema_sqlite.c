/* The tables, in SQLite's types, and the statements that bring an earlier version to them.
 *
 * DESIGN. Tables that grow without end (answers, entries) are ordinary ones: rows are appended, and
 * only a small index is changed elsewhere. The rules that matter most stand here as well as in C:
 * no balance is beyond its limit, and nothing that happened is changed or removed. Times are
 * milliseconds since 1970; ids and short words are checked by C. Every statement is one string. */
#include "storage/db/schema_sqlite.h"

static const char create_entries[] =
    "CREATE TABLE ledger_entries ("
    " account TEXT NOT NULL,"
    " sequence INTEGER NOT NULL," /* 1, 2, ... without gaps */
    " time_ms INTEGER NOT NULL,"
    " kind TEXT NOT NULL,"
    " limit_units INTEGER NOT NULL," /* the six effects: an account's balances are their sums */
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
    " hash BLOB NOT NULL,"
    " PRIMARY KEY (account, sequence)) STRICT";

/* Debits become folds, or go when the fold that counts them stands: the number of the first entry
 * that it counts is behind the first 41 bytes of its event (ledger_fold.h). */
static const char index_folds[] = "CREATE INDEX ledger_folds ON ledger_entries (account, sequence)"
                                  " WHERE kind = 'folded'";
static const char index_limits[] =
    "CREATE INDEX ledger_limits ON ledger_entries (account, sequence)"
    " WHERE kind IN ('open', 'limit')";
static const char index_restored[] =
    "CREATE INDEX ledger_restored ON ledger_entries (account) WHERE kind = 'restored'";
static const char entries_stay[] =
    "CREATE TRIGGER ledger_entries_stay BEFORE DELETE ON ledger_entries"
    " WHEN OLD.kind NOT IN ('debit', 'folded') OR coalesce("
    "(SELECT CAST(substr(event, 42) AS INTEGER) FROM ledger_entries WHERE kind = 'folded'"
    " AND account = OLD.account AND sequence > OLD.sequence ORDER BY sequence LIMIT 1)"
    " > OLD.sequence, 1)"
    " BEGIN SELECT RAISE(ABORT, 'entries of the ledger are never removed'); END";
static const char entries_fixed[] =
    "CREATE TRIGGER ledger_entries_fixed BEFORE UPDATE ON ledger_entries"
    " WHEN OLD.kind <> 'debit' OR NEW.kind <> 'folded' OR NEW.account <> OLD.account"
    " OR NEW.sequence <> OLD.sequence OR NEW.time_ms <> OLD.time_ms OR NEW.hash <> OLD.hash"
    " OR NEW.spent_units < OLD.spent_units OR NEW.spent_delta < OLD.spent_delta"
    " BEGIN SELECT RAISE(ABORT, 'entries of the ledger never change'); END";
/* An account's row that fell back would number new entries like old ones, which may be folded. */
static const char accounts_follow[] =
    "CREATE TRIGGER ledger_accounts_follow BEFORE UPDATE ON ledger_accounts"
    " WHEN EXISTS (SELECT 1 FROM ledger_entries WHERE kind = 'folded' AND account = OLD.id"
    " AND sequence > OLD.entries)"
    " BEGIN SELECT RAISE(ABORT, 'the account has more entries than its row says'); END";

/* The ledger's tree (ledger_log.h): its leaves, and the roots of its full tiles. */
static const char create_leaves[] = "CREATE TABLE ledger_leaves ("
                                    " number INTEGER NOT NULL PRIMARY KEY,"
                                    " account TEXT NOT NULL,"
                                    " sequence INTEGER NOT NULL,"
                                    " head BLOB NOT NULL,"
                                    " UNIQUE (account, sequence)) STRICT";
static const char create_nodes[] = "CREATE TABLE ledger_nodes ("
                                   " level INTEGER NOT NULL,"
                                   " number INTEGER NOT NULL,"
                                   " hash BLOB NOT NULL,"
                                   " PRIMARY KEY (level, number)) STRICT, WITHOUT ROWID";
static const char leaves_stay[] =
    "CREATE TRIGGER ledger_leaves_stay BEFORE DELETE ON ledger_leaves"
    " BEGIN SELECT RAISE(ABORT, 'the log of the ledger only grows'); END";
/* A leaf goes with its entry, when a tile has its hash. */
static const char create_tiles[] = "CREATE TABLE ledger_tiles ("
                                   " number INTEGER NOT NULL PRIMARY KEY,"
                                   " hashes BLOB NOT NULL,"
                                   " digest BLOB NOT NULL) STRICT";
static const char tiles_stay[] = "CREATE TRIGGER ledger_tiles_stay BEFORE DELETE ON ledger_tiles"
                                 " BEGIN SELECT RAISE(ABORT, 'the log of the ledger only grows');"
                                 " END";
static const char tiles_fixed[] = "CREATE TRIGGER ledger_tiles_fixed BEFORE UPDATE ON ledger_tiles"
                                  " BEGIN SELECT RAISE(ABORT, 'the log of the ledger only grows');"
                                  " END";
static const char leaves_go[] =
    "CREATE TRIGGER ledger_leaves_stay BEFORE DELETE ON ledger_leaves WHEN OLD.account = 'audit'"
    " OR NOT EXISTS (SELECT 1 FROM ledger_tiles WHERE number = OLD.number / 256)"
    " OR EXISTS (SELECT 1 FROM ledger_entries WHERE account = OLD.account"
    " AND sequence = OLD.sequence)"
    " BEGIN SELECT RAISE(ABORT, 'a leaf of the log goes when its entry is folded'); END";
static const char leaves_fixed[] =
    "CREATE TRIGGER ledger_leaves_fixed BEFORE UPDATE ON ledger_leaves"
    " BEGIN SELECT RAISE(ABORT, 'the log of the ledger only grows'); END";
static const char nodes_stay[] = "CREATE TRIGGER ledger_nodes_stay BEFORE DELETE ON ledger_nodes"
                                 " BEGIN SELECT RAISE(ABORT, 'the log of the ledger only grows');"
                                 " END";
static const char nodes_fixed[] = "CREATE TRIGGER ledger_nodes_fixed BEFORE UPDATE ON ledger_nodes"
                                  " BEGIN SELECT RAISE(ABORT, 'the log of the ledger only grows');"
                                  " END";
/* What is left of subtrees whose leaves went (ledger_reduce.h), and where the checkpoints end that
 * were given: nothing around them goes. */
static const char create_heads[] =
    "CREATE TABLE ledger_heads (tile INTEGER NOT NULL PRIMARY KEY) STRICT";
static const char create_subtrees[] = "CREATE TABLE ledger_subtrees ("
                                      " level INTEGER NOT NULL,"
                                      " number INTEGER NOT NULL,"
                                      " hash BLOB NOT NULL,"
                                      " digest BLOB NOT NULL,"
                                      " PRIMARY KEY (level, number)) STRICT, WITHOUT ROWID";
static const char heads_stay[] = "CREATE TRIGGER ledger_heads_stay BEFORE DELETE ON ledger_heads"
                                 " BEGIN SELECT RAISE(ABORT, 'the log of the ledger only grows');"
                                 " END";
static const char heads_fixed[] = "CREATE TRIGGER ledger_heads_fixed BEFORE UPDATE ON ledger_heads"
                                  " BEGIN SELECT RAISE(ABORT, 'the log of the ledger only grows');"
                                  " END";
/* Tiles below a subtree. */
#define SUBTREE_TILES                                                                              \
    "(CASE NEW.level WHEN 1 THEN 1 WHEN 2 THEN 256 WHEN 3 THEN 65536 WHEN 4 THEN 16777216"         \
    " WHEN 5 THEN 4294967296 ELSE 1099511627776 END)"
static const char subtrees_bare[] =
    "CREATE TRIGGER ledger_subtrees_bare BEFORE INSERT ON ledger_subtrees WHEN NOT EXISTS"
    " (SELECT 1 FROM ledger_nodes WHERE level = NEW.level AND number = NEW.number"
    " AND hash = NEW.hash)"
    " OR EXISTS (SELECT 1 FROM ledger_heads WHERE tile >= NEW.number * " SUBTREE_TILES
    " AND tile < (NEW.number + 1) * " SUBTREE_TILES ")"
    " OR EXISTS (SELECT 1 FROM ledger_leaves WHERE number >= 256 * NEW.number * " SUBTREE_TILES
    " AND number < 256 * (NEW.number + 1) * " SUBTREE_TILES ")"
    " BEGIN SELECT RAISE(ABORT, 'a part of the log is still needed'); END";
static const char subtrees_join[] =
    "CREATE TRIGGER ledger_subtrees_join BEFORE DELETE ON ledger_subtrees WHEN NOT EXISTS"
    " (SELECT 1 FROM ledger_subtrees WHERE level = OLD.level + 1 AND number = OLD.number / 256)"
    " BEGIN SELECT RAISE(ABORT, 'the log of the ledger only grows'); END";
static const char subtrees_fixed[] =
    "CREATE TRIGGER ledger_subtrees_fixed BEFORE UPDATE ON ledger_subtrees"
    " BEGIN SELECT RAISE(ABORT, 'the log of the ledger only grows'); END";
static const char tiles_go[] =
    "CREATE TRIGGER ledger_tiles_stay BEFORE DELETE ON ledger_tiles WHEN NOT EXISTS"
    " (SELECT 1 FROM ledger_subtrees WHERE level = 1 AND number = OLD.number)"
    " BEGIN SELECT RAISE(ABORT, 'a tile of the log goes when its root stands for it'); END";
static const char nodes_go[] =
    "CREATE TRIGGER ledger_nodes_stay BEFORE DELETE ON ledger_nodes WHEN NOT EXISTS"
    " (SELECT 1 FROM ledger_subtrees WHERE level = OLD.level + 1 AND number = OLD.number / 256)"
    " BEGIN SELECT RAISE(ABORT, 'a node of the log goes when the one above stands for it'); END";

/* The audit trail (trail.h). */
static const char create_trail[] = "CREATE TABLE audit_trail ("
                                   " number INTEGER NOT NULL PRIMARY KEY,"
                                   " time_ms INTEGER NOT NULL,"
                                   " actor TEXT NOT NULL,"
                                   " client TEXT NOT NULL,"
                                   " role TEXT NOT NULL,"
                                   " token INTEGER NOT NULL,"
                                   " action TEXT NOT NULL,"
                                   " resource TEXT NOT NULL,"
                                   " subject TEXT NOT NULL,"
                                   " status INTEGER NOT NULL,"
                                   " outcome TEXT NOT NULL,"
                                   " count INTEGER NOT NULL,"
                                   " address TEXT NOT NULL,"
                                   " request TEXT NOT NULL) STRICT";
static const char trail_stays[] = "CREATE TRIGGER audit_trail_stays BEFORE DELETE ON audit_trail"
                                  " BEGIN SELECT RAISE(ABORT, 'the audit trail only grows'); END";
static const char trail_fixed[] = "CREATE TRIGGER audit_trail_fixed BEFORE UPDATE ON audit_trail"
                                  " BEGIN SELECT RAISE(ABORT, 'the audit trail only grows'); END";

static const char create_descriptions[] =
    "CREATE TABLE dataset_descriptions ("
    " dataset TEXT NOT NULL PRIMARY KEY REFERENCES datasets (id),"
    " text TEXT NOT NULL) STRICT";
static const char datasets_stay_uncovered[] =
    "CREATE TRIGGER datasets_stay_uncovered BEFORE UPDATE ON datasets"
    " WHEN OLD.uncovered <> 0 AND NEW.uncovered = 0"
    " BEGIN SELECT RAISE(ABORT, 'what was revealed is never taken back'); END";

/* What was trained without a mechanism and goes with its dataset. */
static const char policies_by_dataset[] = "CREATE INDEX policies_by_dataset ON policies (dataset)"
                                          " WHERE released = 0 AND dataset <> ''";

static const char answers_fixed[] = "CREATE TRIGGER answers_fixed BEFORE UPDATE ON answers"
                                    " BEGIN SELECT RAISE(ABORT, 'answers never change'); END";
/* Answers go by their time (answers.h), which is noted before, and never comes back. */
static const char answers_stay[] =
    "CREATE TRIGGER answers_stay BEFORE DELETE ON answers WHEN OLD.created_ms >="
    " coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'answers-from'), 0)"
    " BEGIN SELECT RAISE(ABORT, 'answers stay until their time is over'); END";
static const char answers_from_grows[] =
    "CREATE TRIGGER answers_from_grows BEFORE UPDATE ON meta WHEN OLD.name = 'answers-from'"
    " AND (NEW.name <> OLD.name OR CAST(NEW.value AS INTEGER) < CAST(OLD.value AS INTEGER))"
    " BEGIN SELECT RAISE(ABORT, 'the time from which answers are kept only grows'); END";
static const char answers_from_stays[] =
    "CREATE TRIGGER answers_from_stays BEFORE DELETE ON meta WHEN OLD.name = 'answers-from'"
    " BEGIN SELECT RAISE(ABORT, 'the time from which answers are kept only grows'); END";

static const char q_releases_end_once[] =
    "CREATE TRIGGER q_releases_end_once BEFORE UPDATE ON q_releases WHEN OLD.ended_ms <> 0"
    " OR NEW.ended_ms = 0 OR NEW.terms <> OLD.terms OR length(NEW.sealed) <> 0"
    " BEGIN SELECT RAISE(ABORT, 'a release never changes, and ends once'); END";

/* What a client stores is a sum over one index. */
static const char uploads_by_client[] =
    "CREATE INDEX uploads_by_client ON uploads (client, stored_bytes)";
static const char experts_by_owner[] =
    "CREATE INDEX experts_by_owner ON experts (owner, stored_bytes) WHERE stored_bytes > 0";
static const char experts_by_upload[] =
    "CREATE INDEX experts_by_upload ON experts (dataset, uploaded_ms) WHERE uploaded_ms > 0";
static const char create_requests[] = "CREATE TABLE budget_requests ("
                                      " id TEXT NOT NULL PRIMARY KEY,"
                                      " client TEXT NOT NULL,"
                                      " teacher TEXT NOT NULL REFERENCES teachers (id),"
                                      " owner TEXT NOT NULL,"
                                      " epsilon REAL NOT NULL,"
                                      " delta REAL NOT NULL,"
                                      " reason TEXT NOT NULL,"
                                      " state TEXT NOT NULL,"
                                      " given_epsilon REAL NOT NULL,"
                                      " given_delta REAL NOT NULL,"
                                      " answer TEXT NOT NULL,"
                                      " created_ms INTEGER NOT NULL,"
                                      " decided_ms INTEGER NOT NULL) STRICT";
static const char requests_by_client[] =
    "CREATE INDEX budget_requests_by_client ON budget_requests (client, created_ms, id)";
static const char requests_by_owner[] =
    "CREATE INDEX budget_requests_by_owner ON budget_requests (owner, created_ms, id)";
static const char requests_open[] =
    "CREATE INDEX budget_requests_open ON budget_requests (client) WHERE state = 'open'";
static const char requests_stay[] =
    "CREATE TRIGGER budget_requests_stay BEFORE DELETE ON budget_requests"
    " BEGIN SELECT RAISE(ABORT, 'a request for a budget is never removed'); END";
static const char requests_end_once[] =
    "CREATE TRIGGER budget_requests_end_once BEFORE UPDATE ON budget_requests"
    " WHEN OLD.state <> 'open'"
    " BEGIN SELECT RAISE(ABORT, 'a request for a budget is decided once'); END";
static const char create_tokens[] = "CREATE TABLE client_tokens ("
                                    " client TEXT NOT NULL REFERENCES clients (id),"
                                    " number INTEGER NOT NULL," /* 1, 2, ... of the client */
                                    " secret_hash BLOB NOT NULL,"
                                    " scopes INTEGER NOT NULL," /* bits of enum scope */
                                    " created_ms INTEGER NOT NULL,"
                                    " expires_ms INTEGER NOT NULL," /* 0: never */
                                    " revoked_ms INTEGER NOT NULL," /* 0: no; may lie ahead */
                                    " PRIMARY KEY (client, secret_hash)) STRICT, WITHOUT ROWID";
static const char tokens_by_number[] =
    "CREATE UNIQUE INDEX client_tokens_by_number ON client_tokens (client, number)";
static const char tokens_only_end[] =
    "CREATE TRIGGER client_tokens_only_end BEFORE UPDATE ON client_tokens"
    " WHEN (NEW.scopes <> OLD.scopes AND NEW.scopes <> 0) OR NEW.expires_ms <> OLD.expires_ms"
    " OR NEW.secret_hash <> OLD.secret_hash OR NEW.client <> OLD.client"
    " OR NEW.revoked_ms = 0 OR (OLD.revoked_ms <> 0 AND NEW.revoked_ms > OLD.revoked_ms)"
    " BEGIN SELECT RAISE(ABORT, 'a token never changes, and only ends earlier'); END";
static const char create_approvals[] =
    "CREATE TABLE ledger_approvals ("
    " account TEXT NOT NULL PRIMARY KEY REFERENCES ledger_accounts (id),"
    " approvals INTEGER NOT NULL) STRICT";
static const char create_changes[] = "CREATE TABLE limit_changes ("
                                     " id TEXT NOT NULL PRIMARY KEY,"
                                     " account TEXT NOT NULL REFERENCES ledger_accounts (id),"
                                     " revision INTEGER NOT NULL,"
                                     " epsilon REAL NOT NULL,"
                                     " delta REAL NOT NULL,"
                                     " approvals INTEGER NOT NULL,"
                                     " reason TEXT NOT NULL,"
                                     " proposer TEXT NOT NULL,"
                                     " state TEXT NOT NULL,"
                                     " decider TEXT NOT NULL,"
                                     " answer TEXT NOT NULL,"
                                     " created_ms INTEGER NOT NULL,"
                                     " decided_ms INTEGER NOT NULL) STRICT";
static const char changes_open[] =
    "CREATE UNIQUE INDEX limit_changes_open ON limit_changes (account) WHERE state = 'open'";
static const char changes_by_time[] =
    "CREATE INDEX limit_changes_by_time ON limit_changes (created_ms, id)";
static const char changes_stay[] =
    "CREATE TRIGGER limit_changes_stay BEFORE DELETE ON limit_changes"
    " BEGIN SELECT RAISE(ABORT, 'a proposed limit is never removed'); END";
static const char changes_end_once[] =
    "CREATE TRIGGER limit_changes_end_once BEFORE UPDATE ON limit_changes"
    " WHEN OLD.state <> 'open'"
    " BEGIN SELECT RAISE(ABORT, 'a proposed limit is decided once'); END";
static const char create_client_certificates[] =
    "CREATE TABLE client_certificates ("
    " hash BLOB NOT NULL PRIMARY KEY," /* SHA-256 of the certificate */
    " client TEXT NOT NULL REFERENCES clients (id),"
    " created_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID";
static const char client_certificates_by_client[] =
    "CREATE INDEX client_certificates_by_client ON client_certificates (client, created_ms, hash)";
/* What a teacher guarantees to each client that has no grant. */
static const char create_guarantees[] =
    "CREATE TABLE teacher_guarantees ("
    " teacher TEXT NOT NULL PRIMARY KEY REFERENCES teachers (id),"
    " epsilon REAL NOT NULL,"
    " delta REAL NOT NULL,"
    " answers INTEGER NOT NULL) STRICT";
static const char shares_by_client[] =
    "CREATE INDEX teacher_shares ON teacher_clients (client) WHERE share <> ''";
static const char teachers_by_account[] =
    "CREATE INDEX teachers_by_account ON teachers (dataset_account, created_ms)"
    " WHERE dataset_account <> ''";

/* How teachers and policies end: once, and never back. */
static const char holds_by_whom[] =
    "ALTER TABLE ledger_holds ADD COLUMN client TEXT NOT NULL DEFAULT ''";
static const char create_endings[] = "CREATE TABLE endings ("
                                     " resource TEXT NOT NULL PRIMARY KEY,"
                                     " client TEXT NOT NULL,"
                                     " closed_ms INTEGER NOT NULL,"
                                     " deleted_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID";
static const char endings_stay[] =
    "CREATE TRIGGER endings_stay BEFORE DELETE ON endings"
    " BEGIN SELECT RAISE(ABORT, 'what ended does not begin again'); END";
static const char endings_fixed[] =
    "CREATE TRIGGER endings_fixed BEFORE UPDATE ON endings WHEN OLD.deleted_ms <> 0"
    " OR NEW.resource <> OLD.resource OR NEW.client <> OLD.client OR NEW.closed_ms <> OLD.closed_ms"
    " BEGIN SELECT RAISE(ABORT, 'what ended does not begin again'); END";
static const char endings_digested[] =
    "ALTER TABLE endings ADD COLUMN digest BLOB NOT NULL DEFAULT x''";
static const char teachers_by_policy[] = "CREATE INDEX teachers_by_policy ON teachers (policy)";

/* Names of policies: the newest revision holds, and none is changed or removed. */
static const char create_policy_names[] = "CREATE TABLE policy_names ("
                                          " owner TEXT NOT NULL,"
                                          " name TEXT NOT NULL,"
                                          " revision INTEGER NOT NULL,"
                                          " policy TEXT NOT NULL REFERENCES policies (id),"
                                          " client TEXT NOT NULL,"
                                          " moved_ms INTEGER NOT NULL,"
                                          " PRIMARY KEY (name, owner, revision)) STRICT,"
                                          " WITHOUT ROWID";
static const char names_by_policy[] =
    "CREATE INDEX policy_names_by_policy ON policy_names (policy)";
static const char names_by_owner[] =
    "CREATE INDEX policy_names_by_owner ON policy_names (owner, name, revision)";
static const char names_stay[] =
    "CREATE TRIGGER policy_names_stay BEFORE DELETE ON policy_names"
    " BEGIN SELECT RAISE(ABORT, 'what a name meant is never forgotten'); END";
static const char names_fixed[] =
    "CREATE TRIGGER policy_names_fixed BEFORE UPDATE ON policy_names"
    " BEGIN SELECT RAISE(ABORT, 'what a name meant is never forgotten'); END";
static const char versions_fixed[] =
    "CREATE TRIGGER policy_versions_fixed BEFORE INSERT ON policy_names WHEN NEW.revision > 1"
    " AND substr(NEW.name, instr(NEW.name, '@') + 1, 1) BETWEEN '0' AND '9'"
    " BEGIN SELECT RAISE(ABORT, 'a version is never moved'); END";
static const char create_grants[] = "CREATE TABLE policy_grants ("
                                    " policy TEXT NOT NULL REFERENCES policies (id),"
                                    " client TEXT NOT NULL,"
                                    " granted_by TEXT NOT NULL,"
                                    " granted_ms INTEGER NOT NULL,"
                                    " PRIMARY KEY (policy, client)) STRICT, WITHOUT ROWID";
static const char names_digested[] =
    "ALTER TABLE policy_names ADD COLUMN digest BLOB NOT NULL DEFAULT x''";
static const char grants_digested[] =
    "ALTER TABLE policy_grants ADD COLUMN digest BLOB NOT NULL DEFAULT x''";
/* What everything with an owner belongs to; a steward's own project has the steward's id. */
static const char create_projects[] = "CREATE TABLE projects ("
                                      " id TEXT NOT NULL PRIMARY KEY,"
                                      " name TEXT NOT NULL,"
                                      " invited_only INTEGER NOT NULL,"
                                      " created_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID";
static const char projects_by_time[] = "CREATE INDEX projects_by_time ON projects (created_ms, id)";
static const char projects_stay[] = "CREATE TRIGGER projects_stay BEFORE DELETE ON projects"
                                    " BEGIN SELECT RAISE(ABORT, 'a project is never removed'); END";
static const char create_members[] = "CREATE TABLE project_members ("
                                     " project TEXT NOT NULL REFERENCES projects (id),"
                                     " client TEXT NOT NULL,"
                                     " role TEXT NOT NULL,"
                                     " added_by TEXT NOT NULL,"
                                     " added_ms INTEGER NOT NULL,"
                                     " PRIMARY KEY (project, client)) STRICT, WITHOUT ROWID";
static const char members_by_client[] =
    "CREATE INDEX project_members_by_client ON project_members (client, project, role)";

/* What webhooks' targets know already. */
static const char create_told[] = "CREATE TABLE webhooks_told ("
                                  " target TEXT NOT NULL,"
                                  " event TEXT NOT NULL,"
                                  " told_ms INTEGER NOT NULL,"
                                  " PRIMARY KEY (target, event)) STRICT, WITHOUT ROWID";
static const char jobs_by_end[] =
    "CREATE INDEX jobs_by_end ON jobs (finished_ms) WHERE finished_ms > 0";
static const char jobs_to_run[] = "CREATE INDEX jobs_to_run ON jobs (state, turn, created_ms, id)";
static const char jobs_by_owner[] =
    "CREATE INDEX jobs_by_owner ON jobs (owner, state, turn, created_ms, id)";

/* Worlds that clients registered. */
static const char create_environments[] = "CREATE TABLE environments ("
                                          " id TEXT NOT NULL PRIMARY KEY,"
                                          " owner TEXT NOT NULL,"
                                          " name TEXT NOT NULL,"
                                          " client TEXT NOT NULL,"
                                          " runner TEXT NOT NULL,"
                                          " source_sha256 TEXT NOT NULL,"
                                          " created_ms INTEGER NOT NULL,"
                                          " description TEXT NOT NULL,"
                                          " source TEXT NOT NULL) STRICT";
static const char environments_by_client[] =
    "CREATE INDEX environments_by_client ON environments (client)";

/* The signing keys that followed the first one (signing_keys.h). */
static const char create_signing_keys[] = "CREATE TABLE signing_keys ("
                                          " number INTEGER NOT NULL PRIMARY KEY,"
                                          " since_ms INTEGER NOT NULL,"
                                          " public_key BLOB NOT NULL,"
                                          " signature BLOB NOT NULL,"
                                          " sealed BLOB NOT NULL,"
                                          " digest BLOB NOT NULL) STRICT";
static const char signing_keys_stay[] =
    "CREATE TRIGGER signing_keys_stay BEFORE DELETE ON signing_keys"
    " BEGIN SELECT RAISE(ABORT, 'signing keys stay'); END";
static const char signing_keys_fixed[] =
    "CREATE TRIGGER signing_keys_fixed BEFORE UPDATE ON signing_keys"
    " BEGIN SELECT RAISE(ABORT, 'signing keys never change'); END";

static const char holds_end_once[] =
    "CREATE TRIGGER ledger_holds_end_once BEFORE UPDATE ON ledger_holds WHEN OLD.ended <> 0"
    " BEGIN SELECT RAISE(ABORT, 'a hold ends once'); END";
static const char holds_digested[] =
    "ALTER TABLE ledger_holds ADD COLUMN digest BLOB NOT NULL DEFAULT x''";
static const char requests_digested[] =
    "ALTER TABLE budget_requests ADD COLUMN digest BLOB NOT NULL DEFAULT x''";
static const char approvals_digested[] =
    "ALTER TABLE ledger_approvals ADD COLUMN digest BLOB NOT NULL DEFAULT x''";
static const char changes_digested[] =
    "ALTER TABLE limit_changes ADD COLUMN digest BLOB NOT NULL DEFAULT x''";
static const char environments_digested[] =
    "ALTER TABLE environments ADD COLUMN digest BLOB NOT NULL DEFAULT x''";
static const char clients_digested[] =
    "ALTER TABLE clients ADD COLUMN digest BLOB NOT NULL DEFAULT x''";
static const char tokens_digested[] =
    "ALTER TABLE client_tokens ADD COLUMN digest BLOB NOT NULL DEFAULT x''";
static const char client_certificates_digested[] =
    "ALTER TABLE client_certificates ADD COLUMN digest BLOB NOT NULL DEFAULT x''";
static const char projects_digested[] =
    "ALTER TABLE projects ADD COLUMN digest BLOB NOT NULL DEFAULT x''";
static const char members_digested[] =
    "ALTER TABLE project_members ADD COLUMN digest BLOB NOT NULL DEFAULT x''";

const char *const schema_sqlite_tables[] = {
    "CREATE TABLE meta ("
    " name TEXT NOT NULL PRIMARY KEY,"
    " value TEXT NOT NULL,"
    " digest BLOB NOT NULL DEFAULT x'') STRICT",

    "CREATE TABLE clients ("
    " id TEXT NOT NULL PRIMARY KEY,"
    " name TEXT NOT NULL,"
    " role TEXT NOT NULL,"
    " created_ms INTEGER NOT NULL,"
    " revoked_ms INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID",
    "CREATE INDEX clients_by_time ON clients (created_ms, id)",
    clients_digested,
    create_tokens,
    tokens_digested,
    tokens_by_number,
    tokens_only_end,
    create_client_certificates,
    client_certificates_digested,
    client_certificates_by_client,

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

    create_entries,

    "CREATE TABLE ledger_holds ("
    " hold TEXT NOT NULL,"
    " account TEXT NOT NULL REFERENCES ledger_accounts (id),"
    " units INTEGER NOT NULL,"
    " delta_units INTEGER NOT NULL,"
    " ended INTEGER NOT NULL DEFAULT 0,"
    " PRIMARY KEY (hold, account)) STRICT, WITHOUT ROWID",
    "CREATE INDEX ledger_holds_open ON ledger_holds (account) WHERE ended = 0",
    holds_by_whom,
    holds_digested,

    "CREATE TABLE answers ("
    " client TEXT NOT NULL,"
    " key TEXT NOT NULL,"
    " fingerprint BLOB NOT NULL,"
    " status INTEGER NOT NULL,"
    " content_type TEXT NOT NULL,"
    " location TEXT NOT NULL,"
    " body BLOB NOT NULL,"
    " created_ms INTEGER NOT NULL,"
    " digest BLOB NOT NULL DEFAULT x'',"
    " PRIMARY KEY (client, key)) STRICT",

    index_folds,
    entries_stay,
    entries_fixed,
    accounts_follow,
    create_leaves,
    create_nodes,
    create_tiles,
    leaves_go,
    leaves_fixed,
    create_heads,
    heads_stay,
    heads_fixed,
    create_subtrees,
    subtrees_bare,
    subtrees_join,
    subtrees_fixed,
    nodes_go,
    nodes_fixed,
    tiles_go,
    tiles_fixed,
    create_trail,
    trail_stays,
    trail_fixed,
    "CREATE TRIGGER ledger_accounts_stay BEFORE DELETE ON ledger_accounts"
    " BEGIN SELECT RAISE(ABORT, 'accounts of the ledger are never removed'); END",
    "CREATE TRIGGER ledger_holds_stay BEFORE DELETE ON ledger_holds"
    " BEGIN SELECT RAISE(ABORT, 'holds of the ledger are never removed'); END",
    holds_end_once,
    answers_stay,
    answers_from_grows,
    answers_from_stays,
    answers_fixed,

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
    " purged INTEGER NOT NULL DEFAULT 0,"
    " uncovered INTEGER NOT NULL DEFAULT 0,"
    " expert_means TEXT NOT NULL DEFAULT '',"
    " retention_days INTEGER NOT NULL DEFAULT 0,"
    " erased_days INTEGER NOT NULL DEFAULT 0,"
    " sealed_ms INTEGER NOT NULL DEFAULT 0,"
    " digest BLOB NOT NULL DEFAULT x'') STRICT, WITHOUT ROWID",
    datasets_stay_uncovered,
    create_descriptions,
    "CREATE INDEX datasets_by_time ON datasets (created_ms, id)",
    "CREATE INDEX datasets_to_purge ON datasets (id) WHERE state = 'deleted' AND purged = 0",

    "CREATE TABLE experts ("
    " dataset TEXT NOT NULL REFERENCES datasets (id),"
    " number INTEGER NOT NULL,"
    " name TEXT NOT NULL,"
    " owner TEXT NOT NULL,"
    " stored_bytes INTEGER NOT NULL DEFAULT 0," /* of its policy */
    " uploaded_ms INTEGER NOT NULL DEFAULT 0,"  /* the newest upload; 0: erased */
    " PRIMARY KEY (dataset, number),"
    " UNIQUE (dataset, owner, name)) STRICT, WITHOUT ROWID",
    experts_by_owner,
    experts_by_upload,

    "CREATE TABLE expert_policies ("
    " dataset TEXT NOT NULL,"
    " number INTEGER NOT NULL,"
    " bytes BLOB NOT NULL,"
    " stored_ms INTEGER NOT NULL,"
    " digest BLOB NOT NULL DEFAULT x'',"
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
    " experts BLOB NOT NULL,"
    " stored_bytes INTEGER NOT NULL DEFAULT 0,"
    " keys BLOB NOT NULL DEFAULT x'') STRICT", /* of its experts, each encrypted under its own */
    uploads_by_client,
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
    " finished_ms INTEGER NOT NULL DEFAULT 0,"
    " attempts INTEGER NOT NULL DEFAULT 0,"
    " shown_return REAL,"
    " findings TEXT NOT NULL DEFAULT '',"
    " q_release TEXT NOT NULL DEFAULT '',"
    " turn INTEGER NOT NULL DEFAULT 0,"
    " digest BLOB NOT NULL DEFAULT x'') STRICT",
    "CREATE INDEX jobs_by_time ON jobs (created_ms, id)",
    jobs_to_run,
    "CREATE INDEX jobs_by_dataset ON jobs (dataset, state)",
    jobs_by_end,
    jobs_by_owner,
    create_told,
    create_environments,
    environments_digested,
    environments_by_client,

    create_signing_keys,
    signing_keys_stay,
    signing_keys_fixed,

    "CREATE TABLE checkpoints ("
    " job TEXT NOT NULL PRIMARY KEY REFERENCES jobs (id),"
    " step INTEGER NOT NULL,"
    " bytes BLOB NOT NULL,"
    " digest BLOB NOT NULL DEFAULT x'') STRICT",

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
    " bytes BLOB NOT NULL,"
    " shards INTEGER NOT NULL DEFAULT 0,"
    " digest BLOB NOT NULL DEFAULT x'',"
    " bytes_digest BLOB NOT NULL DEFAULT x'') STRICT",
    "CREATE INDEX policies_by_time ON policies (created_ms, id)",
    policies_by_dataset,

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
    " created_ms INTEGER NOT NULL,"
    " sigma REAL NOT NULL DEFAULT 0,"
    " delta_share INTEGER NOT NULL DEFAULT 0,"
    " shards INTEGER NOT NULL DEFAULT 0,"
    " dataset TEXT NOT NULL DEFAULT '',"
    " dataset_account TEXT NOT NULL DEFAULT '',"
    " first_units INTEGER NOT NULL DEFAULT 0,"
    " first_delta INTEGER NOT NULL DEFAULT 0,"
    " at_floor TEXT NOT NULL DEFAULT 'charge',"
    " certificate TEXT NOT NULL DEFAULT '',"
    " certificate_text TEXT NOT NULL DEFAULT '',"
    " when_spent TEXT NOT NULL DEFAULT 'refuse',"
    " digest BLOB NOT NULL DEFAULT x'',"
    " name TEXT NOT NULL DEFAULT '') STRICT, WITHOUT ROWID",
    "CREATE INDEX teachers_by_time ON teachers (created_ms, id)",
    "CREATE UNIQUE INDEX teachers_by_certificate ON teachers (certificate) WHERE certificate <> ''",

    "CREATE TABLE teacher_clients ("
    " teacher TEXT NOT NULL REFERENCES teachers (id),"
    " client TEXT NOT NULL,"
    " account TEXT NOT NULL REFERENCES ledger_accounts (id),"
    " rollout INTEGER NOT NULL DEFAULT 0,"
    " created_ms INTEGER NOT NULL,"
    " share TEXT NOT NULL DEFAULT '',"
    " dataset_share TEXT NOT NULL DEFAULT '',"
    " PRIMARY KEY (teacher, client)) STRICT, WITHOUT ROWID",

    /* ---- locally private reports, which are removed when they are applied */
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
    " scheme BLOB NOT NULL,"
    " digest BLOB NOT NULL DEFAULT x'') STRICT",
    "CREATE INDEX aggregations_by_time ON aggregations (created_ms, id)",
    "CREATE TABLE aggregation_parameters ("
    " aggregation TEXT NOT NULL PRIMARY KEY REFERENCES aggregations (id),"
    " bytes BLOB NOT NULL,"
    " digest BLOB NOT NULL DEFAULT x'') STRICT",
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

    /* ---- released Q-functions: the sealed text is ciphertext, which ending a release erases */
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
    " certificate_text TEXT NOT NULL,"
    " digest BLOB NOT NULL DEFAULT x'',"
    " sealed_digest BLOB NOT NULL DEFAULT x'') STRICT",
    "CREATE INDEX q_releases_by_time ON q_releases (created_ms, id)",
    "CREATE TRIGGER q_releases_stay BEFORE DELETE ON q_releases"
    " BEGIN SELECT RAISE(ABORT, 'what was released is never forgotten'); END",
    q_releases_end_once,

    /* ---- what clients asked their stewards for */
    create_requests,
    requests_digested,
    requests_by_client,
    requests_by_owner,
    requests_open,
    requests_stay,
    requests_end_once,
    teachers_by_account,

    /* ---- what ended */
    create_endings,
    endings_digested,
    endings_stay,
    endings_fixed,
    teachers_by_policy,

    /* ---- what policies are called, and who may read them */
    create_policy_names,
    names_digested,
    names_by_policy,
    names_by_owner,
    names_stay,
    names_fixed,
    versions_fixed,
    create_grants,
    grants_digested,
    /* ---- limits */
    index_limits,
    index_restored,
    create_approvals,
    approvals_digested,
    create_changes,
    changes_digested,
    changes_open,
    changes_by_time,
    changes_stay,
    changes_end_once,
    /* ---- projects */
    create_projects,
    projects_digested,
    projects_by_time,
    projects_stay,
    create_members,
    members_digested,
    members_by_client,
    create_guarantees,
    shares_by_client,
    NULL,
};

/* Entries were lines in ledger_blocks, and answers lay in answer_blocks. storage/upgrade.c copies
 * them behind these statements. */
static const char *const to_rows[] = {
    create_entries, entries_stay, entries_fixed, "DROP TRIGGER answers_closed", NULL,
};

static const char *const without_blocks[] = {
    "DROP TABLE ledger_blocks",
    "DROP TABLE answer_blocks",
    "DROP TABLE answer_places",
    "DROP TABLE answers_filed",
    "DROP INDEX ledger_accounts_by_number",
    "ALTER TABLE ledger_accounts DROP COLUMN number",
    NULL,
};

/* Datasets say whether their budget covers everything. Jobs of earlier versions said it in their
 * plans alone. */
static const char *const with_coverage[] = {
    "ALTER TABLE datasets ADD COLUMN uncovered INTEGER NOT NULL DEFAULT 0",
    "UPDATE datasets SET uncovered = 1 WHERE is_public = 0 AND id IN (SELECT dataset FROM jobs"
    " WHERE mechanism = 'none'"
    " AND CASE WHEN json_valid(plan) THEN coalesce(json_extract(plan, '$.shards'), 0) = 0"
    " ELSE 1 END)",
    datasets_stay_uncovered,
    "DROP INDEX policies_by_dataset",
    policies_by_dataset,
    NULL,
};

/* Datasets may describe their features. */
static const char *const with_descriptions[] = {
    "ALTER TABLE datasets ADD COLUMN expert_means TEXT NOT NULL DEFAULT ''",
    create_descriptions,
    NULL,
};

/* Teachers may answer at random once a budget is spent. */
static const char *const with_random[] = {
    "ALTER TABLE teachers ADD COLUMN when_spent TEXT NOT NULL DEFAULT 'refuse'",
    NULL,
};

/* Rows get digests, from storage/digests.c behind these statements. The triggers that keep rows as
 * they are come back in the step after that. */
static const char *const with_digests[] = {
    "DROP TRIGGER answers_fixed",
    "DROP TRIGGER q_releases_end_once",
    "ALTER TABLE answers ADD COLUMN digest BLOB NOT NULL DEFAULT x''",
    "ALTER TABLE expert_policies ADD COLUMN digest BLOB NOT NULL DEFAULT x''",
    "ALTER TABLE checkpoints ADD COLUMN digest BLOB NOT NULL DEFAULT x''",
    "ALTER TABLE policies ADD COLUMN digest BLOB NOT NULL DEFAULT x''",
    "ALTER TABLE policies ADD COLUMN bytes_digest BLOB NOT NULL DEFAULT x''",
    "ALTER TABLE teachers ADD COLUMN digest BLOB NOT NULL DEFAULT x''",
    "ALTER TABLE aggregation_parameters ADD COLUMN digest BLOB NOT NULL DEFAULT x''",
    "ALTER TABLE q_releases ADD COLUMN digest BLOB NOT NULL DEFAULT x''",
    "ALTER TABLE q_releases ADD COLUMN sealed_digest BLOB NOT NULL DEFAULT x''",
    NULL,
};

static const char *const with_fixed_rows[] = {answers_fixed, q_releases_end_once, NULL};

/* Answers may be removed when their time is over. */
static const char *const with_removal[] = {
    "DROP TRIGGER answers_stay", answers_stay, answers_from_grows, answers_from_stays, NULL,
};

/* Notes get digests, from storage/digests.c behind this statement. */
static const char *const with_notes[] = {
    "ALTER TABLE meta ADD COLUMN digest BLOB NOT NULL DEFAULT x''",
    NULL,
};

/* Old debits may be folded. */
static const char *const with_folds[] = {
    "DROP TRIGGER ledger_entries_stay",
    "DROP TRIGGER ledger_entries_fixed",
    index_folds,
    entries_stay,
    entries_fixed,
    accounts_follow,
    NULL,
};

/* Uploads and experts' policies say how many bytes they are. */
static const char *const with_sizes[] = {
    "ALTER TABLE uploads ADD COLUMN stored_bytes INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE experts ADD COLUMN stored_bytes INTEGER NOT NULL DEFAULT 0",
    "UPDATE uploads SET stored_bytes = (SELECT coalesce(sum(length(c.bytes)), 0)"
    " FROM upload_chunks AS c WHERE c.upload = uploads.id)",
    "UPDATE experts SET stored_bytes = coalesce((SELECT length(p.bytes) FROM expert_policies AS p"
    " WHERE p.dataset = experts.dataset AND p.number = experts.number), 0)",
    uploads_by_client,
    experts_by_owner,
    NULL,
};

/* Clients may ask for larger budgets. */
static const char *const with_requests[] = {
    create_requests, requests_by_client, requests_by_owner,   requests_open,
    requests_stay,   requests_end_once,  teachers_by_account, NULL,
};

/* Clients may have several tokens, and certificates. The one token that a client has had may do
 * everything (7: all scopes) and does not expire. */
static const char *const to_tokens[] = {
    create_tokens,
    tokens_by_number,
    tokens_only_end,
    create_client_certificates,
    client_certificates_by_client,
    "INSERT INTO client_tokens SELECT id, 1, secret_hash, 7, created_ms, 0, 0 FROM clients",
    "ALTER TABLE clients DROP COLUMN secret_hash",
    NULL,
};

/* Teachers and policies may end; policies may have names and readers. */
static const char *const to_names[] = {
    create_endings,      endings_stay,    endings_fixed,  teachers_by_policy,
    create_policy_names, names_by_policy, names_by_owner, names_stay,
    names_fixed,         versions_fixed,  create_grants,  NULL,
};

/* Limits change, with approvals. A client's revision is counted from the ledger's entries. */
static const char *const to_limits[] = {
    index_limits,
    create_approvals,
    create_changes,
    changes_open,
    changes_by_time,
    changes_stay,
    changes_end_once,
    "ALTER TABLE teacher_clients DROP COLUMN revision",
    "ALTER TABLE teacher_clients ADD COLUMN share TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE teacher_clients ADD COLUMN dataset_share TEXT NOT NULL DEFAULT ''",
    create_guarantees,
    shares_by_client,
    NULL,
};

/* Every steward gets a project of its own. */
static const char *const to_projects[] = {
    create_projects,
    projects_by_time,
    projects_stay,
    create_members,
    members_by_client,
    "INSERT INTO projects (id, name, invited_only, created_ms)"
    " SELECT id, name, 0, created_ms FROM clients WHERE role = 'steward'",
    "INSERT INTO project_members (project, client, role, added_by, added_ms)"
    " SELECT id, id, 'owner', id, created_ms FROM clients WHERE role = 'steward'",
    NULL,
};

/* Holds say who caused them; of those that are open the jobs' owners did, as far as is known.
 * Endings, names and grants get digests, from storage/digests.c behind these statements. The
 * triggers come back in the step after that. */
static const char *const to_digested_names[] = {
    holds_by_whom,
    "UPDATE ledger_holds SET client = coalesce((SELECT owner FROM jobs WHERE jobs.id = hold), '')"
    " WHERE ended = 0",
    "DROP TRIGGER endings_fixed",
    "DROP TRIGGER policy_names_fixed",
    endings_digested,
    names_digested,
    grants_digested,
    NULL,
};

static const char *const to_fixed_names[] = {endings_fixed, names_fixed, NULL};

/* The ledger gets a log, from ledger_log.c behind these statements. */
static const char *const to_log[] = {
    create_leaves, create_nodes, leaves_stay, leaves_fixed, nodes_stay, nodes_fixed, NULL,
};

/* Uploads have keys. */
static const char *const to_keys[] = {
    "ALTER TABLE uploads ADD COLUMN keys BLOB NOT NULL DEFAULT x''",
    NULL,
};

/* Teachers may have names. */
static const char *const to_teacher_names[] = {
    "ALTER TABLE teachers ADD COLUMN name TEXT NOT NULL DEFAULT ''",
    NULL,
};

/* Changes have an audit trail, which begins empty. */
static const char *const to_trail[] = {create_trail, trail_stays, trail_fixed, NULL};

/* Webhooks. */
static const char *const to_webhooks[] = {create_told, jobs_by_end, NULL};

/* Leaves of the log go when their entries are folded. */
static const char *const to_tiles[] = {
    create_tiles, tiles_stay, tiles_fixed, "DROP TRIGGER ledger_leaves_stay", leaves_go, NULL,
};

/* Datasets declare for how many days they keep an expert's data. Who uploaded when is known of
 * clients alone until now: an expert counts from the newest upload of all. */
static const char *const to_retention[] = {
    "ALTER TABLE datasets ADD COLUMN retention_days INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE datasets ADD COLUMN erased_days INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE datasets ADD COLUMN sealed_ms INTEGER NOT NULL DEFAULT 0",
    "UPDATE datasets SET sealed_ms = coalesce((SELECT max(u.created_ms) FROM uploads AS u"
    " WHERE u.dataset = datasets.id AND u.place > 0), created_ms) WHERE state = 'sealed'",
    "ALTER TABLE experts ADD COLUMN uploaded_ms INTEGER NOT NULL DEFAULT 0",
    "UPDATE experts SET uploaded_ms = t.newest FROM (SELECT dataset, max(created_ms) AS newest"
    " FROM uploads WHERE place > 0 GROUP BY dataset) AS t"
    " WHERE t.dataset = experts.dataset AND substr(experts.name, 1, 1) <> '~'",
    "UPDATE experts SET uploaded_ms = p.stored_ms FROM expert_policies AS p WHERE"
    " p.dataset = experts.dataset AND p.number = experts.number AND"
    " p.stored_ms > experts.uploaded_ms",
    experts_by_upload,
    NULL,
};

/* What was burnt at restores is found by its account. */
static const char *const to_restored[] = {index_restored, NULL};

/* Clients register worlds. */
static const char *const to_worlds[] = {create_environments, environments_by_client, NULL};

/* Signing keys follow the first one. */
static const char *const to_signing_keys[] = {create_signing_keys, signing_keys_stay,
                                              signing_keys_fixed, NULL};

/* Releases of unit reward and logged prefixes protect something else than experts. */
static const char *const to_covered_units[] = {
    "UPDATE datasets SET uncovered = 1 WHERE is_public = 0 AND uncovered = 0 AND id IN"
    " (SELECT dataset FROM jobs WHERE mechanism <> 'none' AND"
    " (plan LIKE '%\"protects_rewards\":true%' OR plan LIKE '%\"source\":\"logged\"%'))",
    NULL,
};

/* Projects take turns with their jobs. Those that wait already keep their order. */
static const char *const to_turns[] = {
    "ALTER TABLE jobs ADD COLUMN turn INTEGER NOT NULL DEFAULT 0",
    "DROP INDEX jobs_to_run",
    jobs_to_run,
    jobs_by_owner,
    NULL,
};

/* What was asked for, declared or agreed gets digests, from digests.c behind these statements. */
static const char *const to_digested_plans[] = {
    "ALTER TABLE jobs ADD COLUMN digest BLOB NOT NULL DEFAULT x''",
    "ALTER TABLE datasets ADD COLUMN digest BLOB NOT NULL DEFAULT x''",
    "ALTER TABLE aggregations ADD COLUMN digest BLOB NOT NULL DEFAULT x''",
    holds_digested,
    requests_digested,
    approvals_digested,
    changes_digested,
    environments_digested,
    "DROP TRIGGER ledger_holds_end_once",
    "DROP TRIGGER budget_requests_end_once",
    "DROP TRIGGER limit_changes_end_once",
    NULL,
};

static const char *const to_fixed_plans[] = {holds_end_once, requests_end_once, changes_end_once,
                                             NULL};

/* Parts of the log are reduced. Where checkpoints were given until now is not known: all that is
 * there stays. */
static const char *const to_subtrees[] = {
    create_heads,
    heads_stay,
    heads_fixed,
    create_subtrees,
    subtrees_bare,
    subtrees_join,
    subtrees_fixed,
    "DROP TRIGGER ledger_nodes_stay",
    nodes_go,
    "DROP TRIGGER ledger_tiles_stay",
    tiles_go,
    "INSERT INTO ledger_heads SELECT number / 256 FROM ledger_leaves UNION"
    " SELECT number FROM ledger_tiles UNION"
    " SELECT coalesce(max(number) + 1, 0) / 256 FROM ledger_leaves",
    NULL,
};

/* Who may do what gets digests, from digests.c behind these statements. */
static const char *const to_digested_rights[] = {
    clients_digested,
    tokens_digested,
    client_certificates_digested,
    projects_digested,
    members_digested,
    "DROP TRIGGER client_tokens_only_end",
    NULL,
};

static const char *const to_fixed_rights[] = {tokens_only_end, NULL};

const char *const *const schema_sqlite_steps[] = {
    to_rows,
    without_blocks,
    with_coverage,
    with_descriptions,
    with_random,
    with_digests,
    with_fixed_rows,
    with_removal,
    with_notes,
    with_folds,
    with_sizes,
    with_requests,
    to_tokens,
    to_names,
    to_limits,
    to_projects,
    to_digested_names,
    to_fixed_names,
    to_log,
    to_keys,
    to_teacher_names,
    to_trail,
    to_webhooks,
    to_tiles,
    to_retention,
    to_restored,
    to_worlds,
    to_signing_keys,
    to_covered_units,
    to_turns,
    to_digested_plans,
    to_fixed_plans,
    to_subtrees,
    to_digested_rights,
    to_fixed_rights,
    NULL,
};

const struct db_schema schema_sqlite = {
    .tables = schema_sqlite_tables, .oldest = SCHEMA_SQLITE_OLDEST, .steps = schema_sqlite_steps};
