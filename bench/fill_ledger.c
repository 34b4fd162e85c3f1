/* Fills the store of a stopped server as years of use would: clients, each with an account of
 * TEACHER, and charges of one unit that each write an entry for the client and one for the teacher;
 * every tenth stores an answer of a query's size too. Every row is written by the functions that
 * the server writes it with.
 *
 *   fill_ledger DIRECTORY TEACHER ACCOUNTS ENTRIES */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/database.h"
#include "storage/answers/answers.h"
#include "storage/clients.h"
#include "storage/db/db.h"
#include "storage/ledger/ledger.h"
#include "storage/teachers.h"
#include "storage/upgrade.h"

#define BATCH        500 /* requests to a commit */
#define ANSWER       10  /* every so many charges store an answer */
#define TIME_MS      1795000000000
#define CLIENT_UNITS 1000000000 /* far below what its epsilon allows */

static const char event[] = "{\"type\":\"DirichletDpEvent\",\"actions\":2,\"concentration\":20,"
                            "\"min_probability\":0.1,\"sensitivity\":4.960873376073511e-8}";

struct person {
    char client[ID_SIZE], account[ID_SIZE];
};

struct fill {
    struct teacher_row teacher;
    struct person *people;
    unsigned long count;
    unsigned long next; /* person or charge */
};

static void need(bool good, struct db *db, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "fill_ledger: %s: %s\n", what, db != NULL ? db_last_error(db) : "");
    exit(1);
}

static enum db_status add_person(struct db *db, void *context)
{
    struct fill *fill = context;
    struct person *person = &fill->people[fill->next];
    struct client_row client = {.role = "student", .created_ms = TIME_MS};
    id_new("cli_", client.id);
    snprintf(client.name, sizeof client.name, "student %lu", fill->next);
    memcpy(person->client, client.id, ID_SIZE);
    const struct ledger_opening opening = {.kind = LEDGER_CLIENT,
                                           .resource = fill->teacher.id,
                                           .client = client.id,
                                           .owner = fill->teacher.owner,
                                           .unit = "observation",
                                           .renyi_order = fill->teacher.renyi_order,
                                           .epsilon = 1e6,
                                           .delta = 1e-5,
                                           .limit_units = CLIENT_UNITS,
                                           .event = "{\"type\":\"NoOpDpEvent\"}",
                                           .now_ms = TIME_MS};
    struct ledger_account account;
    enum db_status status = clients_insert(db, &client);
    if (status == DB_OK)
        status = ledger_open_account(db, &opening, &account);
    if (status != DB_OK)
        return status;
    memcpy(person->account, account.id, ID_SIZE);
    return teachers_client_insert(db, fill->teacher.id, client.id, account.id, TIME_MS);
}

static enum db_status charge_person(struct db *db, const struct fill *fill,
                                    const struct person *person, const char *query)
{
    const struct ledger_charge charge = {
        .prices = {{person->account, 1, 0}, {fill->teacher.account, 1, 0}},
        .count = 2,
        .client = person->client,
        .resource = query,
        .event = event,
        .now_ms = TIME_MS + (int64_t)fill->next / 10};
    struct ledger_outcome outcome;
    enum db_status status = ledger_debit(db, &charge, &outcome);
    return status == DB_OK && outcome.verdict != LEDGER_OK ? DB_FAILED : status;
}

static enum db_status charge_and_answer(struct db *db, const struct fill *fill,
                                        const struct person *person, const char *query)
{
    unsigned char random[16];
    char key[33], body[500];
    struct answer_row found;
    randombytes_buf(random, sizeof random);
    sodium_bin2hex(key, sizeof key, random, sizeof random);
    int size = snprintf(body, sizeof body,
                        "{\"query\":\"%s\",\"probabilities\":[0.51,0.49],\"concentration\":20,"
                        "\"cost\":{\"epsilon\":1e-9,\"delta\":0},\"note\":\"%0200d\"}",
                        query, 0);
    struct answer_row answer = {.status = 200,
                                .content_type = "application/json",
                                .body = body,
                                .body_size = (size_t)size,
                                .created_ms = TIME_MS};
    /* As the server does: look first, while nothing is changed. */
    enum db_status status = answers_find(db, person->client, key, &found);
    if (status != DB_NONE)
        return DB_FAILED;
    status = charge_person(db, fill, person, query);
    return status == DB_OK ? answers_store(db, person->client, key, &answer) : status;
}

static enum db_status charge_one(struct db *db, void *context)
{
    struct fill *fill = context;
    char query[ID_SIZE];
    /* A person asks some times in a row; 40,503 has no factor in common with most counts. */
    const struct person *person = &fill->people[fill->next / 8 * 40503 % fill->count];
    id_new("qry_", query);
    return fill->next % ANSWER == 0 ? charge_and_answer(db, fill, person, query)
                                    : charge_person(db, fill, person, query);
}

/* WORK for fill->next from 0 below COUNT. */
static void run(struct db *db, struct fill *fill, unsigned long count, db_work_fn *work)
{
    for (fill->next = 0; fill->next < count;) {
        need(db_begin_batch(db, true) == DB_OK, db, "begin");
        for (unsigned i = 0; i < BATCH && fill->next < count; i++, fill->next++)
            need(db_transact(db, work, fill) == DB_OK, db, "a request");
        need(db_commit_batch(db) == DB_OK, db, "commit");
        if (fill->next % (count / 20 + 1) < BATCH)
            fprintf(stderr, "\r%lu of %lu ", fill->next, count);
    }
    fprintf(stderr, "\r%lu of %lu\n", count, count);
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: fill_ledger DIRECTORY TEACHER ACCOUNTS ENTRIES\n");
        return 2;
    }
    char error[DB_ERROR_SIZE] = "";
    char path[4096];
    unsigned char key[DB_KEY_SIZE];
    snprintf(path, sizeof path, "%s/tacet.db", argv[1]);
    need(database_digest_key(&(struct database_place){.directory = argv[1]}, key, error,
                             sizeof error),
         NULL, error);
    struct db_settings settings = {.location = path, .not_durable = true, .digest_key = key};
    struct db_store *store = db_store_new(&db_driver_sqlite, &settings);
    struct db *db = NULL;
    need(sodium_init() >= 0 && store != NULL && db_open(store, &db, error) == DB_OK &&
             storage_upgrade(db, error) == DB_OK,
         NULL, error);
    struct fill fill = {.count = strtoul(argv[3], NULL, 10)};
    unsigned long entries = strtoul(argv[4], NULL, 10);
    need(fill.count > 0 && entries >= fill.count, NULL, "at least one entry for each account");
    fill.people = calloc(fill.count, sizeof *fill.people);
    need(fill.people != NULL, NULL, "memory");
    need(teachers_find(db, argv[2], &fill.teacher) == DB_OK, db, "the teacher");
    run(db, &fill, fill.count, add_person);
    run(db, &fill, (entries - fill.count) / 2, charge_one);
    free(fill.people);
    db_close(db);
    db_store_free(store);
    return 0;
}
