/* The directory a server lives in: private, one server's, called new once, and of no use without
 * its key. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/http/http_client.h"
#include "tests/http/scene.h"
#include "tests/http/server_process.h"

Test(data_dir, the_data_directory_is_private)
{
    struct server_process server;
    char path[128];
    struct stat status;
    static const char *const names[] = {"tacet.db", "signing.key"};
    server_open(&server, NULL);
    cr_assert_eq(stat(server.data, &status), 0);
    cr_expect_eq(status.st_mode & 0777, 0700);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", server.data, names[i]);
        cr_assert_eq(stat(path, &status), 0, "%s", path);
        cr_expect_eq(status.st_mode & 0777, 0600, "%s", path);
    }
    server_close(&server);
}

Test(data_dir, two_servers_do_not_share_a_directory)
{
    struct server_process first, second;
    server_open(&first, NULL);
    server_prepare(&second);
    snprintf(second.data, sizeof second.data, "%s", first.data);
    cr_expect_eq(server_start_in_vain(&second), 1);
    cr_expect(server_log_has(&second, "in use by another server"));
    server_remove(&second);
    server_close(&first);
}

Test(data_dir, a_new_directory_is_called_new_once)
{
    struct server_process server;
    char out[1024];
    server_prepare(&server);
    for (int round = 0; round < 2; round++) {
        cr_expect_eq(tacet_run(out, sizeof out, "client", "create", "--data", server.data, "--role",
                               "admin", "--name", "a", NULL),
                     0);
        cr_expect_eq(strstr(out, "is new: an empty service") != NULL, round == 0, "%s", out);
    }
    server_start(&server);
    cr_expect(!server_log_has(&server, "event=new-service"));
    server_close(&server);
    server_open(&server, NULL);
    cr_expect(server_log_has(&server, "event=new-service"));
    server_close(&server);
}

Test(data_dir, a_damaged_signing_key_is_refused)
{
    struct server_process server;
    char path[128];
    server_prepare(&server);
    cr_assert_eq(mkdir(server.data, 0700), 0);
    snprintf(path, sizeof path, "%s/signing.key", server.data);
    FILE *file = fopen(path, "wb");
    cr_assert(file != NULL && fputs("short", file) >= 0);
    fclose(file);
    cr_expect_eq(server_start_in_vain(&server), 1);
    cr_expect(server_log_has(&server, "signing.key"));
    server_remove(&server);
}

/* Whose service is in PostgreSQL and who forgets to say so would begin with nothing spent. */
Test(data_dir, whose_service_is_in_postgresql_gets_no_empty_database)
{
    struct server_process server;
    char path[128];
    server_prepare(&server);
    cr_assert_eq(mkdir(server.data, 0700), 0);
    snprintf(path, sizeof path, "%s/postgresql", server.data);
    FILE *file = fopen(path, "wb");
    cr_assert(file != NULL && fputs("postgresql\n", file) >= 0);
    fclose(file);
    cr_expect_eq(server_start_in_vain(&server), 1);
    cr_expect(server_log_has(&server, "give --database"));
    snprintf(path, sizeof path, "%s/tacet.db", server.data);
    cr_expect_neq(access(path, F_OK), 0);
    server_remove(&server);
}

/* A second key would keep the service's own one out. */
Test(data_dir, where_postgresql_cannot_be_reached_nothing_is_made)
{
    static const char url[] = "postgresql://127.0.0.1:1/tacet";
    struct server_process server;
    char out[1024];
    server_prepare(&server);
    server.flags[0] = "--database";
    server.flags[1] = url;
    cr_expect_eq(server_start_in_vain(&server), 1);
    cr_expect(server_log_has(&server, "PostgreSQL cannot be reached"));
    cr_expect_neq(access(server.data, F_OK), 0);
    cr_expect_eq(tacet_run(out, sizeof out, "client", "create", "--data", server.data, "--database",
                           url, "--role", "admin", "--name", "a", NULL),
                 1);
    cr_expect_not_null(strstr(out, "PostgreSQL cannot be reached"), "%s", out);
    cr_expect_neq(access(server.data, F_OK), 0);
    server_remove(&server);
}

