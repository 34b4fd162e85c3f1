/* What is stored under a digest: a flipped bit, a row in another's place, a missing digest and a
 * foreign key are errors that name the row. */
#include "storage/db/digest.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory/memory.h"
#include "storage/aggregations.h"
#include "storage/answers/answers.h"
#include "storage/budget_requests.h"
#include "storage/client_certificates.h"
#include "storage/client_tokens.h"
#include "storage/datasets.h"
#include "storage/digests.h"
#include "storage/endings.h"
#include "storage/environments.h"
#include "storage/jobs.h"
#include "storage/ledger/ledger.h"
#include "storage/limit_changes.h"
#include "storage/policies.h"
#include "storage/policy_names.h"
#include "storage/projects.h"
#include "storage/q_releases.h"
#include "storage/signing_keys.h"
#include "storage/teachers.h"
#include "storage/upgrade.h"
#include "tests/unit/storage/page_sums.h"
#include "tests/unit/storage/store.h"

static const unsigned char root_seed[32] = {7};

/* ---- one row of every kind */

static enum db_status store_answer(struct db *db, void *context)
{
    struct answer_row answer = {.status = 200,
                                .content_type = "application/json",
                                .headers = "/v1/x",
                                .body = (char[]){"{\"actions\":[1,2,3]}"},
                                .body_size = 19,
                                .created_ms = 1234};
    memset(answer.fingerprint, 7, sizeof answer.fingerprint);
    return answers_store(db, "cli_a", context, &answer);
}

static void store_policy(const char *id, const char *weights, bool released)
{
    struct policy_row policy = {.owner = "cli_s",
                                .name = "p",
                                .environment = "cartpole",
                                .dataset = "ds_a",
                                .job = "job_a",
                                .mechanism = "dpsgd",
                                .released = released,
                                .shards = 3,
                                .state_dim = 4,
                                .action_count = 2,
                                .created_ms = 5};
    snprintf(policy.id, sizeof policy.id, "%s", id);
    cr_assert_eq(policies_insert(f.db, &policy, weights, strlen(weights), NULL), DB_OK);
}

static char teacher_account[ID_SIZE];

static void store_teacher(void)
{
    struct ledger_account account = fixture_account(f.db, LEDGER_TEACHER, "tch_a", NULL, 1000, 0);
    struct teacher_row teacher = {.id = "tch_a",
                                  .owner = "cli_s",
                                  .policy = "pol_a",
                                  .mechanism = "dirichlet",
                                  .adjacency = "observation",
                                  .concentration = 20,
                                  .vanishing = 1,
                                  .temperature = -0.0,
                                  .sensitivity = 0.035,
                                  .at_floor = "refuse",
                                  .created_ms = 4};
    memcpy(teacher.account, account.id, ID_SIZE);
    cr_assert_eq(teachers_insert(f.db, &teacher, ""), DB_OK, "%s", db_last_error(f.db));
    memcpy(teacher_account, account.id, ID_SIZE);
}

static enum db_status hold_some(struct db *db, void *context)
{
    struct ledger_outcome outcome;
    const struct ledger_charge charge = {.prices = {{teacher_account, 20, 0}},
                                         .count = 1,
                                         .client = "cli_s",
                                         .resource = "job_a",
                                         .event = "{}",
                                         .now_ms = 3};
    (void)context;
    return ledger_hold(db, &charge, &outcome);
}

/* What people agree on. */
static void store_agreements(void)
{
    struct limit_change_row change = {.id = "lch_a",
                                      .revision = 1,
                                      .epsilon = 3,
                                      .delta = 1e-5,
                                      .approvals = 2,
                                      .reason = "why",
                                      .proposer = "cli_s",
                                      .created_ms = 5};
    const struct budget_request_row request = {.id = "brq_a",
                                               .client = "cli_a",
                                               .teacher = "tch_a",
                                               .owner = "cli_s",
                                               .epsilon = 3,
                                               .delta = 1e-5,
                                               .created_ms = 5};
    const struct environment_row world = {.id = "env_a",
                                          .owner = "cli_s",
                                          .name = "w",
                                          .client = "cli_s",
                                          .runner = "python",
                                          .source_sha256 = "abc",
                                          .created_ms = 5,
                                          .description = (char[]){"{}"},
                                          .source = (char[]){"print()"}};
    memcpy(change.account, teacher_account, ID_SIZE);
    cr_assert_eq(limit_changes_insert(f.db, &change), DB_OK);
    cr_assert_eq(limit_approvals_set(f.db, teacher_account, 1), DB_OK);
    cr_assert_eq(limit_approvals_set(f.db, teacher_account, 2), DB_OK);
    cr_assert_eq(budget_requests_insert(f.db, &request), DB_OK);
    cr_assert_eq(environments_insert(f.db, &world), DB_OK);
    cr_assert_eq(db_transact(f.db, hold_some, NULL), DB_OK);
}

