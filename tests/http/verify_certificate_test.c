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
    char dataset[64], own[64], other[64], line[300];
    scene_dataset(desk.client, desk.steward, 40, dataset);
    save("/.well-known/jwks.json", "keys");
    make_policy(dataset, "a");
    make_policy(dataset, "b");
    for (int i = 0; i < 3; i++) {
        snprintf(own, sizeof own, "a.%s", formats[i]);
        snprintf(other, sizeof other, "b.%s", formats[i]);
        cr_expect_eq(verify("a.certificate", own), 0, "%s", formats[i]);
        cr_expect_eq(verify("a.certificate", other), 1, "%s", formats[i]);
    }
    /* The same network in other words has the digest of its weights. */
    snprintf(line, sizeof line, "python3 -m json.tool %s/a.json %s/words.json", folder, folder);
    cr_assert_eq(system(line), 0);
    cr_expect_eq(verify("a.certificate", "words.json"), 0);
    change("a.certificate", "\"subject\"\\|\"job\"", "\"jobs\"", "changed");
    cr_expect_eq(verify("changed", "a.json"), 1);
    change("a.certificate", "\"weights_sha256\":\"..", "\"weights_sha256\":\"zz", "changed");
    cr_expect_eq(verify("changed", "a.json"), 1);
}
