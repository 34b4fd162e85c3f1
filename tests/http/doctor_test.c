/* tacet doctor and tacet status: what is wrong is named with what to do, and nothing is changed. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/http/desk.h"
#include "tests/http/scene.h"

static char out[8000];

/* Runs the doctor on DATA; OUT receives what it says. */
static int see_doctor(const char *data, const char *flag, const char *value)
{
    return tacet_run(out, sizeof out, "doctor", "--data", data, "--listen", "127.0.0.1:0", flag,
                     value, NULL);
}

static void expect_said(const char *text)
{
    cr_expect_not_null(strstr(out, text), "%s in %s", text, out);
}

Test(doctor, says_what_is_wrong_and_what_to_do, .timeout = 600)
{
    struct server_process server;
    char path[160], moved[160], token[160];
    server_prepare(&server);
    cr_expect_eq(see_doctor(server.data, NULL, NULL), 0, "%s", out);
    expect_said("warn  directory  ");
    cr_expect_neq(access(server.data, F_OK), 0, "nothing is made");
    server_token(&server, "admin", token);
    cr_expect_eq(see_doctor(server.data, NULL, NULL), 0, "%s", out);
    expect_said("ok    key ");
    expect_said("ok    database   it opens with this key, and 0 entries of the ledger add up");
    expect_said("ok    address ");

    cr_expect_eq(see_doctor(server.data, "--tls-cert", "x"), 1);
    expect_said("FAIL  settings   --tls-cert and --tls-key go together");
    cr_expect_eq(see_doctor(server.data, "--wrkers", "x"), 1);
    expect_said("did you mean --workers?");

    snprintf(path, sizeof path, "%s/signing.key", server.data);
    snprintf(moved, sizeof moved, "%s/other", server.data);
    chmod(path, 0644);
    cr_expect_eq(see_doctor(server.data, NULL, NULL), 1);
    expect_said("FAIL  key ");
    expect_said("chmod 600");
    cr_assert_eq(rename(path, moved), 0);
    cr_expect_eq(see_doctor(server.data, NULL, NULL), 1);
    expect_said("is missing: a service is its database and this file");
    FILE *wrong = fopen(path, "w");
    cr_assert_not_null(wrong);
    fprintf(wrong, "%032d", 7);
    fclose(wrong);
    chmod(path, 0600);
    cr_expect_eq(see_doctor(server.data, NULL, NULL), 1);
    expect_said("FAIL  database ");
    cr_assert_eq(rename(moved, path), 0);
    chmod(path, 0600);
    chmod(server.data, 0755);
    cr_expect_eq(see_doctor(server.data, NULL, NULL), 1);
    expect_said("FAIL  directory ");
    expect_said("chmod 700");
    chmod(server.data, 0700);
    cr_expect_eq(see_doctor(server.data, NULL, NULL), 0, "%s", out);
    server_remove(&server);
}

/* What the readiness of SERVER says: its status. */
static long readiness(struct http_client *client)
{
    struct http_answer answer =
        http_do(client, &(struct http_call){.method = "GET", .path = "/healthz/ready"});
    long status = answer.status;
    http_answer_clear(&answer);
    return status;
}

