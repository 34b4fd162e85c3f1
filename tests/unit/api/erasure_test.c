/* Erasing an expert, or a dataset: who may, what goes, what stays, and what is said of it. */
#include <criterion/criterion.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/call/app.h"
#include "api/call/certificate.h"
#include "api/call/sealed.h"
#include "api/data/private_data.h"
#include "api/json/json_text.h"
#include "memory/memory.h"
#include "storage/answers/answers.h"
#include "storage/db/listing.h"
#include "storage/jobs.h"
#include "storage/keys/keyring.h"
#include "storage/ledger/trail.h"
#include "tests/unit/api/export_scene.h"
#include "tests/unit/api/failing_database.h"
#include "tests/unit/api/service.h"

TestSuite(erasure, .init = service_open, .fini = service_close);

static struct response *erase(const char *role, const char *dataset, const char *expert)
{
    return fixture_delete(f, role, domain_path("/v1/datasets/%s/experts/%s", dataset, expert));
}

static enum db_status append_row(struct db *db, void *row)
{
    return trail_append(db, row);
}

static bool signature_verifies(struct response *receipt)
{
    unsigned char signature[crypto_sign_BYTES];
    size_t size = 0;
    json_t *without = json_deep_copy(receipt->json);
    json_object_del(without, "signature");
    char *text = json_text_write(without, true, &size);
    const char *value = response_text(receipt, "/signature/value");
    cr_assert_eq(sodium_base642bin(signature, sizeof signature, value, strlen(value), NULL, NULL,
                                   NULL, sodium_base64_VARIANT_URLSAFE_NO_PADDING),
                 0);
    bool verifies = crypto_sign_verify_detached(signature, (unsigned char *)text, size,
                                                fixture_app(f)->public_key) == 0;
    json_decref(without);
    free(text);
    return verifies;
}

Test(erasure, gives_a_signed_receipt_and_the_same_again)
{
    const char *dataset = domain_sealed(f, "private", 5);
    size_t before = domain_readable(f, dataset);
    struct response *receipt = erase("steward", dataset, "e2");
    expect_status(receipt, 200);
    cr_expect_str_eq(response_text(receipt, "/type"), "erasure");
    cr_expect_str_eq(response_text(receipt, "/dataset"), dataset);
    cr_expect_str_eq(response_text(receipt, "/expert"), "e2");
    cr_expect_str_eq(response_text(receipt, "/client"), fixture_client(f, "steward"));
    cr_expect_not_null(strstr(response_text(receipt, "/meaning"), "released before stay"));
    cr_expect(signature_verifies(receipt));
    cr_expect_eq(domain_readable(f, dataset), before / 5 * 4);
    fixture_advance(60000);
    struct response *again = erase("steward", dataset, "e2");
    expect_status(again, 200);
    cr_expect_str_eq(again->body, receipt->body);
    expect_problem(erase("steward", dataset, "e7"), "not-found");
    expect_problem(erase("steward", dataset, "~e"), "not-found");
    /* the name is gone too, and the slot stays */
    int64_t named = -1;
    cr_assert_eq(db_one(fixture_db(f), "SELECT count(*) FROM experts WHERE name = 'e2'", NULL, 0,
                        listing_integer, &named),
                 DB_OK);
    cr_expect_eq(named, 0);
    struct response *shown = fixture_get(f, "steward", domain_path("/v1/datasets/%s", dataset));
    cr_expect_eq(response_number(shown, "/experts"), 5);
}

/* Uploads LINES under KEY (NULL: none), with QUERY. */
static struct response *send_lines(const char *token, const char *dataset, const char *lines,
                                   const char *key, const char *query)
{
    return fixture_ask(
        f, &(struct ask){.method = "POST",
                         .path = domain_path("/v1/datasets/%s/trajectories%s", dataset, query),
                         .token = token,
                         .key = key,
                         .content_type = "application/x-ndjson",
                         .body = lines});
}

/* Nobody comes back unasked, in an upload or with a policy; a contributor hears of its own experts
 * alone; and a call that was answered before the erasure keeps its answer. */
