/* Clients, policies with certificates, and teachers with their clients. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/client_tokens.h"
#include "storage/policies.h"
#include "storage/projects.h"
#include "storage/teachers.h"
#include "tests/unit/storage/store.h"

/* ---- clients */

static void insert_client(const char *id, int64_t created_ms)
{
    struct client_row client = {.name = "Ada", .role = "student", .created_ms = created_ms};
    snprintf(client.id, sizeof client.id, "%s", id);
    cr_assert_eq(clients_insert(f.db, &client), DB_OK, "%s", db_last_error(f.db));
    cr_assert_eq(clients_insert(f.db, &client), DB_NONE);
}

static bool see_client(void *context, const struct client_row *client)
{
    char *out = context;
    sprintf(out + strlen(out), "%s,", client->id);
    return strlen(out) < 30;
}

Test(clients, live_and_are_revoked, .init = store_open, .fini = store_close)
{
    struct client_row client;
    char text[100] = "";
    insert_client("cli_b", 1);
    insert_client("cli_a", 1);
    insert_client("cli_c", 0);
    cr_assert_eq(clients_find(f.db, "cli_a", &client), DB_OK);
    cr_assert_str_eq(client.name, "Ada");
    cr_assert_str_eq(client.role, "student");
    cr_assert_eq(client.revoked_ms, 0);
    cr_assert_eq(clients_find(f.db, "cli_x", &client), DB_NONE);
    cr_assert_eq(clients_revoke(f.db, "cli_x", 5), DB_NONE);
    cr_assert_eq(clients_revoke(f.db, "cli_a", 5), DB_OK);
    cr_assert_eq(clients_revoke(f.db, "cli_a", 6), DB_OK);
    cr_assert_eq(clients_find(f.db, "cli_a", &client), DB_OK);
    cr_assert_eq(client.revoked_ms, 5);
    cr_assert_eq(clients_list(f.db, &(struct listing_page){.limit = 2}, see_client, text), DB_OK);
    cr_assert_str_eq(text, "cli_c,cli_a,");
    cr_assert_eq(clients_list(f.db, &(struct listing_page){1, "cli_a", 2}, see_client, text),
                 DB_OK);
    cr_assert_str_eq(text, "cli_c,cli_a,cli_b,");
    cr_assert_eq(clients_list(f.db, &(struct listing_page){1, "cli_x", 2}, see_client, text),
                 DB_OK);
    cr_assert_str_eq(text, "cli_c,cli_a,cli_b,");
}

/* ---- tokens */

static bool see_token(void *context, const struct client_token *token)
{
    char *out = context;
    sprintf(out + strlen(out), "%d:%d ", (int)token->number, (int)token->revoked_ms);
    return true;
}

static void insert_token(const char *client, unsigned char secret, uint32_t scopes,
                         int64_t created_ms)
{
    struct client_token token = {.scopes = scopes, .created_ms = created_ms, .expires_ms = 0};
    snprintf(token.client, sizeof token.client, "%s", client);
    memset(token.secret_hash, secret, sizeof token.secret_hash);
    cr_assert_eq(client_tokens_insert(f.db, &token), DB_OK, "%s", db_last_error(f.db));
}