Test(doctor, looks_at_the_keys_of_private_data, .timeout = 600)
{
    struct server_process server;
    char keys[160], root[200], away[200];
    server_open(&server, NULL);
    struct http_client *client = http_client_new(&server);
    snprintf(keys, sizeof keys, "%s/keys", server.data);
    snprintf(root, sizeof root, "%s/root", keys);
    snprintf(away, sizeof away, "%s.away", keys);
    cr_expect_eq(see_doctor(server.data, NULL, NULL), 0, "%s", out);
    expect_said("ok    keys ");
    cr_expect_eq(readiness(client), 200);
    const struct {
        const char *path;
        mode_t bad, good;
        const char *said;
    } rows[] = {{keys, 0750, 0700, "chmod 700"},
                {keys, 0600, 0700, "chmod 700"},
                {root, 0644, 0600, "chmod 600"},
                {root, 0200, 0600, "chmod 600"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cr_assert_eq(chmod(rows[i].path, rows[i].bad), 0);
        cr_expect_eq(see_doctor(server.data, NULL, NULL), 1, "%s", out);
        expect_said("FAIL  keys ");
        expect_said(rows[i].said);
        cr_assert_eq(chmod(rows[i].path, rows[i].good), 0);
    }
    cr_assert_eq(rename(keys, away), 0);
    cr_expect_eq(see_doctor(server.data, NULL, NULL), 1);
    expect_said("put back the directory of keys");
    while (readiness(client) != 503) /* within ten seconds */
        usleep(100000);
    cr_assert_eq(rename(away, keys), 0);
    while (readiness(client) != 200)
        usleep(100000);
    if (geteuid() == 0) {
        cr_assert_eq(chown(root, 1, 1), 0);
        cr_expect_eq(see_doctor(server.data, NULL, NULL), 1);
        expect_said("belongs to user 1");
        cr_assert_eq(chown(root, 0, 0), 0);
    }
    cr_expect_eq(readiness(client), 200);
    http_client_free(client);
    server_close(&server);
}

/* Runs the doctor on DATA with MARKS and one more flag. */
static int see_doctor_with_marks(const char *data, const char *marks, const char *flag,
                                 const char *value)
{
    return tacet_run(out, sizeof out, "doctor", "--data", data, "--listen", "127.0.0.1:0",
                     "--marks", marks, flag, value, NULL);
}

static void shell_out(const char *format, const char *a, const char *b)
{
    char line[400];
    snprintf(line, sizeof line, format, a, b);
    cr_assert_eq(system(line), 0, "%s", line);
}

Test(doctor, looks_at_marks_another_key_and_webhooks, .timeout = 200)
{
    struct server_process server;
    char marks[] = "/tmp/tacet-marks-XXXXXX", path[120], dataset[64];
    struct desk desk;
    cr_assert_not_null(mkdtemp(marks));
    server_open(&server, "--marks", marks, NULL);
    cr_expect_eq(see_doctor_with_marks(server.data, marks, NULL, NULL), 0, "%s", out);
    expect_said("ok    marks      ");
    cr_assert_eq(server_end(&server, SIGTERM), 0);
    shell_out("cp %s/tacet.db %s/before", server.data, marks);
    server_start(&server);
    desk_open(&desk, &server);
    scene_open_dataset(desk.client, desk.steward, dataset);
    desk_close(&desk);
    cr_assert_eq(server_end(&server, SIGTERM), 0);

    cr_expect_eq(see_doctor_with_marks(server.data, marks, NULL, NULL), 0, "%s", out);
    expect_said("has those of this service, and the ledger is as new");
    cr_expect_eq(see_doctor(server.data, NULL, NULL), 1);
    expect_said("FAIL  marks      this service has marks elsewhere, or is a backup: give --marks");
    cr_expect_eq(see_doctor(server.data, "--marks", "/nowhere/marks"), 1);
    expect_said("FAIL  marks      /nowhere/marks: No such file or directory: mount it");
    cr_expect_eq(see_doctor(server.data, "--marks", server.folder), 1);
    expect_said("has no marks: is it the right directory?");
    snprintf(path, sizeof path, "%s/lock", server.folder);
    cr_expect_neq(access(path, F_OK), 0, "nothing is made");

    snprintf(path, sizeof path, "%s/other", marks);
    shell_out("printf %%064d 7 >%s && chmod 600 %s", path, path);
    cr_expect_eq(see_doctor_with_marks(server.data, marks, "--key-file", path), 1);
    expect_said("FAIL  keys       ");
    cr_expect_eq(see_doctor_with_marks(server.data, marks, "--webhook",
                                       "all http://chat.example/7 /dev/null"),
                 1);
    expect_said("FAIL  webhook    --webhook (number 1): an address must begin with https://");

    shell_out("rm -f %s/tacet.db-wal %s/tacet.db-shm", server.data, server.data);
    shell_out("cp %s/before %s/tacet.db", marks, server.data);
    cr_expect_eq(see_doctor_with_marks(server.data, marks, NULL, NULL), 1);
    expect_said("FAIL  marks      this data directory is older than its marks");
    server_remove(&server);
    shell_out("rm -r %s%s", marks, "");
}

static int see_tls(const struct server_process *server, const char *certificate, const char *key)
{
    return tacet_run(out, sizeof out, "doctor", "--data", server->data, "--listen", "127.0.0.1:0",
                     "--tls-cert", certificate, "--tls-key", key, NULL);
}

Test(doctor, looks_as_the_owner_of_the_directory_when_root_asks, .timeout = 600)
{
    struct server_process server;
    char token[160];
    if (geteuid() != 0)
        return;
    server_prepare(&server);
    server_token(&server, "admin", token);
    shell_out("chmod 711 %s && chown -R 1:1 %s", server.folder, server.data);
    cr_expect_eq(see_doctor(server.data, NULL, NULL), 0, "%s", out);
    expect_said("ok    user       root looks as user 1");
    server_remove(&server);
}

Test(doctor, looks_at_a_certificate_and_its_key, .timeout = 600)
{
    struct server_process server;
    char key[160];
    server_prepare(&server);
    cr_expect_eq(
        see_tls(&server, "tests/http/tls/certificate.pem", "tests/http/tls/certificate.pem"), 1);
    expect_said("FAIL  tls        tests/http/tls/certificate.pem is no PEM file of a private key");
    see_tls(&server, "tests/http/tls/certificate.pem", "tests/http/tls/key.pem");
    expect_said("tests/http/tls/certificate.pem is good for ");
    snprintf(key, sizeof key, "%s/key", server.folder);
    shell_out("cp tests/http/tls/key.pem %s && chmod 644 %s", key, key);
    see_tls(&server, "tests/http/tls/ended.pem", key);
    expect_said("FAIL  tls        tests/http/tls/ended.pem has ended: renew it");
    expect_said("/key has mode 0644, so that others may use it: chmod 600 ");
    server_remove(&server);
}

Test(doctor, status_tells_what_a_running_service_does, .timeout = 600)
{
    struct server_process server;
    char token[160];
    server_open(&server, "--metrics-listen", "127.0.0.1:0", NULL);
    server_token(&server, "admin", token);
    cr_expect_eq(see_doctor(server.data, NULL, NULL), 0, "%s", out);
    expect_said("ok    server     a server runs on this directory");
    expect_said("warn  backup     tacet backup has made none");
    cr_expect_eq(see_doctor(server.data, "--strict", NULL), 1, "%s", out);
    shell_out("printf '%%019d\\n' %s >%s/tacet.copy.lock", "$(date +%s)", server.data);
    cr_expect_eq(see_doctor(server.data, NULL, NULL), 0, "%s", out);
    expect_said("ok    backup     tacet backup made the last one 0 hours ago");
    cr_expect_eq(tacet_run(out, sizeof out, "status", "--server", server.base, NULL), 0, "%s", out);
    expect_said("ready       http://127.0.0.1:");
    expect_said("the token of a monitor in TACET_TOKEN shows more");
    setenv("TACET_TOKEN", token, 1);
    cr_expect_eq(tacet_run(out, sizeof out, "status", "--server", server.base, NULL), 0, "%s", out);
    expect_said("up since    20");
    expect_said("jobs        0 queued, 0 running, 0 succeeded, 0 failed, 0 cancelled");
    expect_said(" % free");
    expect_said("backed up   20");
    cr_expect(!strstr(out, "refusals"), "asking without a token was refused and counted: %s", out);
    unsetenv("TACET_TOKEN");
    server_close(&server);
    cr_expect_eq(tacet_run(out, sizeof out, "status", "--server", server.base, NULL), 1);
}