/* The key that signs receipts could sign one for an expert who is still there. */
Test(erasure, has_its_receipt_in_the_audit_trail)
{
    struct verify_report report;
    size_t size;
    const char *dataset = domain_sealed(f, "private", 5);
    char *earlier = export_scene_take(f, &size);
    fixture_advance(60000);
    struct response *receipt = erase("steward", dataset, "e2");
    fixture_advance(60000);
    expect_status(erase("steward", dataset, "e2"), 200); /* has a row of its own */
    char *text = export_scene_take(f, &size);
    export_scene_receipt(f, text, receipt->body, &report);
    cr_expect_eq(report.fault_count, 0, "%s", report.faults[0].what);
    cr_expect_eq(report.receipt, report.trail - 1);
    cr_expect_eq(report.receipts, 2);
    cr_expect_str_eq(report.receipt_time, response_text(receipt, "/erased_at"));
    cr_expect_eq(report.erased, 2);
    cr_expect_eq(report.repeated, 1);
    cr_expect_null(strstr(text, "\"e2\""));
    export_scene_receipt(f, earlier, receipt->body, &report);
    cr_expect_eq(report.fault_count, 1);
    cr_expect_str_eq(
        report.faults[0].what,
        "no row of the audit trail has the receipt: the export is older than the receipt");

    json_t *other = json_deep_copy(receipt->json);
    json_object_del(other, "signature");
    json_object_set_new(other, "expert", json_string("e3"));
    char *forged = fixture_sign(f, other);
    export_scene_receipt(f, text, forged, &report);
    cr_expect_eq(report.fault_count, 1);
    cr_expect_str_eq(report.faults[0].what, "no row of the audit trail has the receipt");
    json_decref(other);
    free(forged);
    free(earlier);
    free(text);
}

/* As versions before receipts were bound have left it. */
Test(erasure, without_its_receipt_in_the_trail_still_verifies_and_is_told_apart)
{
    struct verify_report report;
    size_t size;
    const char *dataset = domain_sealed(f, "private", 5);
    struct response *receipt = erase("steward", dataset, "e2");
    struct trail_row row = {.actor = "client",
                            .action = "DELETE /v1/datasets/{id}/experts/{expert}",
                            .outcome = "ok",
                            .count = 1};
    snprintf(row.resource, sizeof row.resource, "%s", dataset);
    cr_assert_eq(db_transact(fixture_db(f), append_row, &row), DB_OK);
    export_scene_expect_good(f);
    char *text = export_scene_take(f, &size), *body = memory_copy_text(receipt->body);
    strstr(body, "\"e2\"")[1] = 'f';
    json_t *other = json_text_stored(body);
    json_object_del(other, "signature");
    char *forged = fixture_sign(f, other);
    export_scene_receipt(f, text, forged, &report);
    cr_expect_eq(report.fault_count, 1);
    cr_expect_not_null(strstr(report.faults[0].what, "as rows of older versions do"));
    json_decref(other);
    free(forged);
    free(body);
    free(text);
}

/* A row that the holder of the key has dated back. */
Test(erasure, is_no_older_than_its_receipt)
{
    static const char *const times[] = {"2999-01-01T00:00:00.000Z", "2001-01-01T00:00:00.000Z"};
    const char *dataset = domain_sealed(f, "private", 5);
    struct response *receipt = erase("steward", dataset, "e2");
    for (size_t i = 0; i < 2; i++) {
        struct verify_report report;
        size_t size;
        unsigned char hash[32];
        json_t *other = json_deep_copy(receipt->json);
        json_object_del(other, "signature");
        json_object_set_new(other, "erased_at", json_string(times[i]));
        char *forged = fixture_sign(f, other);
        struct trail_row row = {.actor = "client",
                                .action = "DELETE /v1/datasets/{id}/experts/{expert}",
                                .outcome = "ok",
                                .count = 1,
                                .time_ms = 1795737600000};
        snprintf(row.resource, sizeof row.resource, "%s", dataset);
        snprintf(row.client, sizeof row.client, "%s", fixture_client(f, "steward"));
        crypto_hash_sha256(hash, (const unsigned char *)forged, strlen(forged));
        sodium_bin2hex(row.subject, sizeof row.subject, hash, sizeof hash);
        cr_assert_eq(db_transact(fixture_db(f), append_row, &row), DB_OK);
        char *text = export_scene_take(f, &size);
        export_scene_receipt(f, text, forged, &report);
        cr_expect_eq(report.fault_count, i == 0, "%s", report.faults[0].what);
        cr_expect_eq(!strstr(report.faults[0].what, "before the receipt's 2999-01-01"), i == 1,
                     "%s", report.faults[0].what);
        cr_expect_str_eq(report.receipt_by, fixture_client(f, "steward"));
        json_decref(other);
        free(forged);
        free(text);
    }
}