static void store_clone(void)
{
    const char *name = "e";
    const struct expert_names names = {"ds_a", "cli_s", &name, 1, 9, 1};
    struct experts_outcome outcome;
    struct dataset_row dataset = {.id = "ds_a", .owner = "cli_s", .account = "acc_a"};
    struct expert_policy policy = {.dataset = "ds_a", .bytes = "weights", .size = 7};
    cr_assert_eq(datasets_insert(f.db, &dataset, NULL), DB_OK);
    cr_assert_eq(datasets_register_experts(f.db, &names, &policy.number, &outcome), DB_OK);
    cr_assert_eq(outcome.verdict, DATASET_OK);
    cr_assert_eq(datasets_put_policy(f.db, &policy), DB_OK);
}

static void store_checkpoint(void)
{
    struct job_lease lease;
    struct job_row job = {.id = "job_a", .request = (char[]){"{}"}, .plan = (char[]){""}}, claimed;
    struct job_checkpoint checkpoint = {
        .id = "job_a", .worker = "w", .step = 3, .bytes = "checkpoint", .size = 10};
    cr_assert_eq(jobs_submit(f.db, &job), DB_OK);
    cr_assert_eq(jobs_claim(f.db, "w", "", 1, 1000, &claimed), DB_OK);
    job_done(&claimed);
    cr_assert_eq(jobs_save_checkpoint(f.db, &checkpoint, &lease), DB_OK);
    cr_assert(lease.ours);
}

static void store_release(void)
{
    struct q_release_row release = {.id = "qre_a",
                                    .owner = "cli_s",
                                    .certificate = "crt_a",
                                    .terms = (char[]){"{\"epsilon\":1}"},
                                    .created_ms = 9};
    cr_assert_eq(q_releases_insert(f.db, &release, "sealed", 6, "text"), DB_OK);
}

static enum db_status store_aggregation(struct db *db, void *context)
{
    struct aggregation_row row = {.id = "agg_a", .owner = "cli_s", .open = true};
    (void)context;
    return aggregations_insert(db, &row, "scheme", 6, "parameters", 10);
}

static void store_names(void)
{
    const struct ending ending = {.resource = "pol_a", .client = "cli_s", .closed_ms = 6};
    const struct policy_grant grant = {
        .policy = "pol_a", .client = "cli_r", .granted_by = "cli_s", .granted_ms = 7};
    const struct policy_name_row name = {.owner = "cli_s",
                                         .name = "best@current",
                                         .revision = 1,
                                         .policy = "pol_a",
                                         .client = "cli_s",
                                         .moved_ms = 8};
    cr_assert_eq(endings_close(f.db, &ending), DB_OK);
    cr_assert_eq(policy_grants_insert(f.db, &grant), DB_OK);
    cr_assert_eq(policy_names_move(f.db, &name), DB_OK);
}

#define TOKEN_HASH                                                                                 \
    {                                                                                              \
        9                                                                                          \
    }

/* A steward with a token, a certificate, and the project that every steward has. */
static void store_rights(void)
{
    const struct client_row client = {
        .id = "cli_w", .name = "W", .role = "steward", .created_ms = 5};
    struct client_token token = {.client = "cli_w", .secret_hash = TOKEN_HASH, .scopes = 3};
    const struct client_certificate certificate = {
        .client = "cli_w", .hash = TOKEN_HASH, .created_ms = 5};
    cr_assert_eq(clients_insert(f.db, &client), DB_OK);
    cr_assert_eq(client_tokens_insert(f.db, &token), DB_OK);
    cr_assert_eq(client_certificates_insert(f.db, &certificate), DB_OK);
}

static enum db_status store_signing_key(struct db *db, void *context)
{
    struct signing_key key;
    (void)context;
    return signing_keys_add(db, root_seed, 1, &key);
}

static void open_full(void)
{
    fixture_open(&f, &db_driver_sqlite);
    cr_assert_eq(db_transact(f.db, store_answer, (char[]){"key-a"}), DB_OK);
    store_policy("pol_a", "weights of a", false);
    store_teacher();
    store_clone();
    store_checkpoint();
    store_release();
    cr_assert_eq(db_transact(f.db, store_aggregation, NULL), DB_OK);
    store_names();
    store_agreements();
    store_rights();
    cr_assert_eq(db_transact(f.db, store_signing_key, NULL), DB_OK);
    /* The triggers and keys that stop our own SQL do not stop a disk. */
    cr_assert_eq(fixture_sql(f.db, "DROP TRIGGER answers_fixed"), DB_OK);
    cr_assert_eq(fixture_sql(f.db, "DROP TRIGGER q_releases_end_once"), DB_OK);
    cr_assert_eq(fixture_sql(f.db, "DROP TRIGGER endings_fixed"), DB_OK);
    cr_assert_eq(fixture_sql(f.db, "DROP TRIGGER policy_names_fixed"), DB_OK);
    cr_assert_eq(fixture_sql(f.db, "DROP TRIGGER signing_keys_fixed"), DB_OK);
    cr_assert_eq(fixture_sql(f.db, "DROP TRIGGER limit_changes_end_once"), DB_OK);
    cr_assert_eq(fixture_sql(f.db, "DROP TRIGGER budget_requests_end_once"), DB_OK);
    cr_assert_eq(fixture_sql(f.db, "DROP TRIGGER client_tokens_only_end"), DB_OK);
    cr_assert_eq(db_run(f.db, "PRAGMA foreign_keys=OFF", NULL, 0, NULL, NULL), DB_OK);
}