/* A backup of the database alone: with a new key its certificates would not verify, and what was
 * sealed could not be opened. */
Test(data_dir, a_database_without_its_signing_key_is_refused)
{
    struct server_process server;
    char path[128], aside[144], out[1024];
    server_open(&server, NULL);
    snprintf(path, sizeof path, "%s/signing.key", server.data);
    snprintf(aside, sizeof aside, "%s.aside", path);
    cr_assert_eq(server_end(&server, SIGTERM), 0);
    cr_assert_eq(rename(path, aside), 0);
    cr_expect_eq(server_start_in_vain(&server), 1);
    cr_expect(server_log_has(&server, "signing.key is missing"));
    cr_expect_eq(tacet_run(out, sizeof out, "client", "create", "--data", server.data, "--role",
                           "admin", "--name", "a", NULL),
                 1);
    cr_expect_not_null(strstr(out, "signing.key is missing"), "%s", out);
    cr_expect_neq(access(path, F_OK), 0, "another key was made");
    cr_assert_eq(rename(aside, path), 0);
    server_start(&server);
    server_close(&server);
}

/* ---- what was changed while the server was down */

static void in_data(const struct server_process *server, const char *name, char path[160])
{
    snprintf(path, 160, "%s/%s", server->data, name);
}

static void write_key(const struct server_process *server, int byte)
{
    char path[160];
    in_data(server, "signing.key", path);
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file);
    for (int i = 0; i < 32; i++)
        fputc(byte, file);
    cr_assert_eq(fclose(file), 0);
}

/* Another key, and one of zeros: the server does not start, and nothing was changed by the try. */
Test(data_dir, a_foreign_signing_key_is_refused)
{
    struct server_process server;
    char token[160], path[160], aside[176];
    server_open(&server, NULL);
    server_token(&server, "steward", token);
    cr_assert_eq(server_end(&server, SIGTERM), 0);
    in_data(&server, "signing.key", path);
    snprintf(aside, sizeof aside, "%s.aside", path);
    cr_assert_eq(rename(path, aside), 0);
    write_key(&server, 7);
    cr_assert_eq(chmod(path, 0600), 0);
    cr_expect_eq(server_start_in_vain(&server), 1);
    cr_expect(server_log_has(&server, "belongs to another signing.key"));
    write_key(&server, 0);
    cr_expect_eq(server_start_in_vain(&server), 1);
    cr_expect(server_log_has(&server, "must hold 32 random bytes"));
    cr_assert_eq(rename(aside, path), 0);
    server_start(&server);
    server_close(&server);
}

/* Loosens NAME to MODE: no start, a sentence with the chmod, and a start after that chmod. */
static void expect_refused_mode(struct server_process *server, const char *name, unsigned mode,
                                unsigned mended)
{
    char path[160], sentence[256], out[1024];
    snprintf(path, sizeof path, "%s%s%s", server->data, *name ? "/" : "", name);
    cr_assert_eq(chmod(path, mode), 0);
    snprintf(sentence, sizeof sentence, "has mode %04o, so that others may use it: chmod %o %s",
             mode, mended, path);
    cr_expect_eq(server_start_in_vain(server), 1, "%s %o", name, mode);
    cr_expect(server_log_has(server, sentence), "%s", sentence);
    cr_expect_eq(tacet_run(out, sizeof out, "client", "create", "--data", server->data, "--role",
                           "admin", "--name", "a", NULL),
                 1);
    cr_expect_not_null(strstr(out, sentence), "%s", out);
    cr_assert_eq(chmod(path, mended), 0);
}

Test(data_dir, loose_modes_are_refused_with_the_chmod_that_mends_them)
{
    struct server_process server;
    server_open(&server, NULL);
    cr_assert_eq(server_end(&server, SIGTERM), 0);
    static const unsigned folders[] = {0777, 0755, 0770, 0701};
    static const unsigned files[] = {0644, 0640, 0602};
    for (unsigned i = 0; i < sizeof folders / sizeof *folders; i++)
        expect_refused_mode(&server, "", folders[i], 0700);
    for (unsigned i = 0; i < sizeof files / sizeof *files; i++) {
        expect_refused_mode(&server, "signing.key", files[i], 0600);
        expect_refused_mode(&server, "tacet.db", files[i], 0600);
    }
    server_start(&server);
    cr_expect_eq(server_log_has(&server, "event=running-as-root"), geteuid() == 0);
    server_close(&server);
}