Test(clients, have_tokens_that_end, .init = store_open, .fini = store_close)
{
    unsigned char hash[CLIENT_HASH_SIZE];
    struct client_bearer bearer;
    char text[200] = "";
    int64_t count = 0;
    insert_client("cli_a", 1);
    insert_client("cli_b", 1);
    insert_token("cli_a", 1, 7, 10);
    insert_token("cli_a", 2, 1, 20);
    insert_token("cli_a", 3, 7, 30);
    insert_token("cli_b", 4, 7, 30);
    memset(hash, 2, sizeof hash);
    cr_assert_eq(client_tokens_bearer(f.db, "cli_a", hash, &bearer), DB_OK);
    cr_expect_eq(bearer.token.number, 2);
    cr_expect_eq(bearer.token.scopes, 1);
    cr_expect_str_eq(bearer.client.role, "student");
    cr_expect_eq(client_tokens_bearer(f.db, "cli_b", hash, &bearer), DB_NONE);
    cr_expect_eq(client_tokens_bearer(f.db, "cli_x", hash, &bearer), DB_NONE);

    cr_assert_eq(client_tokens_end_older(f.db, "cli_a", 3, 1, 100), DB_OK);
    cr_assert_eq(client_tokens_end_older(f.db, "cli_a", 3, 7, 50), DB_OK);
    cr_assert_eq(client_tokens_end_older(f.db, "cli_a", 3, 7, 70), DB_OK);
    cr_assert_eq(client_tokens_list(f.db, "cli_a", see_token, text), DB_OK);
    cr_expect_str_eq(text, "1:50 2:50 3:0 ");
    cr_assert_eq(client_tokens_count(f.db, "cli_a", 49, &count), DB_OK);
    cr_expect_eq(count, 3);
    cr_assert_eq(client_tokens_count(f.db, "cli_a", 50, &count), DB_OK);
    cr_expect_eq(count, 1);
    cr_expect_eq(client_tokens_end(f.db, "cli_a", 4, 60), DB_NONE);
    cr_expect_eq(client_tokens_end(f.db, "cli_a", 3, 60), DB_OK);
    cr_expect_eq(client_tokens_end(f.db, "cli_a", 3, -40), DB_OK); /* for good, and stays so */
    cr_expect_eq(client_tokens_end(f.db, "cli_a", 3, 30), DB_OK);
    cr_expect_eq(client_tokens_end_older(f.db, "cli_a", 4, 7, -60), DB_OK);
    text[0] = '\0';
    cr_assert_eq(client_tokens_list(f.db, "cli_a", see_token, text), DB_OK);
    cr_expect_str_eq(text, "1:-50 2:-50 3:-40 ");
    cr_assert_eq(client_tokens_count(f.db, "cli_a", 1, &count), DB_OK);
    cr_expect_eq(count, 0);
    cr_expect_eq(fixture_sql(f.db, "UPDATE client_tokens SET revoked_ms = 0"), DB_FAILED);
    cr_expect_eq(fixture_sql(f.db, "UPDATE client_tokens SET revoked_ms = 90"), DB_FAILED);
    cr_expect_eq(fixture_sql(f.db, "UPDATE client_tokens SET scopes = 3"), DB_FAILED);
}

Test(clients, forget_tokens_that_ended_long_ago, .init = store_open, .fini = store_close)
{
    char text[1000] = "";
    insert_client("cli_a", 1);
    insert_token("cli_a", 0, 7, 1);
    for (unsigned char i = 1; i <= 60; i++) {
        insert_token("cli_a", i, 7, i);
        if (i > 1) /* token 2, of the first turn, goes on */
            cr_assert_eq(client_tokens_end(f.db, "cli_a", i + 1, i), DB_OK);
    }
    insert_token("cli_a", 77, 7, 100);
    cr_assert_eq(client_tokens_list(f.db, "cli_a", see_token, text), DB_OK);
    cr_expect(strncmp(text, "1:0 2:0 13:12 ", 14) == 0, "%s", text);
}

/* ---- policies */

static struct policy_row a_policy(const char *id, const char *certificate)
{
    struct policy_row policy = {.owner = "cli_s",
                                .name = "best",
                                .environment = "cartpole",
                                .dataset = "ds_a",
                                .job = "job_a",
                                .mechanism = "dpsgd",
                                .released = true,
                                .state_dim = 4,
                                .action_count = 2,
                                .created_ms = 3};
    snprintf(policy.id, sizeof policy.id, "%s", id);
    snprintf(policy.certificate, sizeof policy.certificate, "%s", certificate);
    return policy;
}

