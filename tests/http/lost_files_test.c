/* Files of a service that are missing: nothing takes their place, and nothing of what is left is
 * changed, whatever command looks at it. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/http/http_client.h"

#define RECIPIENT "5c1f5c1f5c1f5c1f5c1f5c1f5c1f5c1f5c1f5c1f5c1f5c1f5c1f5c1f5c1f5c1f"

static char out[8000];

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* Adds a line for each file of DIRECTORY to TEXT: its name, size and when it was changed. */
static void list_files(const char *directory, char *text, size_t size)
{
    struct dirent **found = NULL;
    int count = scandir(directory, &found, NULL, by_name);
    for (int i = 0; i < count; i++) {
        char path[400];
        struct stat status;
        size_t used = strlen(text);
        snprintf(path, sizeof path, "%s/%.200s", directory, found[i]->d_name);
        if (strcmp(found[i]->d_name, "..") != 0 && lstat(path, &status) == 0)
            snprintf(text + used, size - used, "%s %jd %jd.%09ld\n", found[i]->d_name,
                     (intmax_t)status.st_size, (intmax_t)status.st_mtim.tv_sec,
                     status.st_mtim.tv_nsec);
        free(found[i]);
    }
    free(found);
}

/* A service whose process was killed, so that what it stored last is in the log alone. */
struct left {
    struct server_process server;
    char token[160], database[160], away[160], marks[160], before[4000];
};

static void left_open(struct left *left)
{
    *left = (struct left){.token = ""};
    server_prepare(&left->server);
    snprintf(left->marks, sizeof left->marks, "%s/marks", left->server.folder);
    snprintf(left->database, sizeof left->database, "%s/tacet.db", left->server.data);
    snprintf(left->away, sizeof left->away, "%s/away", left->server.folder);
    cr_assert_eq(mkdir(left->marks, 0700), 0);
    left->server.flags[0] = "--marks";
    left->server.flags[1] = left->marks;
    server_start(&left->server);
    server_token(&left->server, "admin", left->token);
    server_end(&left->server, SIGKILL);
}

static void left_note(struct left *left)
{
    left->before[0] = '\0';
    list_files(left->server.data, left->before, sizeof left->before);
    list_files(left->marks, left->before, sizeof left->before);
}

static void expect_unchanged(const struct left *left, const char *by)
{
    char now[sizeof left->before] = "";
    list_files(left->server.data, now, sizeof now);
    list_files(left->marks, now, sizeof now);
    cr_expect_str_eq(now, left->before, "%s", by);
}

/* Runs the command with a directory and more arguments; it fails, says TEXT, changes nothing. */
#define EXPECT_REFUSED(left, text, ...)                                                            \
    do {                                                                                           \
        const char *all[] = {__VA_ARGS__};                                                         \
        cr_expect_eq(tacet_run(out, sizeof out, __VA_ARGS__, NULL), 1, "%s: %s", all[0], out);     \
        cr_expect_not_null(strstr(out, text), "%s: %s", all[0], out);                              \
        cr_expect_not_null(strstr(out, "tacet restore --from"), "%s: %s", all[0], out);            \
        expect_unchanged(left, all[0]);                                                            \
    } while (0)

static void expect_all_refused(struct left *left, const char *text)
{
    const char *data = left->server.data, *marks = left->marks;
    left_note(left);
    cr_expect_eq(server_start_in_vain(&left->server), 1);
    cr_expect(server_log_has(&left->server, text), "%s", text);
    expect_unchanged(left, "serve");
    EXPECT_REFUSED(left, text, "client", "create", "--data", data, "--role", "admin", "--name", "a",
                   "--marks", marks);
    EXPECT_REFUSED(left, text, "doctor", "--data", data, "--marks", marks, "--listen",
                   "127.0.0.1:0");
}

static void expect_known(struct left *left)
{
    server_start(&left->server);
    struct http_client *client = http_client_new(&left->server);
    struct http_answer answer = http_expect(
        client, 200,
        &(struct http_call){.method = "GET", .path = "/v1/clients", .token = left->token});
    http_answer_clear(&answer);
    http_client_free(client);
}