/* ---- what changes while the server runs */

struct asked {
    struct scene scene;
    struct server_process server;
};

static void asked_open(struct asked *asked)
{
    server_open(&asked->server, NULL);
    scene_make(&asked->scene, &asked->server, 1000, 1000);
}

static struct http_answer ask(struct asked *asked, const char *key)
{
    const struct http_call call = {.method = "POST",
                                   .path = asked->scene.queries,
                                   .token = asked->scene.students[0].token,
                                   .body = "{\"state\":[0,0,0,0]}",
                                   .key = key};
    return http_do(asked->scene.client, &call);
}

static long ask_status(struct asked *asked, const char *key)
{
    struct http_answer answer = ask(asked, key);
    long status = answer.status;
    http_answer_clear(&answer);
    return status;
}

/* The status of ready, whose sentence must hold WHY. */
static long ready_status(struct asked *asked, const char *why)
{
    struct http_answer answer = http_do(
        asked->scene.client, &(struct http_call){.method = "GET", .path = "/healthz/ready"});
    long status = answer.status;
    cr_expect_not_null(strstr(answer.body, why), "%s", answer.body);
    http_answer_clear(&answer);
    return status;
}

static void asked_close(struct asked *asked)
{
    scene_clear(&asked->scene);
    server_close(&asked->server);
}

/* A file that is gone takes every later commit with it: nothing may be answered any more. When it
 * comes back, so do the answers. */
static void expect_silence_without(const char *name)
{
    static struct asked asked;
    char path[160], aside[176];
    asked_open(&asked);
    cr_expect_eq(ask_status(&asked, "one"), 200);
    in_data(&asked.server, name, path);
    snprintf(aside, sizeof aside, "%s.aside", path);
    cr_assert_eq(rename(path, aside), 0);
    for (int copied = 0; copied < 2; copied++) {
        cr_expect_eq(ask_status(&asked, "one"), 500, "%s", name);
        cr_expect_eq(ask_status(&asked, copied ? "three" : "two"), 500, "%s", name);
        FILE *other = fopen(path, "wb"); /* another file of the same name is not it */
        cr_assert_not_null(other);
        fclose(other);
    }
    if (strcmp(name, "tacet.db") == 0)
        cr_expect_eq(ready_status(&asked, "The database was removed"), 503);
    cr_expect(server_log_has(&asked.server, "removed, moved or replaced while it was open"));
    cr_assert_eq(rename(aside, path), 0);
    cr_expect_eq(ready_status(&asked, "ready"), 200);
    cr_expect_eq(ask_status(&asked, "two"), 200);
    asked_close(&asked);
}

Test(data_dir, without_its_database_nothing_is_answered)
{
    expect_silence_without("tacet.db");
}

Test(data_dir, without_its_log_nothing_is_answered)
{
    expect_silence_without("tacet.db-wal");
}

/* Writes a file that could be a seed, of 32 times BYTE. */
static void write_seed(const char *path, int byte)
{
    char seed[32];
    memset(seed, byte, sizeof seed);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    cr_assert(file >= 0 && write(file, seed, sizeof seed) == (ssize_t)sizeof seed);
    close(file);
}

