/* examples/verify_certificate.py on what a real server sent: genuine, changed, and beside the
 * weights of another policy. */
#include <criterion/criterion.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/http/desk.h"
#include "tests/http/scene.h"

static struct server_process server;
static struct desk desk;
static char folder[] = "/tmp/tacet-verify-XXXXXX";

static void setup(void)
{
    server_open(&server, "--workers", "1", NULL);
    desk_open(&desk, &server);
    cr_assert_not_null(mkdtemp(folder));
}

static void teardown(void)
{
    char line[120];
    desk_close(&desk);
    server_close(&server);
    snprintf(line, sizeof line, "rm -r %s", folder);
    cr_expect_eq(system(line), 0);
}

TestSuite(verify_certificate, .init = setup, .fini = teardown);

static void write_file(const char *name, const void *bytes, size_t size)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(bytes, 1, size, file), size);
    cr_assert_eq(fclose(file), 0);
}

static void save(const char *path, const char *name)
{
    struct http_answer answer = desk_get(&desk, path);
    write_file(name, answer.body, answer.size);
    http_answer_clear(&answer);
}

/* Trains a policy and saves its certificate and its downloads under NAME. */
static void make_policy(const char *dataset, const char *name)
{
    static const char *const formats[] = {"json", "safetensors", "onnx"};
    char body[400], path[160], file[64], state[16];
    snprintf(body, sizeof body,
             "{\"algorithm\":\"cql\",\"mechanism\":\"dpsgd\",\"dataset\":\"%s\",\"privacy\":{"
             "\"force\":true,"
             "\"epsilon\":2,\"delta\":1e-6},\"parameters\":{\"hidden\":[8],\"steps\":50}}",
             dataset);
    desk_submit(&desk, body, name, path);
    desk_wait_past(&desk, path, LLONG_MAX, state);
    struct http_answer job = desk_get(&desk, path);
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "/v1/policies/%s/weights?format=%s", http_text(&job, "policy"),
                 formats[i]);
        snprintf(file, sizeof file, "%s.%s", name, formats[i]);
        save(path, file);
    }
    snprintf(path, sizeof path, "/v1/policies/%s/certificate", http_text(&job, "policy"));
    snprintf(file, sizeof file, "%s.certificate", name);
    save(path, file);
    http_answer_clear(&job);
}

