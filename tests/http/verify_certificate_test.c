/* examples/verify_certificate.py on what a real server sent: genuine, changed, and beside the
 * weights of another policy. */
#include <criterion/criterion.h>
#include <limits.h>
#include <stdarg.h>
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
static int tacet_verify(const char *certificate, const char *weights, char said[4000])
{
    char at[2][120], keys[120];
    snprintf(at[0], sizeof at[0], "%s/%s", folder, certificate);
    snprintf(at[1], sizeof at[1], "%s/%s", folder, weights);
    snprintf(keys, sizeof keys, "%s/keys", folder);
    return tacet_run(said, 4000, "certificate", "verify", "--keys", keys, "--weights", at[1], at[0],
                     NULL);
}

/* The same of the policy POLICY alone, which carries its certificate. */
static int tacet_verify_alone(const char *policy, char said[4000])
{
    char at[120], keys[120];
    snprintf(at, sizeof at, "%s/%s", folder, policy);
    snprintf(keys, sizeof keys, "%s/keys", folder);
    return tacet_run(said, 4000, "certificate", "verify", "--keys", keys, at, NULL);
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
    char dataset[64], own[64], other[64], line[300], said[4000];
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
        cr_expect(
            strstr(said, " for the unit \"expert\", by the mechanism \"dpsgd\". Two datasets"),
            "%s", said);
        cr_expect(strstr(said, "guarantees epsilon 1.") && strstr(said, " and delta 0.000001 "),
                  "%s", said);
        cr_expect(strstr(said, "warns: ") && strstr(said, "is not hidden"), "%s", said);
        cr_expect(strstr(said, ": with all else that is released of the dataset, at most epsilon "),
                  "%s", said);
    }
    change("a.json", "\"bias\":\\[", "\"bias\":[9", "a.changed");
    cr_expect_eq(tacet_verify_alone("a.changed", said), 1);
    cr_expect(strstr(said, "these weights are not a file"), "%s", said);
    /* The same network in other words has the digest of its weights. */
    snprintf(line, sizeof line, "python3 -m json.tool %s/a.json %s/words.json", folder, folder);
    cr_assert_eq(system(line), 0);
    cr_expect_eq(verify("a.certificate", "words.json"), 0);
    cr_expect_eq(tacet_verify_alone("words.json", said), 1);
    cr_expect(strstr(said, "another program has laid out anew"), "%s", said);
    cr_expect_eq(tacet_verify("a.certificate", "words.json", said), 1);
    cr_expect(strstr(said, "another program has laid out anew"), "%s", said);
    /* Another certificate inside of the same weights, of the same length. */
    for (int i = 0; i < 3; i++) {
        snprintf(own, sizeof own, "a.%s", formats[i]);
        change(own, "is not hidden", "is now hidden", "doctored");
        cr_expect_eq(verify("a.certificate", "doctored"), 1, "%s", formats[i]);
        cr_expect_eq(tacet_verify("a.certificate", "doctored", said), 1, "%s", formats[i]);
        cr_expect(strstr(said, "certificate inside of the file is another one"), "%s", said);
    }
    change("a.certificate", "\"subject\"\\|\"job\"", "\"jobs\"", "changed");
    cr_expect_eq(verify("changed", "a.json"), 1);
    cr_expect_eq(tacet_verify("changed", "a.json", said), 1);
    cr_expect(strstr(said, "its signature does not hold: it was changed"), "%s", said);
    change("a.certificate", "\"weights_sha256\":\"..", "\"weights_sha256\":\"zz", "changed");
    cr_expect_eq(verify("changed", "a.json"), 1);
}