Test(data_dir, what_is_loosened_while_it_runs_is_not_ready)
{
    static struct asked asked;
    char path[160], aside[176];
    asked_open(&asked);
    in_data(&asked.server, "signing.key", path);
    snprintf(aside, sizeof aside, "%s.aside", path);
    cr_expect_eq(ready_status(&asked, "ready"), 200);
    cr_assert_eq(chmod(asked.server.data, 0777), 0);
    cr_expect_eq(ready_status(&asked, "The data directory is open to others"), 503);
    cr_assert_eq(chmod(asked.server.data, 0700), 0);
    cr_assert_eq(chmod(path, 0644), 0);
    cr_expect_eq(ready_status(&asked, "The file signing.key is open to others"), 503);
    cr_assert_eq(chmod(path, 0600), 0);
    cr_assert_eq(rename(path, aside), 0);
    cr_expect_eq(ready_status(&asked, "The file signing.key is missing"), 503);
    write_seed(path, 7);
    cr_expect_eq(ready_status(&asked, "The file signing.key is not the one"), 503);
    write_seed(path, 0);
    cr_expect_eq(ready_status(&asked, "The file signing.key cannot be read, or is no key"), 503);
    cr_assert_eq(rename(aside, path), 0);
    in_data(&asked.server, "tacet.db", path);
    cr_assert_eq(chmod(path, 0644), 0);
    cr_expect_eq(ready_status(&asked, "The file tacet.db is open to others"), 503);
    cr_assert_eq(chmod(path, 0600), 0);
    snprintf(aside, sizeof aside, "%s.aside", asked.server.data);
    cr_assert_eq(rename(asked.server.data, aside), 0);
    cr_expect_eq(ready_status(&asked, "The data directory is gone"), 503);
    cr_assert_eq(rename(aside, asked.server.data), 0);
    cr_expect_eq(ready_status(&asked, "ready"), 200);
    asked_close(&asked);
}

Test(data_dir, removing_the_lock_lets_no_second_server_in)
{
    struct server_process first, second;
    char path[160];
    server_open(&first, NULL);
    server_prepare(&second);
    snprintf(second.data, sizeof second.data, "%s", first.data);
    in_data(&first, "lock", path);
    cr_assert_eq(unlink(path), 0);
    cr_expect_eq(server_start_in_vain(&second), 1);
    cr_expect(server_log_has(&second, "in use by another server"));
    server_remove(&second);
    server_close(&first);
}

/* A package was upgraded, and the server of before still runs. */
Test(data_dir, an_older_schema_is_not_migrated_beside_a_server)
{
    struct server_process server;
    char line[300], out[1000], path[160];
    server_open(&server, NULL);
    in_data(&server, "tacet.db", path);
    snprintf(line, sizeof line,
             "/usr/bin/python3 -c 'import sqlite3; c = sqlite3.connect(\"%s\");"
             " c.execute(\"DELETE FROM schema_versions\"); c.commit()'",
             path);
    cr_assert_eq(system(line), 0);
    in_data(&server, "export", path);
    cr_expect_eq(tacet_run(out, sizeof out, "export", "--data", server.data, "--out", path, NULL),
                 1);
    cr_expect(strstr(out, "of an earlier version of this program"), "%s", out);
    cr_expect_eq(tacet_run(out, sizeof out, "client", "create", "--data", server.data, "--role",
                           "auditor", "--name", "a", NULL),
                 1);
    cr_expect(strstr(out, "restart it with this version first"), "%s", out);
    cr_expect_eq(tacet_run(out, sizeof out, "key", "rotate", "--data", server.data, NULL), 1);
    cr_expect(strstr(out, "restart it with this version first"), "%s", out);
    cr_expect_neq(access(path, F_OK), 0);
    server_close(&server);
}

/* ---- an older ledger */

static void copy_data(const struct server_process *server, const char *from, const char *to)
{
    char path[160], other[160];
    size_t size = 0;
    in_data(server, from, path);
    in_data(server, to, other);
    char *bytes = read_whole(path, &size);
    FILE *file = fopen(other, "wb");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(bytes, 1, size, file), size);
    cr_assert_eq(fclose(file), 0);
    cr_assert_eq(chmod(other, 0600), 0);
    free(bytes);
}

static void remove_data(const struct server_process *server, const char *name)
{
    char path[160];
    in_data(server, name, path);
    cr_assert_eq(unlink(path), 0, "%s", name);
}

static void expect_older_refused(struct asked *asked)
{
    cr_expect_eq(server_start_in_vain(&asked->server), 1);
    cr_expect(server_log_has(&asked->server, "would spend again what was spent"));
}

/* A backup of an hour ago in the place of the database: the server does not start. With the newer
 * one, or when the operator removes the note, it does. */