/* ---- reading them as the service does */

static bool see_policy(void *context, uint32_t number, const void *bytes, size_t size)
{
    (void)context, (void)number, (void)bytes, (void)size;
    return true;
}

static enum db_status read_as_served(const struct table *table)
{
    union {
        struct answer_row answer;
        struct policy_row policy;
        struct teacher_row teacher;
        struct ending ending;
        struct policy_name_row name;
        struct dataset_row dataset;
        struct aggregation_row aggregation;
        struct limit_change_row change;
        struct budget_request_row request;
        struct ledger_price price;
        struct client_row client;
        struct client_token token;
        struct client_certificate certificate;
        struct project_row project;
        struct project_member_row member;
    } row;
    static const unsigned char hash[CLIENT_HASH_SIZE] = TOKEN_HASH;
    struct environment_row world = {.source = NULL};
    struct job_row job = {.request = NULL};
    bool allowed;
    struct signing_pair pair[2];
    unsigned count;
    struct q_release_row release = {.terms = NULL};
    enum db_status status = DB_NONE;
    void *bytes = NULL;
    size_t size;
    int64_t step;
    if (table == &answers_table) {
        status = answers_find(f.db, "cli_a", "key-a", &row.answer);
        bytes = row.answer.body;
    } else if (table == &policies_table)
        status = policies_find(f.db, "pol_a", &row.policy);
    else if (table == &policy_bytes_table)
        status = policies_bytes(f.db, "pol_a", &bytes, &size);
    else if (table == &teachers_table)
        status = teachers_find(f.db, "tch_a", &row.teacher);
    else if (table == &expert_policies_table)
        status = datasets_policies(f.db, "ds_a", see_policy, NULL);
    else if (table == &checkpoints_table)
        status = jobs_load_checkpoint(f.db, "job_a", &step, &bytes, &size);
    else if (table == &q_releases_table)
        status = q_releases_find(f.db, "qre_a", &release);
    else if (table == &q_sealed_table)
        status = q_releases_sealed(f.db, "qre_a", &bytes, &size);
    else if (table == &aggregation_parameters_table)
        status = aggregations_parameters(f.db, "agg_a", &bytes, &size);
    else if (table == &endings_table)
        status = endings_find(f.db, "pol_a", &row.ending);
    else if (table == &policy_names_table)
        status = policy_names_find(f.db, "cli_s", "best@current", &row.name);
    else if (table == &policy_grants_table)
        status = policy_grants_allow(f.db, "pol_a", "cli_r", &allowed);
    else if (table == &signing_keys_table)
        status = signing_keys_newest(f.db, root_seed, pair, &count);
    else if (table == &jobs_table)
        status = jobs_find(f.db, "job_a", &job);
    else if (table == &datasets_table)
        status = datasets_find(f.db, "ds_a", &row.dataset);
    else if (table == &aggregations_table)
        status = aggregations_find(f.db, "agg_a", &row.aggregation, NULL, 0);
    else if (table == &ledger_holds_table)
        status = ledger_held(f.db, "job_a", teacher_account, &row.price);
    else if (table == &limit_changes_table)
        status = limit_changes_find(f.db, "lch_a", &row.change);
    else if (table == &limit_approvals_table)
        status = limit_approvals(f.db, teacher_account, &step);
    else if (table == &budget_requests_table)
        status = budget_requests_find(f.db, "brq_a", &row.request);
    else if (table == &environments_table)
        status = environments_find(f.db, "env_a", &world);
    else if (table == &clients_table)
        status = clients_find(f.db, "cli_w", &row.client);
    else if (table == &client_tokens_table)
        status = db_owed(client_tokens_find(f.db, "cli_w", 1, &row.token));
    else if (table == &client_certificates_table)
        status = client_certificates_find(f.db, hash, &row.certificate);
    else if (table == &projects_table)
        status = projects_find(f.db, "cli_w", &row.project);
    else if (table == &project_members_table)
        status = db_owed(projects_member_find(f.db, "cli_w", "cli_w", &row.member));
    environments_done(&world);
    job_done(&job);
    free(bytes);
    q_release_row_done(&release);
    return status;
}

static bool see_any(void *context, const void *row)
{
    (void)context, (void)row;
    return true;
}

/* ---- flipping bits */

struct kept_value {
    struct db_value value;
    unsigned char bytes[512];
};

static enum db_status keep_value(void *context, const struct db_row *row)
{
    struct kept_value *kept = context;
    kept->value = row->values[0];
    if (kept->value.type == DB_TEXT || kept->value.type == DB_BYTES) {
        cr_assert_leq(kept->value.size, sizeof kept->bytes);
        memcpy(kept->bytes, kept->value.data, kept->value.size);
        kept->value.data = kept->bytes;
    }
    return DB_OK;
}

static size_t bits_of(const struct kept_value *kept)
{
    bool sized = kept->value.type == DB_TEXT || kept->value.type == DB_BYTES;
    return 8 * (sized ? kept->value.size : sizeof kept->value.integer);
}

static void flip_bit(struct kept_value *kept, size_t bit)
{
    unsigned char *at = kept->bytes;
    if (kept->value.type == DB_INTEGER || kept->value.type == DB_REAL)
        at = (unsigned char *)&kept->value.integer;
    at[bit / 8] ^= (unsigned char)(1u << (bit % 8));
}