/* A job that nothing pays for was run before: no bound of all releases is named. */
Test(verify_certificate, names_no_bound_of_all_releases_where_the_dataset_is_not_covered)
{
    char dataset[64], body[300], path[300], state[32], said[4000];
    scene_dataset(desk.client, desk.steward, 40, dataset);
    save("/.well-known/jwks.json", "keys");
    snprintf(body, sizeof body,
             "{\"algorithm\":\"behaviour_cloning\",\"mechanism\":\"none\",\"dataset\":\"%s\","
             "\"i_understand\":\"not_private\",\"parameters\":{\"hidden\":[8],\"steps\":5}}",
             dataset);
    desk_submit(&desk, body, "plain", path);
    desk_wait_past(&desk, path, LLONG_MAX, state);
    make_policy(dataset, "a");
    cr_expect_eq(tacet_verify("a.certificate", "a.json", said), 0, "%s", said);
    cr_expect_not(strstr(said, "with all else that is released of the dataset"), "%s", said);
    cr_expect(strstr(said, "warns: "), "%s", said);
}

/* The exit code of a shell's LINE, in which $D is the folder and $T the program; *SAID is what it
 * printed. */
static int shell(char said[4000], const char *format, ...)
{
    char line[1200];
    va_list arguments;
    size_t size = 0;
    int written = snprintf(line, sizeof line, "D=%s; T=%s; { ", folder, server_program());
    va_start(arguments, format);
    written += vsnprintf(line + written, sizeof line - (size_t)written, format, arguments);
    va_end(arguments);
    snprintf(line + written, sizeof line - (size_t)written, "; } 2>&1 </dev/null");
    FILE *pipe = popen(line, "r");
    cr_assert_not_null(pipe);
    size = fread(said, 1, 3999, pipe);
    said[size] = '\0';
    int status = pclose(pipe);
    cr_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

#define EXPECT_SAID(code, what, ...)                                                               \
    do {                                                                                           \
        cr_expect_eq(shell(said, __VA_ARGS__), code, "%s", said);                                  \
        cr_expect_not_null(strstr(said, what), "%s", said);                                        \
    } while (0)

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
    cr_expect_eq(tacet_run(said, sizeof said, "verify", "--earlier", path[0], "--earlier", path[0],
                           path[1], NULL),
                 2);
    cr_expect_eq(tacet_run(said, sizeof said, "verify", "--earlier", path[1], path[0], NULL), 1);
    cr_expect(strstr(said, "this is an older history"), "%s", said);
    cr_expect(strstr(said, "are the two swapped?"), "%s", said);
    EXPECT_SAID(1, "are the two swapped?", "python3 scripts/verify.py --earlier %s %s", path[1],
                path[0]);
    EXPECT_SAID(2, "--earlier is given twice",
                "python3 scripts/verify.py --earlier %s --earlier %s %s", path[0], path[0],
                path[1]);
    EXPECT_SAID(0, "shows nothing", "python3 scripts/verify.py --earlier %s %s", path[1], path[1]);
    EXPECT_SAID(0, "shows nothing", "$T verify --earlier %s %s", path[1], path[1]);
    cr_expect(strstr(said, "nothing shows that this history is the first"), "%s", said);
    EXPECT_SAID(0, "the audit trail", "$T export --help");
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
    EXPECT_SAID(1, "(none of --keys)", "python3 scripts/verify.py --keys %s %s", keys, path[1]);
    snprintf(keys, sizeof keys, "%s/keys", folder);
    EXPECT_SAID(0, "(one of --keys)", "python3 scripts/verify.py --keys %s %s", keys, path[1]);
    EXPECT_SAID(1, "its first line is not that of an export",
                "python3 scripts/verify.py --keys %s /dev/null", keys);
    cr_expect_null(strstr(said, "key "), "%s", said);
    /* Files that are of another kind, or that something has changed. */
    EXPECT_SAID(1, "it is no key set", "python3 scripts/verify.py --keys %s %s", path[1], keys);
    EXPECT_SAID(1, "it is no checkpoint of a log",
                "python3 scripts/verify.py --keys %s --checkpoint %s %s", keys, path[1], path[1]);
    EXPECT_SAID(1, "so it is not what is asked for",
                "head -c 20000 /dev/zero >$D/big; $T verify --keys %s --checkpoint $D/big %s", keys,
                path[1]);
    EXPECT_SAID(1, "something has changed the file",
                "sed 's/$/\r/' %s >$D/crlf; python3 scripts/verify.py $D/crlf", path[1]);
    EXPECT_SAID(1, "begins with a byte order mark",
                "{ printf '\357\273\277'; cat %s; } >$D/bom; $T verify $D/bom", path[1]);
    EXPECT_SAID(1, "ed25519.py has to stand beside it",
                "cp scripts/verify.py $D; python3 $D/verify.py $D/bom");
    EXPECT_SAID(1, "the token is empty",
                "TACET_TOKEN= $T witness --data $D/w --keys %s --origin o --server %s", keys,
                server.base);
    /* A file that is there is kept. */
    cr_expect_eq(
        tacet_run(said, sizeof said, "export", "--data", server.data, "--out", path[1], NULL), 1);
    cr_expect(strstr(said, "File exists"), "%s", said);
}