Test(data_dir, an_older_database_is_refused)
{
    static struct asked asked;
    asked_open(&asked);
    cr_expect_eq(ask_status(&asked, "one"), 200);
    cr_assert_eq(server_end(&asked.server, SIGTERM), 0);
    copy_data(&asked.server, "tacet.db", "older");
    server_start(&asked.server);
    http_client_move(asked.scene.client, &asked.server);
    cr_expect_eq(ask_status(&asked, "two"), 200);
    cr_assert_eq(server_end(&asked.server, SIGTERM), 0);
    copy_data(&asked.server, "tacet.db", "newer");
    copy_data(&asked.server, "older", "tacet.db");
    expect_older_refused(&asked);
    copy_data(&asked.server, "newer", "tacet.db");
    server_start(&asked.server);
    cr_assert_eq(server_end(&asked.server, SIGTERM), 0);
    copy_data(&asked.server, "older", "tacet.db");
    remove_data(&asked.server, "ledger.head");
    server_start(&asked.server);
    asked_close(&asked);
}

/* After kill -9 the newest commits are in the log. Without it a key that was answered would be
 * answered anew. */
Test(data_dir, a_database_without_its_log_is_refused_after_a_crash)
{
    static struct asked asked;
    asked_open(&asked);
    cr_expect_eq(ask_status(&asked, "one"), 200);
    server_end(&asked.server, SIGKILL);
    copy_data(&asked.server, "tacet.db", "database");
    copy_data(&asked.server, "tacet.db-wal", "log");
    remove_data(&asked.server, "tacet.db-wal");
    expect_older_refused(&asked);
    copy_data(&asked.server, "database", "tacet.db");
    copy_data(&asked.server, "log", "tacet.db-wal");
    server_start(&asked.server);
    http_client_move(asked.scene.client, &asked.server);
    struct http_answer answer = ask(&asked, "one");
    cr_expect_eq(answer.status, 200);
    cr_expect_not_null(http_header(&answer, "Idempotency-Replayed"));
    http_answer_clear(&answer);
    asked_close(&asked);
}

/* A database that is gone makes no new service in the place of the old one. */
Test(data_dir, no_empty_database_takes_the_place_of_a_spent_one)
{
    static struct asked asked;
    asked_open(&asked);
    cr_expect_eq(ask_status(&asked, "one"), 200);
    cr_assert_eq(server_end(&asked.server, SIGTERM), 0);
    copy_data(&asked.server, "tacet.db", "kept");
    remove_data(&asked.server, "tacet.db");
    cr_expect_eq(server_start_in_vain(&asked.server), 1);
    cr_expect(server_log_has(&asked.server, "put tacet.db back"));
    copy_data(&asked.server, "kept", "tacet.db");
    server_start(&asked.server);
    asked_close(&asked);
}

/* ---- damage on the disk */

/* Flips a bit of the byte at PLACE of the database. */
static void flip_at(const struct server_process *server, long place)
{
    char path[160];
    in_data(server, "tacet.db", path);
    FILE *file = fopen(path, "r+b");
    cr_assert_not_null(file);
    fseek(file, place, SEEK_SET);
    int byte = fgetc(file);
    fseek(file, place, SEEK_SET);
    fputc(byte ^ 1, file);
    cr_assert_eq(fclose(file), 0);
}

/* Removes the sum of the page with the byte at PLACE, as if another program had written the page.
 */
static void forget_sum(const struct server_process *server, long place)
{
    static const unsigned char none[8];
    char path[160];
    in_data(server, "tacet.db", path);
    FILE *file = fopen(path, "r+b");
    cr_assert_not_null(file);
    fseek(file, (place / 8192 + 1) * 8192 - (long)sizeof none, SEEK_SET);
    cr_assert_eq(fwrite(none, 1, sizeof none, file), sizeof none);
    cr_assert_eq(fclose(file), 0);
}

/* The place of the N-th TEXT in the database; -1: there is none. */
static long place_of(const struct server_process *server, const char *text, unsigned n)
{
    char path[160];
    size_t size = 0;
    in_data(server, "tacet.db", path);
    char *bytes = read_whole(path, &size), *at = bytes;
    while ((at = memmem(at, size - (size_t)(at - bytes), text, strlen(text))) && n-- > 0)
        at++;
    long place = at ? at - bytes : -1;
    free(bytes);
    return place;
}