Test(erasure, an_erased_expert_comes_back_only_knowingly)
{
    const char *dataset = domain_dataset(f, "private");
    const char *mine = fixture_token(f, "contributor");
    const char *other = fixture_new_token(f, "contributor");
    char *lines = domain_lines(3, 3);
    expect_status(send_lines(mine, dataset, lines, "once", ""), 201);
    expect_status(erase("contributor", dataset, "e1"), 200);
    expect_status(erase("steward", dataset, "e2"), 200);
    expect_status(send_lines(mine, dataset, lines, "once", ""), 201);
    size_t before = domain_readable(f, dataset);

    struct response *refused = send_lines(mine, dataset, lines, "twice", "");
    expect_problem(refused, "conflict");
    const char *says = response_text(refused, "/detail");
    cr_expect(strstr(says, "\"e1\" was erased from this dataset. So were 1 more"), "%s", says);
    cr_expect(strstr(says, "?erased=accept"), "%s", says);
    cr_expect_eq(json_array_size(response_at(refused, "/experts")), 2);
    cr_expect_str_eq(response_text(refused, "/experts/1"), "e2");
    expect_problem(send_lines(fixture_token(f, "steward"), dataset, lines, NULL, ""), "conflict");
    expect_problem(fixture_put(f, "contributor",
                               domain_path("/v1/datasets/%s/experts/e1/policy", dataset), "{}"),
                   "conflict");
    expect_problem(send_lines(mine, dataset, lines, NULL, "?erased=yes"), "validation");
    cr_expect_eq(domain_readable(f, dataset), before);

    expect_status(send_lines(other, dataset, lines, NULL, ""), 201);
    expect_status(send_lines(mine, dataset, lines, NULL, "?erased=accept"), 201);
    free(lines);
}

/* The hash that whoever guesses LINES can compute: of their upload to DATASET under a key. */
static void plain_hash(const char *dataset, const char *lines, unsigned char out[32])
{
    unsigned char body[32];
    char head[200];
    int size = snprintf(head, sizeof head, "POST%c/v1/datasets/%s/trajectories%c", 0, dataset, 0);
    crypto_generichash_state state;
    crypto_generichash(body, sizeof body, (const unsigned char *)lines, strlen(lines), NULL, 0);
    crypto_generichash_init(&state, NULL, 0, 32);
    crypto_generichash_update(&state, (const unsigned char *)head, (size_t)size + 1); /* no query */
    crypto_generichash_update(&state, body, sizeof body);
    crypto_generichash_final(&state, out, 32);
}

static int64_t answers_with(const unsigned char hash[32])
{
    int64_t count = -1;
    cr_assert_eq(db_one(fixture_db(f), "SELECT count(*) FROM answers WHERE fingerprint = $1",
                        DB_VALUES(db_bytes(hash, 32)), listing_integer, &count),
                 DB_OK);
    return count;
}

/* A key keeps a fingerprint of its call, which an erasure does not reach. */
Test(erasure, leaves_no_hash_by_which_a_guess_is_checked)
{
    unsigned char hash[32];
    const char *dataset = domain_dataset(f, "private");
    char *lines = domain_lines(1, 3);
    expect_status(send_lines(fixture_token(f, "steward"), dataset, lines, "once", ""), 201);
    expect_status(erase("steward", dataset, "e0"), 200);
    plain_hash(dataset, lines, hash);
    cr_expect_eq(answers_with(hash), 0);
    free(lines);
}

static enum db_status store_before(struct db *db, void *answer)
{
    return answers_store(db, fixture_client(f, "steward"), "before", answer);
}

/* Earlier builds stored the plain hash. */
Test(erasure, an_upload_to_an_earlier_build_is_answered_once)
{
    struct answer_row answer;
    const char *dataset = domain_dataset(f, "private"), *token = fixture_token(f, "steward");
    char *lines = domain_lines(1, 3), *others = domain_lines(1, 4);
    expect_status(send_lines(token, dataset, lines, "once", ""), 201);
    cr_assert_eq(answers_find(fixture_db(f), fixture_client(f, "steward"), "once", &answer), DB_OK);
    plain_hash(dataset, lines, answer.fingerprint);
    cr_assert_eq(db_transact(fixture_db(f), store_before, &answer), DB_OK);
    answer_done(&answer);
    cr_expect_eq(answers_with(answer.fingerprint), 1); /* so the test above would find one */
    struct response *again = send_lines(token, dataset, lines, "before", "");
    expect_status(again, 201);
    cr_expect_str_eq(response_header(again, "Idempotency-Replayed"), "true");
    expect_problem(send_lines(token, dataset, others, "before", ""), "idempotency-key-reused");
    free(lines);
    free(others);
}