static enum db_status write_value(const struct table *table, const char *column,
                                  const struct db_value *value)
{
    char sql[128];
    snprintf(sql, sizeof sql, "UPDATE %s SET %s = $1", table->name, column);
    return db_change(f.db, sql, value, 1);
}

static void expect_named(const struct table *table, bool names_key)
{
    static const char *const names[][2] = {{"answers", "cli_a key-a"},
                                           {"policies", "pol_a"},
                                           {"teachers", "tch_a"},
                                           {"expert_policies", "ds_a 0"},
                                           {"checkpoints", "job_a"},
                                           {"q_releases", "qre_a"},
                                           {"aggregation_parameters", "agg_a"},
                                           {"endings", "pol_a"},
                                           {"policy_names", "cli_s best?current"},
                                           {"policy_grants", "pol_a cli_r"},
                                           {"signing_keys", "2"},
                                           {"jobs", "job_a"},
                                           {"datasets", "ds_a"},
                                           {"aggregations", "agg_a"},
                                           {"ledger_holds", "job_a "} /* and the account */,
                                           {"limit_changes", "lch_a"},
                                           {"ledger_approvals", ""} /* likewise */,
                                           {"budget_requests", "brq_a"},
                                           {"environments", "env_a"},
                                           {"clients", "cli_w"},
                                           {"client_tokens", "cli_w 1"},
                                           {"client_certificates", "cli_w 5"},
                                           {"projects", "cli_w"},
                                           {"project_members", "cli_w cli_w"}};
    char wanted[64];
    const char *damage = db_damage(f.db);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i][0], table->name) != 0)
            continue;
        bool of_account = strncmp(table->name, "ledger_", 7) == 0;
        snprintf(wanted, sizeof wanted, "%s %s%s", names[i][0], names_key ? "" : names[i][1],
                 names_key || !of_account ? "" : teacher_account);
        cr_expect_eq(strncmp(damage, wanted, strlen(wanted)), 0, "%s, not %s", damage, wanted);
        cr_expect(names_key || strlen(damage) == strlen(wanted), "%s", damage);
    }
    cr_expect_str_eq(db_damage(f.db), "", "it is told once");
}

/* Flips bits of the one value of COLUMN, one after the other. */
static unsigned flip_column(const struct table *table, const char *column, bool is_key)
{
    char sql[128];
    struct kept_value kept;
    unsigned flips = 0;
    snprintf(sql, sizeof sql, "SELECT %s FROM %s", column, table->name);
    cr_assert_eq(db_one(f.db, sql, NULL, 0, keep_value, &kept), DB_OK);
    for (size_t bit = 0; bit < bits_of(&kept); bit += 5) {
        /* An exponent of all ones is no number, and a database stores none. */
        if (kept.value.type == DB_REAL && bit >= 52)
            break;
        flip_bit(&kept, bit);
        cr_assert_eq(write_value(table, column, &kept.value), DB_OK, "%s.%s %zu: %s", table->name,
                     column, bit, db_last_error(f.db));
        if (!is_key) {
            cr_expect_eq(read_as_served(table), DB_FAILED, "%s.%s %zu", table->name, column, bit);
            expect_named(table, false);
        }
        cr_expect_eq(table_list(f.db, table, "", NULL, 0, see_any, NULL), DB_FAILED, "%s.%s %zu",
                     table->name, column, bit);
        expect_named(table, is_key);
        flip_bit(&kept, bit);
        flips++;
    }
    if (bits_of(&kept) > 0)
        cr_assert_eq(write_value(table, column, &kept.value), DB_OK);
    cr_expect_eq(read_as_served(table), DB_OK, "%s", db_last_error(f.db));
    return flips;
}

Test(digest, a_flipped_bit_in_any_column_is_an_error_that_names_the_row, .init = open_full,
     .fini = store_close, .timeout = 600)
{
    unsigned flips = 0;
    for (const struct table *const *table = digests_tables; *table; table++) {
        for (unsigned i = 0; i < (*table)->count - (*table)->loose; i++)
            flips += flip_column(*table, (*table)->columns[i].name, i < (*table)->named);
        flips += flip_column(*table, (*table)->digest, false);
    }
    cr_expect_gt(flips, 600, "%u", flips);
}

Test(digest, a_missing_digest_is_an_error, .init = open_full, .fini = store_close)
{
    for (const struct table *const *table = digests_tables; *table; table++) {
        struct db_value none = db_bytes("", 0);
        cr_assert_eq(write_value(*table, (*table)->digest, &none), DB_OK);
        cr_expect_eq(read_as_served(*table), DB_FAILED, "%s", (*table)->name);
        expect_named(*table, false);
    }
}