/* ---- receipts, and what a witness has cosigned */

static void save_receipt(const char *path, const char *name)
{
    struct http_answer answer = desk_call(&desk, "DELETE", 200, path, NULL, NULL);
    write_file(name, answer.body, answer.size);
    http_answer_clear(&answer);
}

Test(verify_certificate, a_receipt_of_an_erasure_is_checked_as_a_certificate_is)
{
    static const char *const tools[] = {"$T certificate verify --keys $D/keys $D/",
                                        "python3 examples/verify_certificate.py $D/"};
    char dataset[64], path[160], said[4000], line[400];
    scene_dataset(desk.client, desk.steward, 5, dataset);
    save("/.well-known/jwks.json", "keys");
    snprintf(path, sizeof path, "/v1/datasets/%s/experts/e1", dataset);
    save_receipt(path, "expert");
    snprintf(path, sizeof path, "/v1/datasets/%s?receipt=true", dataset);
    save_receipt(path, "dataset");
    change("expert", "\"e1\"", "\"e2\"", "forged");
    struct http_answer me = desk_call(&desk, "GET", 200, "/v1/clients/me", NULL, NULL);
    char owner[64], export[120];
    snprintf(owner, sizeof owner, "%s", http_text(&me, "id"));
    http_answer_clear(&me);
    snprintf(line, sizeof line, "the expert \"e1\" of the client %s in the dataset %s\n", owner,
             dataset);
    EXPECT_SAID(0, line, "%sexpert", tools[0]);
    cr_expect_not_null(strstr(said, "means: The key of these data was overwritten."), "%s", said);
    cr_expect_not_null(strstr(said, "whether the audit trail has it, \"tacet verify --receipt\""),
                       "%s", said);
    snprintf(line, sizeof line, "Z: the dataset %s\n", dataset);
    EXPECT_SAID(0, line, "%sdataset", tools[0]);
    EXPECT_SAID(1, "its signature does not hold: it was changed", "%sforged", tools[0]);
    make_export(server.data, "service", export);
    snprintf(line, sizeof line,
             "the expert \"e1\" of the dataset %s was erased (uploaded by %s); %s called\n",
             dataset, owner, owner);
    EXPECT_SAID(0, line, "$T verify --keys $D/keys --receipt $D/expert %s", export);
    snprintf(line, sizeof line, "all of the dataset %s was erased; %s called\n", dataset, owner);
    EXPECT_SAID(0, line, "$T verify --keys $D/keys --receipt $D/dataset %s", export);
    EXPECT_SAID(0, "The signature holds.", "%sexpert $D/keys", tools[1]);
    EXPECT_SAID(1, "The signature does not hold", "%sforged $D/keys", tools[1]);
}

/* The witness of the directory NAME cosigns the log into the file OUT; gives its key. */
static void cosign(const char *name, const char *out, char key[200])
{
    char said[4000], token[160];
    server_token(&server, "auditor", token);
    cr_assert_eq(
        shell(said,
              "TACET_TOKEN=%s $T witness --data $D/%s --keys $D/keys --server %s --out $D/%s "
              "--origin tacet/$(sed 's/.*\"kid\":\"//; s/\".*//' $D/keys)",
              token, name, server.base, out),
        0, "%s", said);
    const char *at = strstr(said, "; key ");
    cr_assert_not_null(at, "%s", said);
    snprintf(key, 200, "%.*s", (int)strcspn(at + 6, "\n"), at + 6);
}