Test(erasure, is_for_the_contributor_and_the_steward)
{
    const char *dataset = domain_dataset(f, "private"), *other;
    (void)fixture_token(f, "contributor");
    other = fixture_new_token(f, "contributor");
    char *lines = domain_lines(2, 3), *one = domain_lines(1, 3);
    expect_status(domain_upload(f, "contributor", dataset, lines, 0, NULL), 201);
    expect_status(domain_upload(f, NULL, dataset, one, 0, NULL), 201);
    const char *path = domain_path("/v1/datasets/%s/experts/e1", dataset);
    struct response *foreign =
        fixture_ask(f, &(struct ask){.method = "DELETE", .path = path, .token = other});
    expect_problem(foreign, "not-found");
    struct response *missing = erase("contributor", dataset, "e9");
    cr_expect_str_eq(response_text(foreign, "/detail"), response_text(missing, "/detail"));
    expect_problem(erase("contributor", "ds_0", "e1"), "not-found");
    expect_problem(erase("student", dataset, "e1"), "forbidden");
    /* two clients call an expert so */
    struct response *two = erase("steward", dataset, "e0");
    expect_problem(two, "conflict");
    cr_expect(strstr(response_text(two, "/detail"), fixture_client(f, "contributor")));
    cr_expect(strstr(response_text(two, "/detail"), fixture_client(f, "steward")));
    expect_status(fixture_delete(f, "steward",
                                 domain_path("/v1/datasets/%s/experts/e0?client=%s", dataset,
                                             fixture_client(f, "steward"))),
                  200);
    size_t before = domain_readable(f, dataset);
    expect_status(erase("contributor", dataset, "e0"), 200);
    cr_expect_lt(domain_readable(f, dataset), before);
    expect_status(erase("contributor", dataset, "e1"), 200);
    cr_expect_eq(domain_readable(f, dataset), 0);
    /* who comes back, which must be meant, is somebody new */
    expect_status(send_lines(fixture_token(f, "contributor"), dataset, one, NULL, "?erased=accept"),
                  201);
    cr_expect_gt(domain_readable(f, dataset), 0);
    expect_status(erase("contributor", dataset, "e0"), 200);
    cr_expect_eq(domain_readable(f, dataset), 0);
    free(lines);
    free(one);
}

Test(erasure, leaves_certificates_and_ledger_and_the_next_job_runs)
{
    const char *dataset = domain_sealed(f, "private", 6);
    struct response *job = domain_run(f, domain_private_job(dataset, 1, 8));
    const char *policy = response_text(job, "/policy");
    expect_status(erase("steward", dataset, "e0"), 200);
    expect_status(fixture_get(f, "steward", domain_path("/v1/policies/%s/weights", policy)), 200);
    expect_status(fixture_get(f, "steward", domain_path("/v1/policies/%s/certificate", policy)),
                  200);
    domain_expect_whole_ledger(f);
    struct response *next = domain_run(f, domain_private_job(dataset, 1, 8));
    cr_expect_str_eq(response_text(next, "/state"), "succeeded", "%s", next->body);
    domain_expect_whole_ledger(f);
}

Test(erasure, of_everybody_ends_an_unprotected_job_with_its_reason)
{
    const char *dataset = domain_sealed(f, "private", 3);
    expect_status(erase("steward", dataset, "e0"), 200);
    expect_status(erase("steward", dataset, "e1"), 200);
    expect_status(erase("steward", dataset, "e2"), 200);
    struct response *made =
        fixture_post(f, "steward", "/v1/jobs", domain_unprotected_job(dataset, 20));
    expect_status(made, 202);
    cr_expect_eq(domain_turn(f, "w", NULL, NULL), API_JOB_RAN);
    struct response *job = domain_job(f, made);
    cr_expect_str_eq(response_text(job, "/state"), "failed");
    cr_expect_str_eq(response_text(job, "/error/type"), "/problems/dataset-empty");
}

/* ---- a job that runs */