static bool see_policy(void *context, const struct policy_row *policy)
{
    char *out = context;
    sprintf(out + strlen(out), "%s,", policy->id);
    return true;
}

Test(policies, are_kept_with_their_certificates, .init = store_open, .fini = store_close)
{
    struct policy_row in = a_policy("pol_a", "crt_a"), out;
    struct certificate_row certificate;
    void *bytes = NULL;
    size_t size = 0;
    char text[100] = "";
    cr_assert_eq(policies_insert(f.db, &in, "a\0b", 3, "{\"x\":1}"), DB_OK);
    cr_assert_eq(policies_insert(f.db, &in, "a\0b", 3, "{}"), DB_NONE);
    struct policy_row same_certificate = a_policy("pol_x", "crt_a");
    cr_assert_eq(policies_insert(f.db, &same_certificate, "", 0, "{}"), DB_NONE);
    cr_assert_eq(policies_find(f.db, "pol_x", &out), DB_NONE, "the policy must not have stayed");
    cr_assert_eq(policies_find(f.db, "pol_a", &out), DB_OK);
    cr_assert_str_eq(out.name, "best");
    cr_assert_str_eq(out.job, "job_a");
    cr_assert_str_eq(out.certificate, "crt_a");
    cr_assert(out.released && out.state_dim == 4 && out.action_count == 2);
    cr_assert_eq(policies_bytes(f.db, "pol_a", &bytes, &size), DB_OK);
    cr_assert(size == 3 && memcmp(bytes, "a\0b", 3) == 0);
    free(bytes);
    cr_assert_eq(policies_bytes(f.db, "pol_x", &bytes, &size), DB_NONE);
    static const char *const names[] = {"crt_a", "pol_a"};
    for (unsigned i = 0; i < 2; i++) {
        cr_assert_eq(certificates_find(f.db, names[i], &certificate), DB_OK);
        cr_assert_str_eq(certificate.text, "{\"x\":1}");
        cr_assert_str_eq(certificate.policy, "pol_a");
        cr_assert_str_eq(certificate.owner, "cli_s");
        free(certificate.text);
    }
    struct policy_row imported = a_policy("pol_b", "");
    cr_assert_eq(policies_insert(f.db, &imported, "z", 1, NULL), DB_OK);
    cr_assert_eq(certificates_find(f.db, "pol_b", &certificate), DB_NONE);
    cr_assert_eq(policies_list(f.db, "cli_s", "cli_y", NULL, &(struct listing_page){.limit = 1},
                               see_policy, text),
                 DB_OK);
    cr_assert_eq(policies_list(f.db, "cli_s", "cli_y", NULL, &(struct listing_page){3, "pol_a", 9},
                               see_policy, text),
                 DB_OK);
    cr_assert_eq(policies_list(f.db, "cli_x", "cli_x", NULL, &(struct listing_page){.limit = 9},
                               see_policy, text),
                 DB_OK);
    cr_assert_str_eq(text, "pol_a,pol_b,");
}

/* ---- teachers */

static void insert_teacher(const char *id, bool open_to_all)
{
    struct ledger_account account = fixture_account(f.db, LEDGER_TEACHER, id, NULL, 1000, 0);
    struct teacher_row teacher = {.owner = "cli_s",
                                  .policy = "pol_a",
                                  .mechanism = "dirichlet",
                                  .adjacency = "observation",
                                  .concentration = 20,
                                  .min_probability = 0.1,
                                  .vanishing = 1,
                                  .temperature = 2,
                                  .radius = 0.01,
                                  .lipschitz = 3.5,
                                  .sensitivity = 0.035,
                                  .renyi_order = 12.5,
                                  .sigma = 0.25,
                                  .delta_share = 123456789012345,
                                  .has_client_budget = open_to_all,
                                  .client_epsilon = 1,
                                  .client_delta = 1e-6,
                                  .created_ms = 4};
    snprintf(teacher.id, sizeof teacher.id, "%s", id);
    memcpy(teacher.account, account.id, ID_SIZE);
    cr_assert_eq(teachers_insert(f.db, &teacher, ""), DB_OK, "%s", db_last_error(f.db));
    cr_assert_eq(teachers_insert(f.db, &teacher, ""), DB_NONE);
}