Test(lost_files, a_log_without_its_database_is_kept, .timeout = 600)
{
    struct left left;
    char path[200];
    left_open(&left);
    const char *data = left.server.data;
    cr_assert_eq(rename(left.database, left.away), 0);
    expect_all_refused(&left, "has the tacet.db-wal of a service whose tacet.db is missing: put "
                              "tacet.db back");
    EXPECT_REFUSED(&left, "put tacet.db back", "client", "rotate", "--data", data, "--client",
                   "cli_00000000000000000000000000");
    EXPECT_REFUSED(&left, "put tacet.db back", "export", "--data", data);
    EXPECT_REFUSED(&left, "put tacet.db back", "backup", "--data", data, "--to", left.away,
                   "--recipient", RECIPIENT);
    EXPECT_REFUSED(&left, "put tacet.db back", "keys", "rotate", "--data", data);
    EXPECT_REFUSED(&left, "put tacet.db back", "migrate", "--from", data, "--to",
                   "postgresql://127.0.0.1:1/x");
    FILE *empty = fopen(left.database, "wb");
    cr_assert_not_null(empty);
    fclose(empty);
    expect_all_refused(&left, "has the tacet.db-wal of a service whose tacet.db is empty");
    cr_assert_eq(rename(left.away, left.database), 0);
    expect_known(&left); /* what was acknowledged before the kill is there */
    cr_assert_eq(server_end(&left.server, SIGTERM), 0);

    cr_assert_eq(rename(left.database, left.away), 0);
    static const char *const others[] = {"ledger.head", "keys", "signing.key"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char text[80];
        snprintf(text, sizeof text, "has the %s of a service", others[i]);
        snprintf(path, sizeof path, "%s/%s", data, others[i]);
        if (access(path, F_OK) != 0)
            continue;
        expect_all_refused(&left, text);
        char aside[200];
        snprintf(aside, sizeof aside, "%s/aside-%s", left.server.folder, others[i]);
        cr_assert_eq(rename(path, aside), 0);
    }
    server_remove(&left.server);
}

Test(lost_files, beside_the_marks_of_a_lost_service_no_new_one_is_made, .timeout = 600)
{
    struct left left;
    left_open(&left);
    cr_assert_eq(rename(left.server.data, left.away), 0);
    expect_all_refused(&left, "has the marks of one");
    cr_expect_neq(access(left.server.data, F_OK), 0, "nothing is made");
    cr_assert_eq(mkdir(left.server.data, 0700), 0);
    expect_all_refused(&left, "has the marks of one");
    cr_assert_eq(rmdir(left.server.data), 0);
    cr_assert_eq(rename(left.away, left.server.data), 0);
    expect_known(&left);
    server_close(&left.server);
}

/* A disk and a mount that are both away look like a new machine. */
Test(lost_files, without_the_directory_of_marks_no_service_is_made, .timeout = 600)
{
    struct server_process place;
    char missing[160], data[160];
    server_prepare(&place);
    snprintf(missing, sizeof missing, "%s/away", place.folder);
    snprintf(data, sizeof data, "%s/new", place.folder);
    int code = tacet_run(out, sizeof out, "client", "create", "--data", data, "--role", "admin",
                         "--name", "me", "--marks", missing, NULL);
    cr_expect_eq(code, 1, "%s", out);
    cr_expect(strstr(out, "is not there: is it mounted?"), "%s", out);
    cr_expect_neq(access(data, F_OK), 0);
    server_remove(&place);
}

/* A first start may end between its files. */
Test(lost_files, a_first_start_that_ended_early_is_gone_on_with, .timeout = 600)
{
    struct server_process server;
    char path[160];
    server_prepare(&server);
    cr_assert_eq(mkdir(server.data, 0700), 0);
    snprintf(path, sizeof path, "%s/tacet.db", server.data);
    FILE *empty = fopen(path, "wb");
    cr_assert_not_null(empty);
    fclose(empty);
    cr_assert_eq(chmod(path, 0600), 0);
    server_start(&server);
    cr_expect(server_log_has(&server, "event=new-service"));
    server_close(&server);
}

Test(lost_files, the_doctor_changes_no_file, .timeout = 600)
{
    struct left left;
    left_open(&left);
    const char *data = left.server.data;
    left_note(&left);
    cr_expect_not_null(strstr(left.before, "tacet.db-wal "), "%s", left.before);
    cr_expect_eq(tacet_run(out, sizeof out, "doctor", "--data", data, "--marks", left.marks,
                           "--listen", "127.0.0.1:0", NULL),
                 0, "%s", out);
    cr_expect_not_null(strstr(out, "ok    database "), "%s", out);
    expect_unchanged(&left, "doctor");
    expect_known(&left);
    cr_assert_eq(server_end(&left.server, SIGTERM), 0);
    left_note(&left);
    cr_expect_null(strstr(left.before, "tacet.db-wal "), "%s", left.before);
    cr_expect_eq(tacet_run(out, sizeof out, "doctor", "--data", data, "--marks", left.marks,
                           "--listen", "127.0.0.1:0", NULL),
                 0, "%s", out);
    expect_unchanged(&left, "doctor");
    server_remove(&left.server);
}