struct meddling {
    const char *dataset;
    unsigned at, calls;
};

static bool erase_then(void *context)
{
    struct meddling *meddling = context;
    fixture_advance(1500);
    if (++meddling->calls == meddling->at)
        expect_status(erase("steward", meddling->dataset, "e1"), 200);
    return false;
}

static void expect_stopped(struct response *made, double paid_at_least)
{
    struct response *job = domain_job(f, made);
    cr_assert_str_eq(response_text(job, "/state"), "cancelled", "%s", job->body);
    cr_expect(json_is_null(response_at(job, "/policy")));
    cr_expect_not_null(strstr(job->body, "erased while it ran"), "%s", job->body);
    cr_expect_geq(response_number(job, "/privacy/spent/epsilon"), paid_at_least);
    domain_expect_whole_ledger(f);
}

Test(erasure, stops_a_job_under_way_which_releases_nothing)
{
    for (unsigned at = 1; at <= 2; at++) { /* while it loads, and while it trains */
        const char *dataset = domain_sealed(f, "private", 6);
        struct response *made =
            fixture_post(f, "steward", "/v1/jobs", domain_private_job(dataset, 1, 200));
        expect_status(made, 202);
        struct meddling meddling = {.dataset = dataset, .at = at};
        (void)domain_turn(f, "w", erase_then, &meddling);
        cr_assert_geq(meddling.calls, at);
        fixture_advance(60000);
        (void)domain_turn(f, "v", NULL, NULL); /* where the first one could not end it */
        expect_stopped(made, 0);
    }
}

/* The server that began the erasure died before its commit. */
static bool sweep_then(void *context)
{
    struct meddling *meddling = context;
    fixture_advance(1500);
    if (++meddling->calls == meddling->at) {
        cr_assert_eq(keyring_erase(fixture_app(f)->settings.keys, meddling->dataset, 1, NULL, NULL),
                     KEYRING_OK);
        cr_assert(api_end_erasures(fixture_app(f), fixture_db(f)));
    }
    return false;
}

Test(erasure, that_another_server_began_is_ended_and_stops_jobs_here)
{
    const char *dataset = domain_sealed(f, "private", 6);
    struct response *made =
        fixture_post(f, "steward", "/v1/jobs", domain_private_job(dataset, 1, 200));
    expect_status(made, 202);
    struct meddling meddling = {.dataset = dataset, .at = 2};
    (void)domain_turn(f, "w", sweep_then, &meddling);
    cr_assert_geq(meddling.calls, 2);
    fixture_advance(60000);
    (void)domain_turn(f, "v", NULL, NULL);
    expect_stopped(made, 0);
    expect_status(erase("steward", dataset, "e1"), 200); /* the receipt */
}

/* Its checkpoint is of no use either: the whole price is paid, and nothing released. */
Test(erasure, stops_a_job_between_two_workers)
{
    const char *dataset = domain_sealed(f, "private", 6);
    struct response *made =
        fixture_post(f, "steward", "/v1/jobs", domain_private_job(dataset, 1, 200));
    expect_status(made, 202);
    struct domain_meddler meddler = {.f = f, .advance_ms = 6000, .act_at = 2, .stop = true};
    cr_assert_eq(domain_turn(f, "w", domain_meddle, &meddler), API_JOB_PAUSED);
    expect_status(erase("steward", dataset, "e1"), 200);
    fixture_advance(60000);
    cr_assert_eq(domain_turn(f, "v", NULL, NULL), API_JOB_RAN);
    expect_stopped(made, 0.99);
}

/* A worker that does not know it yet, because it has just asked, and is told to stop. */
static bool erase_and_stop(void *context)
{
    struct meddling *meddling = context;
    if (++meddling->calls < meddling->at)
        return false;
    expect_status(erase("steward", meddling->dataset, "e1"), 200);
    return true;
}

/* What the key that is left opens of the job's checkpoint. */
static size_t readable_bytes(const char *dataset, const char *job)
{
    int64_t step = 0;
    void *bytes = NULL;
    size_t size = 0, plain = 0;
    enum db_status status = jobs_load_checkpoint(fixture_db(f), job, &step, &bytes, &size);
    if (status == DB_OK)
        sodium_free(sealed_open(fixture_app(f), dataset, job, bytes, size, &plain));
    free(bytes);
    return plain;
}

/* What was learned before would be sealed under the key that is left, and the receipt says that it
 * is gone. */