Test(digest, a_row_in_anothers_place_is_an_error, .init = open_full, .fini = store_close)
{
    void *bytes;
    size_t size;
    store_policy("pol_b", "weights of b", false);
    static const char *const swap[][2] = {
        {"pol_a", "pol_x"}, {"pol_b", "pol_a"}, {"pol_x", "pol_b"}};
    for (unsigned i = 0; i < 3; i++) {
        char sql[96];
        snprintf(sql, sizeof sql, "UPDATE policies SET id = '%s' WHERE id = '%s'", swap[i][1],
                 swap[i][0]);
        cr_assert_eq(fixture_sql(f.db, sql), DB_OK);
    }
    cr_expect_eq(policies_bytes(f.db, "pol_a", &bytes, &size), DB_FAILED);
    cr_expect_str_eq(db_damage(f.db), "policies pol_a");
    cr_expect_eq(policies_bytes(f.db, "pol_b", &bytes, &size), DB_FAILED);
    cr_expect_str_eq(db_damage(f.db), "policies pol_b");
    /* nor does one digest of a row stand for the other */
    cr_assert_eq(fixture_sql(f.db, "UPDATE policies SET digest = bytes_digest"), DB_OK);
    struct policy_row policy;
    cr_expect_eq(policies_find(f.db, "pol_a", &policy), DB_FAILED);
}

static bool count_name(void *context, const struct policy_name_row *row)
{
    (void)row;
    ++*(unsigned *)context;
    return true;
}

/* A missing row is read like another one. It may be damaged, which is nobody's matter here. */
Test(digest, a_missing_row_tells_nothing_of_another, .init = open_full, .fini = store_close)
{
    struct policy_row row = {.id = "old", .owner = "old"};
    static const struct policy_row nothing;
    cr_expect_eq(policies_find(f.db, "pol_0", &row), DB_NONE);
    cr_expect_eq(memcmp(&row, &nothing, sizeof row), 0);
    cr_assert_eq(fixture_sql(f.db, "UPDATE policies SET state_dim = 99"), DB_OK);
    cr_expect_eq(policies_find(f.db, "pol_0", &row), DB_NONE);
    cr_expect_eq(policies_find(f.db, "pol_z", &row), DB_NONE);
    cr_expect_str_eq(db_damage(f.db), "");
    cr_expect_eq(policies_find(f.db, "pol_a", &row), DB_FAILED);
}

/* A name has one digest for each of its revisions. */
Test(digest, names_of_a_version_without_digests_get_them, .init = open_full, .fini = store_close)
{
    const struct policy_name_row moved = {
        .owner = "cli_s", .name = "best@current", .revision = 2, .policy = "pol_a", .client = "c"};
    char error[DB_ERROR_SIZE];
    unsigned count = 0;
    cr_assert_eq(policy_names_move(f.db, &moved), DB_OK);
    cr_assert_eq(fixture_sql(f.db, "UPDATE policy_names SET digest = x''"), DB_OK);
    cr_assert_eq(fixture_sql(f.db, "UPDATE policy_grants SET digest = x''"), DB_OK);
    cr_assert_eq(fixture_sql(f.db, "UPDATE endings SET digest = x''"), DB_OK);
    cr_expect_eq(read_as_served(&policy_names_table), DB_FAILED);
    cr_assert_eq(digests_begin_names(f.db, error), DB_OK);
    cr_expect_eq(policy_names_moves(f.db, "cli_s", "best@current", count_name, &count), DB_OK);
    cr_expect_eq(count, 2);
    cr_expect_eq(read_as_served(&policy_names_table), DB_OK);
    cr_expect_eq(read_as_served(&policy_grants_table), DB_OK);
    cr_expect_eq(read_as_served(&endings_table), DB_OK);
}

/* What changes gets a new digest. */
Test(digest, rights_that_change_are_not_damaged, .init = open_full, .fini = store_close)
{
    struct project_row project;
    const struct project_member_row member = {
        .project = "cli_w", .client = "cli_w", .role = PROJECT_VIEWER, .added_by = "cli_w"};
    struct client_token second = {.client = "cli_w", .secret_hash = {7}, .scopes = 1};
    struct client_bearer bearer;
    cr_assert_eq(client_tokens_insert(f.db, &second), DB_OK);
    cr_assert_eq(client_tokens_end_older(f.db, "cli_w", 2, 7, 60), DB_OK);
    cr_assert_eq(client_tokens_end(f.db, "cli_w", 2, -50), DB_OK);
    cr_assert_eq(clients_revoke(f.db, "cli_w", 70), DB_OK);
    cr_assert_eq(clients_revoke(f.db, "cli_w", 80), DB_OK);
    cr_assert_eq(clients_revoke(f.db, "cli_0", 80), DB_NONE);
    cr_assert_eq(client_tokens_bearer(f.db, "cli_w", second.secret_hash, &bearer), DB_OK);
    cr_expect(bearer.token.revoked_ms == -50 && bearer.client.revoked_ms == 70);
    cr_assert_eq(client_tokens_find(f.db, "cli_w", 1, &bearer.token), DB_OK);
    cr_expect_eq(bearer.token.revoked_ms, 60);
    cr_assert_eq(projects_find(f.db, "cli_w", &project), DB_OK);
    project.invited_only = true;
    cr_assert_eq(projects_update(f.db, &project), DB_OK);
    cr_assert_eq(projects_find(f.db, "cli_w", &project), DB_OK);
    cr_expect(project.invited_only);
    cr_assert_eq(projects_member_put(f.db, &member), DB_OK);
    cr_expect_eq(read_as_served(&project_members_table), DB_OK);
}