static void open_teachers(void)
{
    store_open();
    struct policy_row policy = a_policy("pol_a", "");
    const struct project_row project = {.id = "cli_s", .name = "open to all"};
    cr_assert_eq(projects_insert(f.db, &project), DB_OK);
    cr_assert_eq(policies_insert(f.db, &policy, "z", 1, NULL), DB_OK);
    insert_teacher("tch_a", false);
    insert_teacher("tch_b", true);
}

static bool see_teacher(void *context, const struct teacher_row *teacher)
{
    char *out = context;
    sprintf(out + strlen(out), "%s,", teacher->id);
    return true;
}

static const char *listed(const char *owner, const char *client)
{
    static char text[100];
    text[0] = '\0';
    cr_assert_eq(
        teachers_list(f.db, owner, client, &(struct listing_page){.limit = 9}, see_teacher, text),
        DB_OK);
    return text;
}

Test(teachers, keep_every_number, .init = open_teachers, .fini = store_close)
{
    struct teacher_row t;
    char text[100] = "";
    cr_assert_eq(teachers_find(f.db, "tch_b", &t), DB_OK);
    cr_assert(t.concentration == 20 && t.min_probability == 0.1 && t.vanishing == 1 &&
              t.temperature == 2 && t.radius == 0.01 && t.lipschitz == 3.5 &&
              t.sensitivity == 0.035 && t.renyi_order == 12.5 && t.sigma == 0.25 &&
              t.delta_share == 123456789012345 && t.has_client_budget && t.client_epsilon == 1 &&
              t.client_delta == 1e-6 && t.created_ms == 4);
    cr_assert_str_eq(t.mechanism, "dirichlet");
    cr_assert_str_eq(t.adjacency, "observation");
    cr_assert_str_eq(t.policy, "pol_a");
    cr_assert_eq(teachers_find(f.db, "tch_x", &t), DB_NONE);
    cr_assert_eq(
        teachers_list(f.db, NULL, NULL, &(struct listing_page){4, "tch_a", 9}, see_teacher, text),
        DB_OK);
    cr_assert_str_eq(text, "tch_b,");
}

Test(teachers, know_their_clients, .init = open_teachers, .fini = store_close)
{
    struct ledger_account account = fixture_account(f.db, LEDGER_CLIENT, "tch_a", "cli_a", 1000, 0);
    struct teacher_client_row standing;
    int64_t number = -1;
    cr_assert_str_eq(listed("cli_s", NULL), "tch_a,tch_b,");
    cr_assert_str_eq(listed(NULL, "cli_a"), "tch_b,");
    cr_assert_eq(teachers_client_find(f.db, "tch_a", "cli_a", &standing), DB_NONE);
    cr_assert_eq(teachers_client_next_rollout(f.db, "tch_a", "cli_a", &number), DB_NONE);
    cr_assert_eq(teachers_client_insert(f.db, "tch_a", "cli_a", account.id, 1), DB_OK);
    cr_assert_eq(teachers_client_insert(f.db, "tch_a", "cli_a", account.id, 1), DB_NONE);
    cr_assert_str_eq(listed(NULL, "cli_a"), "tch_a,tch_b,");
    cr_assert_str_eq(listed(NULL, "cli_b"), "tch_b,");
    cr_assert_eq(teachers_client_next_rollout(f.db, "tch_a", "cli_a", &number), DB_OK);
    cr_assert_eq(number, 1);
    cr_assert_eq(teachers_client_find(f.db, "tch_a", "cli_a", &standing), DB_OK);
    cr_assert_str_eq(standing.account, account.id);
    cr_assert_eq(standing.rollout, 1);
}