Test(erasure, leaves_no_checkpoint_to_a_worker_that_stops)
{
    const char *dataset = domain_sealed(f, "private", 6);
    struct response *made =
        fixture_post(f, "steward", "/v1/jobs", domain_private_job(dataset, 1, 20000));
    expect_status(made, 202);
    struct meddling meddling = {.dataset = dataset, .at = 2};
    (void)domain_turn(f, "w", erase_and_stop, &meddling);
    cr_assert_eq(meddling.calls, 2);
    cr_expect_eq(readable_bytes(dataset, response_text(made, "/id")), 0);
    fixture_advance(60000);
    (void)domain_turn(f, "v", NULL, NULL);
    expect_stopped(made, 0);
}

/* ---- crashes and restored copies */

Test(erasure, that_was_interrupted_is_ended_at_the_next_start)
{
    char error[DB_ERROR_SIZE] = "";
    const char *dataset = domain_sealed(f, "private", 4), *gone = domain_sealed(f, "private", 4);
    struct keyring *keys = fixture_app(f)->settings.keys;
    cr_assert_eq(keyring_erase(keys, dataset, 3, NULL, NULL), KEYRING_OK);
    cr_assert_eq(keyring_erase_all(keys, gone), KEYRING_OK);
    for (int i = 0; i < 2; i++)
        cr_assert(api_private_begin(fixture_app(f), fixture_db(f), error, sizeof error), "%s",
                  error);
    int64_t rows = 0; /* no call has left them */
    cr_assert_eq(db_one(fixture_db(f),
                        "SELECT count(*) FROM audit_trail WHERE action = 'erasure ended'"
                        " AND actor = 'service'",
                        NULL, 0, listing_integer, &rows),
                 DB_OK);
    cr_expect_eq(rows, 2);
    expect_status(erase("steward", dataset, "e3"), 200); /* the receipt */
    expect_status(fixture_get(f, "steward", domain_path("/v1/datasets/%s", dataset)), 200);
    expect_problem(fixture_get(f, "steward", domain_path("/v1/datasets/%s", gone)), "not-found");
    domain_expect_whole_ledger(f);
}

/* Runs a command in the directory of keys. */
static void in_keys(const char *format, const char *dataset)
{
    char command[300], *end = command;
    end += snprintf(command, sizeof command, "cd $(dirname %s)/keys && ", fixture_path(f));
    snprintf(end, sizeof command - (size_t)(end - command), format, dataset, dataset);
    cr_assert_eq(system(command), 0);
}

/* Rows of the trail that say that an erasure of DATASET was repeated. */
static int64_t repeated_rows(const char *dataset)
{
    int64_t found = -1;
    cr_assert_eq(db_one(fixture_db(f),
                        "SELECT count(*) FROM audit_trail WHERE action = 'erasure repeated' "
                        "AND actor = 'service' AND resource = $1",
                        DB_VALUES(db_text(dataset)), listing_integer, &found),
                 DB_OK);
    return found;
}

/* Starts twice: the trail then has ROWS rows of erasures of DATASET that were repeated. */
static void expect_repeated(const char *dataset, int64_t rows)
{
    char error[DB_ERROR_SIZE] = "";
    for (int i = 0; i < 2; i++)
        cr_assert(api_private_begin(fixture_app(f), fixture_db(f), error, sizeof error), "%s",
                  error);
    cr_expect_eq(repeated_rows(dataset), rows);
    domain_expect_whole_ledger(f);
    export_scene_expect_good(f);
}

/* The backup is newer than the erasure, and the copy of the keys is older. */
Test(erasure, is_repeated_when_an_older_copy_of_the_keys_is_put_back)
{
    const char *dataset = domain_sealed(f, "private", 4);
    struct keyring *keys = fixture_app(f)->settings.keys;
    size_t before = domain_readable(f, dataset);
    unsigned char key[KEYRING_KEY];
    in_keys("cp %s %s.old", dataset);
    expect_status(erase("steward", dataset, "e1"), 200);
    expect_status(erase("steward", dataset, "e2"), 200);
    in_keys("mv %s.old %s", dataset);
    cr_assert_eq(domain_readable(f, dataset), before);
    expect_repeated(dataset, 2);
    cr_expect_eq(domain_readable(f, dataset), before / 2);
    cr_expect_eq(keyring_find(keys, dataset, 1, key), KEYRING_ERASED);
    cr_expect_eq(keyring_find(keys, dataset, 2, key), KEYRING_ERASED);
}