/* Whoever writes into the database makes nobody an auditor or a member, and revives no token. */
Test(digest, rights_that_somebody_wrote_are_not_believed, .init = open_full, .fini = store_close)
{
    static const unsigned char hash[CLIENT_HASH_SIZE] = TOKEN_HASH;
    struct client_bearer bearer;
    bool admits;
    cr_assert_eq(fixture_sql(f.db, "UPDATE clients SET role = 'auditor'"), DB_OK);
    cr_expect_eq(client_tokens_bearer(f.db, "cli_w", hash, &bearer), DB_FAILED);
    cr_assert_eq(fixture_sql(f.db, "UPDATE clients SET role = 'steward'"), DB_OK);
    cr_expect_eq(client_tokens_bearer(f.db, "cli_w", hash, &bearer), DB_OK);
    cr_assert_eq(fixture_sql(f.db, "UPDATE client_tokens SET scopes = 7"), DB_OK);
    cr_expect_eq(client_tokens_bearer(f.db, "cli_w", hash, &bearer), DB_FAILED);
    cr_assert_eq(fixture_sql(f.db, "UPDATE projects SET invited_only = 1"), DB_OK);
    cr_expect_eq(projects_admit(f.db, "cli_w", "cli_x", &admits), DB_FAILED);
    cr_assert_eq(fixture_sql(f.db, "UPDATE projects SET invited_only = 0"), DB_OK);
    cr_assert_eq(fixture_sql(f.db, "INSERT INTO project_members VALUES "
                                   "('cli_w', 'cli_x', 'student', 'cli_w', 1, x'')"),
                 DB_OK);
    cr_expect_eq(projects_admit(f.db, "cli_w", "cli_x", &admits), DB_OK);
    cr_expect(admits); /* because it is open to all */
    struct project_row project;
    cr_assert_eq(projects_find(f.db, "cli_w", &project), DB_OK);
    project.invited_only = true;
    cr_assert_eq(projects_update(f.db, &project), DB_OK);
    cr_expect_eq(projects_admit(f.db, "cli_w", "cli_x", &admits), DB_OK);
    cr_expect_not(admits);
}

static bool count_membership(void *context, const struct project_membership_row *row)
{
    (void)row;
    ++*(int *)context;
    return true;
}

/* What is damaged stops nobody else, and can be put right. */
Test(digest, a_damaged_right_can_be_taken_away, .init = open_full, .fini = store_close)
{
    static const unsigned char hash[CLIENT_HASH_SIZE] = TOKEN_HASH;
    const struct client_row other = {
        .id = "cli_x", .name = "X", .role = "steward", .created_ms = 6};
    const struct project_member_row shared = {
        .project = "cli_w", .client = "cli_x", .role = PROJECT_VIEWER, .added_by = "cli_w"};
    struct client_token second = {.client = "cli_w", .secret_hash = {7}, .scopes = 1};
    struct client_bearer bearer;
    char name[NAME_SIZE];
    int memberships = 0;
    int64_t owners = 0;
    cr_assert_eq(clients_insert(f.db, &other), DB_OK);
    cr_assert_eq(projects_member_put(f.db, &shared), DB_OK);
    cr_assert_eq(client_tokens_insert(f.db, &second), DB_OK);
    /* a project: its members keep their others */
    cr_assert_eq(fixture_sql(f.db, "UPDATE projects SET name = 'Y' WHERE id = 'cli_w'"), DB_OK);
    cr_expect_eq(projects_memberships(f.db, "cli_x", count_membership, &memberships), DB_OK);
    cr_expect_eq(memberships, 1);
    /* a member: it counts for nothing, and can go */
    cr_assert_eq(fixture_sql(f.db,
                             "UPDATE project_members SET role = 'owner' WHERE client = 'cli_x' "
                             "AND project = 'cli_w'"),
                 DB_OK);
    cr_assert_eq(projects_owners(f.db, "cli_w", &owners), DB_OK);
    cr_expect_eq(owners, 1);
    cr_expect_eq(projects_member_remove(f.db, "cli_w", "cli_x"), DB_OK);
    /* a token: it ends at once, and its scopes are not known */
    cr_assert_eq(fixture_sql(f.db, "UPDATE client_tokens SET scopes = 7 WHERE number = 2"), DB_OK);
    cr_assert_eq(client_tokens_find(f.db, "cli_w", 0, &bearer.token), DB_FAILED);
    cr_expect_eq(client_tokens_end_older(f.db, "cli_w", 3, 1, 900), DB_OK);
    cr_assert_eq(client_tokens_bearer(f.db, "cli_w", second.secret_hash, &bearer), DB_OK);
    cr_expect(bearer.token.revoked_ms == -900 && bearer.token.scopes == 0);
    cr_expect_eq(client_tokens_bearer(f.db, "cli_w", hash, &bearer), DB_OK);
    cr_expect_eq(bearer.token.revoked_ms, 0); /* it has further scopes */
    /* a client: its name is unknown, and it can be revoked */
    cr_assert_eq(fixture_sql(f.db, "UPDATE clients SET role = 'admin' WHERE id = 'cli_w'"), DB_OK);
    cr_expect_eq(client_tokens_bearer(f.db, "cli_w", hash, &bearer), DB_FAILED);
    cr_expect_eq(clients_name(f.db, "cli_w", name), DB_NONE);
    cr_expect_eq(clients_revoke(f.db, "cli_w", 70), DB_OK);
    cr_assert_eq(client_tokens_bearer(f.db, "cli_w", hash, &bearer), DB_OK);
    cr_expect_eq(bearer.client.revoked_ms, 70);
    cr_expect_str_eq(bearer.client.role, "student"); /* not what was written */
    cr_expect_str_eq(bearer.client.name, "");
}