Test(verify_certificate, a_checkpoint_counts_with_the_cosignature_of_the_named_witness)
{
    static const char tacet[] = "$T verify --keys $D/keys --checkpoint $D/",
                      python[] = "python3 scripts/verify.py --keys $D/keys --checkpoint $D/";
    char dataset[64], said[4000], path[120], key[200], other[200], again[200];
    save("/.well-known/jwks.json", "keys");
    scene_dataset(desk.client, desk.steward, 5, dataset);
    cosign("w", "cosigned", key);
    cosign("w2", "others", other);
    make_export(server.data, "export", path);
    scene_dataset(desk.client, desk.steward, 5, dataset);
    cosign("w", "later", again);
    cr_expect_str_eq(again, key);
    EXPECT_SAID(0, "all of it holds", "%scosigned --witness '%s' %s", tacet, key, path);
    EXPECT_SAID(0, "all of it holds", "%scosigned %s", python, path);
    EXPECT_SAID(1, "no cosignature of this witness and key", "%scosigned --witness '%s' %s", tacet,
                other, path);
    EXPECT_SAID(1, "no cosignature of this witness and key",
                "head -n -1 $D/cosigned >$D/bare; %sbare --witness '%s' %s", tacet, key, path);
    EXPECT_SAID(0, "all of it holds", "%sbare %s", tacet, path);
    EXPECT_SAID(
        1, "is not of this checkpoint",
        "{ head -n -1 $D/later; tail -n 1 $D/cosigned; } >$D/mixed; %smixed --witness '%s' %s",
        tacet, key, path);
    EXPECT_SAID(1, "is no key of a witness", "%scosigned --witness '%s0' %s", tacet, key, path);
    EXPECT_SAID(2, "--witness needs --checkpoint", "$T verify --witness '%s' %s", key, path);
    /* The log of the export does not go on from a later checkpoint. */
    EXPECT_SAID(1, "the log once had more leaves", "%slater --witness '%s' %s", tacet, key, path);
    EXPECT_SAID(1, "the log once had other leaves", "%slater %s", python, path);
    EXPECT_SAID(1, "no signature of this service that holds",
                "sed 2s/.*/9/ $D/cosigned >$D/changed; %schanged %s", python, path);
}

/* ---- files that are none */

static void make_folder(void)
{
    cr_assert_not_null(mkdtemp(folder));
}

static void remove_folder(void)
{
    char said[4000];
    cr_expect_eq(shell(said, "rm -r $D"), 0);
}

#define NO_KEYS                                                                                    \
    "{\"keys\":[{\"kid\":\"a\",\"crv\":\"Ed25519\",\"x\":"                                         \
    "\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"}]}"

/* By both: exit code 1, and one line that says what is wrong. */
Test(no_certificate, is_refused_in_one_sentence, .init = make_folder, .fini = remove_folder)
{
    static const struct {
        const char *name, *text, *said[2];
    } files[] = {
        {"empty", "", {"it is empty", "it is empty"}},
        {"words", "Dear auditor,", {"it is not a JSON object", "it is not JSON"}},
        {"list", "[1]", {"it is not a JSON object", "it has no member \"signature\""}},
        {"unsigned",
         "{\"id\":\"cert_a\"}",
         {"it has no signature", "it has no member \"signature\""}},
        {"number", "{\"signature\":5}", {"it has no signature", "cannot be read"}},
    };
    char said[4000];
    write_file("keys", NO_KEYS, sizeof NO_KEYS - 1);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        write_file(files[i].name, files[i].text, strlen(files[i].text));
        for (int python = 0; python < 2; python++) {
            EXPECT_SAID(1, files[i].said[python],
                        python ? "python3 examples/verify_certificate.py $D/%s $D/keys"
                               : "$T certificate verify --keys $D/keys $D/%s",
                        files[i].name);
            cr_expect_eq(strchr(said, '\n'), said + strlen(said) - 1, "%s", said);
        }
    }
    EXPECT_SAID(1, "it has no member \"keys\"",
                "python3 examples/verify_certificate.py $D/number $D/number");
}