/* In the first copy an expert was erased already. The second is one that a start began to erase
 * again when it was killed. In the third there is nothing of the dataset, which is younger. */
Test(erasure, of_a_whole_dataset_is_repeated_likewise)
{
    const char *datasets[3];
    struct keyring *keys = fixture_app(f)->settings.keys;
    unsigned char key[KEYRING_KEY];
    for (int i = 0; i < 3; i++) {
        datasets[i] = domain_sealed(f, "private", 4);
        if (i == 0)
            expect_status(erase("steward", datasets[i], "e1"), 200);
        in_keys("cp %s %s.old", datasets[i]);
        expect_status(fixture_delete(f, "steward", domain_path("/v1/datasets/%s", datasets[i])),
                      204);
        in_keys(i < 2 ? "mv %s.old %s" : "rm %s.old %s", datasets[i]);
    }
    in_keys("printf '\\2' | dd of=%s conv=notrunc status=none", datasets[1]);
    cr_assert_eq(keyring_find(keys, datasets[1], KEYRING_DATASET, key), KEYRING_ERASED);
    for (int i = 0; i < 2; i++)
        cr_assert_eq(keyring_find(keys, datasets[i], 2, key), KEYRING_OK);
    for (int i = 0; i < 3; i++) {
        expect_repeated(datasets[i], i < 2);
        cr_expect_eq(keyring_find(keys, datasets[i], KEYRING_DATASET, key),
                     i < 2 ? KEYRING_ERASED : KEYRING_NONE);
        cr_expect_eq(keyring_find(keys, datasets[i], 2, key), KEYRING_NONE);
    }
}

/* Each call of the start fails once. Whatever has erased the key, the trail tells of it. */
Test(failing_erasure, is_never_repeated_without_a_row_in_the_trail)
{
    char error[DB_ERROR_SIZE] = "";
    unsigned char key[KEYRING_KEY];
    f = fixture_open_failing();
    database_failure = DB_FAILED;
    const char *dataset = domain_sealed(f, "private", 4);
    struct keyring *keys = fixture_app(f)->settings.keys;
    in_keys("cp %s %s.old", dataset);
    expect_status(erase("steward", dataset, "e1"), 200);
    int64_t rows = 0;
    for (int call = 0; call == 0 || database_failures > 0; call++) {
        int64_t before = rows;
        in_keys("cp %s.old %s", dataset);
        database_failures = 0;
        database_calls_left = call;
        bool good = api_private_begin(fixture_app(f), fixture_db(f), error, sizeof error);
        database_calls_left = -1;
        cr_assert(good || database_failures > 0);
        rows = repeated_rows(dataset);
        bool erased = keyring_find(keys, dataset, 1, key) == KEYRING_ERASED;
        cr_expect(!erased || rows > before, "call %d", call);
        cr_assert(api_private_begin(fixture_app(f), fixture_db(f), error, sizeof error));
        cr_expect_eq(keyring_find(keys, dataset, 1, key), KEYRING_ERASED);
        rows = repeated_rows(dataset);
        cr_expect_gt(rows, before);
    }
    cr_expect_gt(rows, 3);
    service_close();
}

Test(erasure, of_a_whole_dataset_has_a_receipt_on_demand)
{
    const char *dataset = domain_sealed(f, "private", 3), *other = domain_sealed(f, "private", 3);
    expect_problem(
        fixture_delete(f, "steward", domain_path("/v1/datasets/%s?receipt=yes", dataset)),
        "validation");
    struct response *receipt =
        fixture_delete(f, "steward", domain_path("/v1/datasets/%s?receipt=true", dataset));
    expect_status(receipt, 200);
    cr_expect(json_is_null(response_at(receipt, "/expert")));
    cr_expect(signature_verifies(receipt));
    unsigned char key[KEYRING_KEY];
    cr_expect_eq(keyring_find(fixture_app(f)->settings.keys, dataset, 0, key), KEYRING_NONE);
    cr_expect_eq(keyring_find(fixture_app(f)->settings.keys, other, 0, key), KEYRING_OK);
    expect_problem(erase("steward", dataset, "e0"), "not-found");
    expect_status(fixture_delete(f, "steward", domain_path("/v1/datasets/%s", other)), 204);
    domain_expect_whole_ledger(f);
}