/* A deletion keeps who closed it and when. */
Test(digest, what_was_closed_and_is_deleted_gets_a_new_digest, .init = open_full,
     .fini = store_close)
{
    const struct ending deletion = {.resource = "pol_a", .client = "cli_t", .deleted_ms = 90};
    struct ending ending;
    cr_assert_eq(endings_delete(f.db, &deletion), DB_OK);
    cr_assert_eq(endings_find(f.db, "pol_a", &ending), DB_OK);
    cr_expect_str_eq(ending.client, "cli_s");
    cr_expect(ending.closed_ms == 6 && ending.deleted_ms == 90);
    cr_expect_eq(endings_delete(f.db, &deletion), DB_NONE);
}

static enum db_status give_new_payer(struct db *db, void *context)
{
    (void)context;
    return datasets_set_account(db, "ds_a", "acc_new");
}

Test(digest, a_teacher_whose_dataset_has_a_new_account_gets_a_new_digest, .init = open_full,
     .fini = store_close)
{
    struct teacher_row teacher;
    cr_assert_eq(teachers_find(f.db, "tch_a", &teacher), DB_OK);
    snprintf(teacher.id, sizeof teacher.id, "tch_b");
    snprintf(teacher.dataset, sizeof teacher.dataset, "ds_a");
    snprintf(teacher.dataset_account, sizeof teacher.dataset_account, "acc_a");
    teacher.first_units = 7;
    teacher.first_delta = 8;
    cr_assert_eq(teachers_insert(f.db, &teacher, ""), DB_OK);
    snprintf(teacher.id, sizeof teacher.id, "tch_c");
    cr_assert_eq(teachers_insert(f.db, &teacher, ""), DB_OK);
    cr_assert_eq(db_transact(f.db, give_new_payer, NULL), DB_OK);
    static const char *const paid[] = {"tch_b", "tch_c"};
    for (size_t i = 0; i < 2; i++) {
        cr_assert_eq(teachers_find(f.db, paid[i], &teacher), DB_OK, "%s", db_damage(f.db));
        cr_expect_str_eq(teacher.dataset_account, "acc_new");
        cr_expect(teacher.first_units == 0 && teacher.first_delta == 0);
    }
    cr_assert_eq(teachers_find(f.db, "tch_a", &teacher), DB_OK);
    cr_expect_str_eq(teacher.dataset_account, "");
    struct dataset_row dataset;
    cr_assert_eq(datasets_find(f.db, "ds_a", &dataset), DB_OK, "%s", db_damage(f.db));
    cr_expect_str_eq(dataset.account, "acc_new");
}

Test(digest, what_is_erased_is_erased_and_not_damaged, .init = open_full, .fini = store_close)
{
    void *bytes;
    size_t size;
    struct q_release_row release;
    store_policy("pol_b", "of b", true);
    cr_assert_eq(db_transact(f.db, store_answer, (char[]){"key-b"}), DB_OK);
    cr_assert_eq(policies_erase_secrets(f.db, "ds_a"), DB_OK);
    cr_assert_eq(policies_bytes(f.db, "pol_a", &bytes, &size), DB_OK);
    cr_expect_eq(size, 0);
    free(bytes);
    cr_assert_eq(policies_bytes(f.db, "pol_b", &bytes, &size), DB_OK);
    cr_expect_str_eq(bytes, "of b");
    free(bytes);
    cr_assert_eq(q_releases_end(f.db, "qre_a", 77), DB_OK);
    cr_assert_eq(q_releases_find(f.db, "qre_a", &release), DB_OK);
    cr_expect_eq(release.ended_ms, 77);
    q_release_row_done(&release);
    /* a release that is opened again has nothing to draw from */
    cr_assert_eq(fixture_sql(f.db, "UPDATE q_releases SET ended_ms = 0"), DB_OK);
    cr_expect_eq(q_releases_sealed(f.db, "qre_a", &bytes, &size), DB_OK);
    cr_expect_eq(size, 0);
    free(bytes);
}

/* ---- names in errors */

Test(digest, a_clients_text_stays_out_of_errors, .init = open_full, .fini = store_close)
{
    struct answer_row answer;
    cr_assert_eq(db_transact(f.db, store_answer, (char[]){"a \"b\"=c"}), DB_OK);
    cr_assert_eq(fixture_sql(f.db, "UPDATE answers SET status = 201"), DB_OK);
    cr_expect_eq(answers_find(f.db, "cli_a", "a \"b\"=c", &answer), DB_FAILED);
    cr_expect_null(answer.body);
    cr_expect_str_eq(db_damage(f.db), "answers cli_a a??b??c");
    cr_expect_null(strstr(db_last_error(f.db), "actions"));
}