Test(lost_files, a_start_that_fails_says_so_in_the_form_of_the_log)
{
    cr_expect_eq(tacet_run(out, sizeof out, "serve", "--data", "/nowhere/data", "--listen",
                           "127.0.0.1:0", "--log-format", "json", NULL),
                 1);
    cr_expect_not_null(strstr(out, "\"event\":\"start-failed\",\"why\":\"/nowhere/data: cannot be "
                                   "made, because what it lies in is not there"),
                       "%s", out);
    cr_expect_null(strstr(out, "tacet serve:"), "%s", out);
}

/* ---- marks that are away, and a restore */

static long make_dataset(struct http_client *client, const char *token, char text[400])
{
    const struct http_call call = {.method = "POST",
                                   .path = "/v1/datasets",
                                   .token = token,
                                   .key = "a",
                                   .body = "{\"name\":\"d\",\"environment\":\"cartpole\","
                                           "\"budget\":{\"epsilon\":3,\"delta\":1e-6}}"};
    struct http_answer answer = http_do(client, &call);
    long status = answer.status;
    snprintf(text, 400, "%s", answer.body ? answer.body : "");
    http_answer_clear(&answer);
    return status;
}

static long readiness_of(struct http_client *client, char text[400])
{
    struct http_answer answer =
        http_do(client, &(struct http_call){.method = "GET", .path = "/healthz/ready"});
    long status = answer.status;
    snprintf(text, 400, "%s", answer.body ? answer.body : "");
    http_answer_clear(&answer);
    return status;
}

Test(lost_files, marks_that_are_away_are_said_and_nothing_else, .timeout = 600)
{
    struct left left;
    char text[400], steward[160];
    left_open(&left);
    server_token(&left.server, "steward", steward);
    server_start(&left.server);
    struct http_client *client = http_client_new(&left.server);
    cr_expect_eq(readiness_of(client, text), 200);
    cr_assert_eq(rename(left.marks, left.away), 0);
    cr_expect_eq(make_dataset(client, steward, text), 503);
    cr_expect_not_null(strstr(text, "Nothing can be made durable now"), "%s", text);
    cr_expect_null(strstr(text, "disk is full"), "%s", text);
    cr_expect_not_null(strstr(text, "/healthz/ready and its log"), "%s", text);
    cr_expect_null(strstr(text, left.server.folder), "%s", text);
    cr_expect_eq(readiness_of(client, text), 503);
    cr_expect_not_null(strstr(text, "The marks cannot be written"), "%s", text);
    cr_assert_eq(rename(left.away, left.marks), 0);
    cr_expect_eq(make_dataset(client, steward, text), 201);
    cr_expect_eq(readiness_of(client, text), 200);
    http_client_free(client);
    cr_assert_eq(server_end(&left.server, SIGTERM), 0);
    cr_assert_eq(rename(left.marks, left.away), 0);
    cr_expect_eq(server_start_in_vain(&left.server), 1);
    snprintf(text, sizeof text, "the directory of marks %s cannot be used: No such file",
             left.marks);
    cr_expect(server_log_has(&left.server, text), "%s", text);
    server_remove(&left.server);
}

Test(lost_files, a_restore_says_what_the_next_start_needs, .timeout = 600)
{
    struct left left;
    char identity[160], recipient[80], vault[160], fresh[160], keys[200];
    left_open(&left);
    snprintf(identity, sizeof identity, "%s/identity", left.server.folder);
    snprintf(vault, sizeof vault, "%s/vault", left.server.folder);
    snprintf(fresh, sizeof fresh, "%s/fresh", left.server.folder);
    snprintf(keys, sizeof keys, "%s/keys", fresh);
    cr_assert_eq(mkdir(vault, 0700), 0);
    cr_assert_eq(tacet_run(out, sizeof out, "backup", "--make-identity", identity, NULL), 0);
    cr_assert_eq(sscanf(out, "%64[0-9a-f]", recipient), 1);
    cr_assert_eq(tacet_run(out, sizeof out, "backup", "--data", left.server.data, "--to", vault,
                           "--recipient", recipient, NULL),
                 0, "%s", out);
    cr_expect_not_null(strstr(out, "not in it: the keys of private data"), "%s", out);
    cr_assert_eq(tacet_run(out, sizeof out, "restore", "--from", vault, "--identity", identity,
                           "--marks", left.marks, "--data", fresh, NULL),
                 0, "%s", out);
    cr_expect_not_null(strstr(out, "put back the keys of private data"), "%s", out);
    cr_expect_not_null(strstr(out, keys), "%s", out);
    cr_expect_not_null(strstr(out, "the next start needs --marks "), "%s", out);
    server_remove(&left.server);
}