/* A stored answer that changed would be replayed, and one whose key changed would be given anew, at
 * a price: neither starts. */
Test(data_dir, a_damaged_answer_is_found_at_start)
{
    static struct asked asked;
    static const char *const texts[] = {"a-key-to-be-flipped", "\"actions\":", "application/json"};
    unsigned places = 0;
    asked_open(&asked);
    cr_expect_eq(ask_status(&asked, "a-key-to-be-flipped"), 200);
    cr_assert_eq(server_end(&asked.server, SIGTERM), 0);
    for (unsigned i = 0; i < 3; i++) {
        for (unsigned n = 0; n < 2; n++) {
            long place = place_of(&asked.server, texts[i], n);
            if (place < 0)
                continue;
            flip_at(&asked.server, place + 3);
            cr_expect_eq(server_start_in_vain(&asked.server), 1, "%s %u", texts[i], n);
            flip_at(&asked.server, place + 3);
            places++;
        }
    }
    cr_expect_geq(places, 3);
    cr_expect(server_log_has(&asked.server, "a stored answer is not as it was stored"));
    server_start(&asked.server);
    http_client_move(asked.scene.client, &asked.server);
    cr_expect_eq(ask_status(&asked, "a-key-to-be-flipped"), 200);
    asked_close(&asked);
}

/* The disk damages the index by which a repeated key is found, after the start has looked: the key
 * does not look new. */
Test(data_dir, a_key_whose_index_is_damaged_while_the_server_runs_is_an_error)
{
    static struct asked asked;
    asked_open(&asked);
    cr_expect_eq(ask_status(&asked, "a-key-to-be-flipped"), 200);
    cr_assert_eq(server_end(&asked.server, SIGTERM), 0);
    server_start(&asked.server);
    http_client_move(asked.scene.client, &asked.server);
    for (unsigned n = 0; n < 2; n++) { /* in the row, and in the index */
        long place = place_of(&asked.server, "a-key-to-be-flipped", 0);
        cr_assert_gt(place, 0);
        flip_at(&asked.server, place + 3);
    }
    cr_expect_eq(ask_status(&asked, "a-key-to-be-flipped"), 500);
    cr_expect(server_log_has(&asked.server, "of the database is not as it was written"));
    asked_close(&asked);
}

/* The page's sum finds it at a start. Without the sum, the policy is read when it is asked for: 500
 * for it, a line in the log, and nothing else changes. */
Test(data_dir, a_damaged_policy_is_an_error_that_names_the_row)
{
    static struct asked asked;
    char path[160], line[160];
    asked_open(&asked);
    cr_expect_eq(ask_status(&asked, "before"), 200);
    cr_assert_eq(server_end(&asked.server, SIGTERM), 0);
    snprintf(path, sizeof path, "/v1/policies/%s", asked.scene.policy);
    snprintf(line, sizeof line, "event=row-damaged row=\"policies %s\"", asked.scene.policy);
    long place = place_of(&asked.server, "imported", 0); /* its mechanism */
    cr_assert_gt(place, 0);
    flip_at(&asked.server, place);
    cr_expect_eq(server_start_in_vain(&asked.server), 1);
    cr_expect(server_log_has(&asked.server, "of the database is not as it was written"));
    forget_sum(&asked.server, place);
    server_start(&asked.server);
    http_client_move(asked.scene.client, &asked.server);
    struct http_answer answer = http_expect(
        asked.scene.client, 500,
        &(struct http_call){.method = "GET", .path = path, .token = asked.scene.steward});
    cr_expect_null(strstr(answer.body, "damaged"), "%s", answer.body);
    cr_expect_null(strstr(answer.body, "digest"), "%s", answer.body);
    http_answer_clear(&answer);
    cr_expect(server_log_has(&asked.server, line), "%s", line);
    cr_expect_eq(ask_status(&asked, "before"), 200);
    asked_close(&asked);
}
