/* The directory a server lives in: private, one server's, called new once, and of no use without
 * its key. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/http/http_client.h"
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