/* ---- the key */

static enum db_status open_with_key(unsigned char byte, char error[DB_ERROR_SIZE])
{
    unsigned char key[DB_KEY_SIZE];
    memset(key, byte, sizeof key);
    struct db_settings settings = {.location = f.path, .not_durable = true, .digest_key = key};
    db_close(f.db);
    db_store_free(f.store);
    f.store = db_store_new(&db_driver_sqlite, &settings);
    f.db = fixture_connect(&f);
    memset(key, 0, sizeof key);
    return storage_upgrade(f.db, error);
}

Test(digest, a_database_belongs_to_its_key, .init = open_full, .fini = store_close)
{
    char error[DB_ERROR_SIZE];
    cr_expect_eq(open_with_key(1, error), DB_FAILED);
    cr_expect_not_null(strstr(error, "another signing.key"), "%s", error);
    cr_expect_eq(read_as_served(&answers_table), DB_FAILED);
    cr_expect_eq(open_with_key(0, error), DB_OK, "%s", error);
    cr_expect_eq(read_as_served(&answers_table), DB_OK);
    /* without clients nothing is lost by another key, with clients the note must be there */
    cr_assert_eq(fixture_sql(f.db, "DELETE FROM meta WHERE name = 'digest-key'"), DB_OK);
    cr_expect_eq(open_with_key(0, error), DB_FAILED);
    cr_expect_not_null(strstr(error, "does not say which"), "%s", error);
    cr_assert_eq(fixture_sql(f.db, "DELETE FROM client_tokens"), DB_OK);
    cr_assert_eq(fixture_sql(f.db, "DELETE FROM client_certificates"), DB_OK);
    cr_assert_eq(fixture_sql(f.db, "DELETE FROM clients"), DB_OK);
    cr_expect_eq(open_with_key(3, error), DB_OK, "%s", error);
    cr_expect_eq(open_with_key(0, error), DB_FAILED);
}

/* ---- all answers */

#define ANSWERS 300

static void name_key(char key[16], unsigned i)
{
    snprintf(key, 16, "key-%05u", i * 7919 % 100000);
}

static void store_answers(void)
{
    fixture_open(&f, &db_driver_sqlite);
    for (unsigned i = 0; i < ANSWERS; i++) {
        char key[16];
        name_key(key, i);
        cr_assert_eq(db_transact(f.db, store_answer, key), DB_OK);
    }
    db_close(f.db); /* which empties the log */
    db_store_free(f.store);
    page_sums_remove(f.path); /* which would find all of it */
}

/* Opens the file as it stands; false: an answer is damaged. */
static bool verify_file(char error[DB_ERROR_SIZE])
{
    int64_t count = 0;
    struct db_settings settings = {.location = f.path, .not_durable = true};
    f.store = db_store_new(&db_driver_sqlite, &settings);
    enum db_status status = db_open(f.store, &f.db, error);
    if (status == DB_OK) {
        status = answers_verify(f.db, &count, error);
        db_close(f.db);
    }
    db_store_free(f.store);
    cr_expect(status != DB_OK || count == ANSWERS);
    return status == DB_OK;
}

static void flip_in_file(long at, unsigned bit)
{
    FILE *file = fopen(f.path, "r+b");
    cr_assert_not_null(file);
    fseek(file, at, SEEK_SET);
    int byte = fgetc(file);
    fseek(file, at, SEEK_SET);
    fputc(byte ^ (1 << bit), file);
    cr_assert_eq(fclose(file), 0);
}

static char *read_file(size_t *out_size)
{
    FILE *file = fopen(f.path, "rb");
    cr_assert_not_null(file);
    fseek(file, 0, SEEK_END);
    *out_size = (size_t)ftell(file);
    rewind(file);
    char *bytes = memory_new(*out_size, 1);
    cr_assert_eq(fread(bytes, 1, *out_size, file), *out_size);
    fclose(file);
    return bytes;
}

/* The name of an answer stands twice in the file: in its row, and in the index by which it is
 * found. A flip in either would make the answer look as if it had never been given. */
Test(digest, a_flipped_bit_in_a_name_or_in_the_index_of_names_is_found, .timeout = 600)
{
    char error[DB_ERROR_SIZE];
    size_t size;
    unsigned places = 0;
    store_answers();
    char *bytes = read_file(&size);
    cr_assert(verify_file(error), "%s", error);
    for (unsigned i = 0; i < ANSWERS; i += 10) {
        char name[16 + 8] = "cli_a", *at = bytes;
        name_key(name + 5, i);
        for (; (at = memmem(at, size - (size_t)(at - bytes), name, strlen(name))); at++) {
            long place = at - bytes + 5 + (long)(i % 9);
            places++;
            flip_in_file(place, i % 8);
            cr_expect_not(verify_file(error), "place %ld", place);
            flip_in_file(place, i % 8);
        }
    }
    cr_expect_geq(places, 60, "%u", places);
    cr_expect(verify_file(error), "%s", error);
    free(bytes);
    f.store = db_store_new(&db_driver_sqlite, &(struct db_settings){.location = f.path});
    f.db = fixture_connect(&f);
    fixture_close(&f);
}