/* The script's exit code. */
static int verify(const char *certificate, const char *weights)
{
    char line[400];
    snprintf(line, sizeof line,
             "D=%s; python3 examples/verify_certificate.py $D/%s $D/keys $D/%s >$D/log 2>&1",
             folder, certificate, weights);
    int status = system(line);
    cr_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* The exit code of tacet certificate verify; *SAID receives what it printed. */
static int tacet_verify(const char *certificate, const char *weights, char said[600])
{
    char at[2][120], keys[120];
    snprintf(at[0], sizeof at[0], "%s/%s", folder, certificate);
    snprintf(at[1], sizeof at[1], "%s/%s", folder, weights);
    snprintf(keys, sizeof keys, "%s/keys", folder);
    return tacet_run(said, 600, "certificate", "verify", "--keys", keys, "--weights", at[1], at[0],
                     NULL);
}

/* The same of the policy POLICY alone, which carries its certificate. */
static int tacet_verify_alone(const char *policy, char said[600])
{
    char at[120], keys[120];
    snprintf(at, sizeof at, "%s/%s", folder, policy);
    snprintf(keys, sizeof keys, "%s/keys", folder);
    return tacet_run(said, 600, "certificate", "verify", "--keys", keys, at, NULL);
}

/* Replaces FROM by TO in the file NAME and saves the result as RESULT. */
static void change(const char *name, const char *from, const char *to, const char *result)
{
    char line[400];
    snprintf(line, sizeof line, "sed 's/%s/%s/' %s/%s >%s/%s", from, to, folder, name, folder,
             result);
    cr_assert_eq(system(line), 0);
}

Test(verify_certificate, finds_other_weights_and_changed_words)
{
    static const char *const formats[] = {"json", "safetensors", "onnx"};
    char dataset[64], own[64], other[64], line[300], said[600];
    scene_dataset(desk.client, desk.steward, 40, dataset);
    save("/.well-known/jwks.json", "keys");
    make_policy(dataset, "a");
    make_policy(dataset, "b");
    for (int i = 0; i < 3; i++) {
        snprintf(own, sizeof own, "a.%s", formats[i]);
        snprintf(other, sizeof other, "b.%s", formats[i]);
        cr_expect_eq(verify("a.certificate", own), 0, "%s", formats[i]);
        cr_expect_eq(verify("a.certificate", other), 1, "%s", formats[i]);
        cr_expect_eq(tacet_verify("a.certificate", own, said), 0, "%s", said);
        cr_expect_eq(tacet_verify("a.certificate", other, said), 1);
        cr_expect(strstr(said, "these weights are not a file that the certificate was issued for"));
        cr_expect_eq(tacet_verify_alone(own, said), 0, "%s", said);
        cr_expect(strstr(said, "the weights that it was issued for"), "%s", said);
    }
    change("a.json", "\"bias\":\\[", "\"bias\":[9", "a.changed");
    cr_expect_eq(tacet_verify_alone("a.changed", said), 1);
    cr_expect(strstr(said, "these weights are not a file"), "%s", said);
    /* The same network in other words has the digest of its weights. */
    snprintf(line, sizeof line, "python3 -m json.tool %s/a.json %s/words.json", folder, folder);
    cr_assert_eq(system(line), 0);
    cr_expect_eq(verify("a.certificate", "words.json"), 0);
    change("a.certificate", "\"subject\"\\|\"job\"", "\"jobs\"", "changed");
    cr_expect_eq(verify("changed", "a.json"), 1);
    cr_expect_eq(tacet_verify("changed", "a.json", said), 1);
    cr_expect(strstr(said, "its signature does not hold: it was changed"), "%s", said);
    change("a.certificate", "\"weights_sha256\":\"..", "\"weights_sha256\":\"zz", "changed");
    cr_expect_eq(verify("changed", "a.json"), 1);
}

/* Makes an export of the service in DATA under NAME, and gives the path. */
static const char *make_export(const char *data, const char *name, char path[120])
{
    char said[600];
    snprintf(path, 120, "%s/%s", folder, name);
    cr_assert_eq(tacet_run(said, sizeof said, "export", "--data", data, "--out", path, NULL), 0,
                 "%s", said);
    return path;
}

Test(verify_certificate, an_export_is_checked_beside_the_running_service)
{
    char dataset[64], said[4000], path[2][120], keys[120], line[500];
    scene_dataset(desk.client, desk.steward, 40, dataset);
    save("/.well-known/jwks.json", "keys");
    snprintf(keys, sizeof keys, "%s/keys", folder);
    make_export(server.data, "before", path[0]);
    make_policy(dataset, "a");
    make_export(server.data, "after", path[1]);
    cr_expect_eq(
        tacet_run(said, sizeof said, "verify", "--keys", keys, "--earlier", path[0], path[1], NULL),
        0, "%s", said);
    cr_expect(strstr(said, "1 certificates"), "%s", said);
    cr_expect(strstr(said, "one of --keys"), "%s", said);
    cr_expect_eq(tacet_run(said, sizeof said, "verify", "--earlier", path[1], path[0], NULL), 1);
    cr_expect(strstr(said, "this is an older history"), "%s", said);
    snprintf(line, sizeof line, "python3 scripts/verify.py --keys %s --earlier %s %s >/dev/null",
             keys, path[0], path[1]);
    cr_expect_eq(system(line), 0);
    snprintf(line, sizeof line, "python3 scripts/verify.py --earlier %s %s >/dev/null", path[1],
             path[0]);
    cr_expect_neq(system(line), 0);
    /* The keys of another service. */
    change("keys", "\"x\":\"...", "\"x\":\"AAA", "others");
    snprintf(keys, sizeof keys, "%s/others", folder);
    cr_expect_eq(tacet_run(said, sizeof said, "verify", "--keys", keys, path[1], NULL), 1);
    cr_expect(strstr(said, "it is signed with the key of another service"), "%s", said);
    /* A file that is there is kept. */
    cr_expect_eq(
        tacet_run(said, sizeof said, "export", "--data", server.data, "--out", path[1], NULL), 1);
    cr_expect(strstr(said, "File exists"), "%s", said);
}
