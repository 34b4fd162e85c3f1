/* tacet key rotate beside a running server: nothing stops, and who trusts the old key goes on. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "tests/http/scene.h"

static struct server_process server;
static struct scene scene;
static char said[8000];

static void open_server(void)
{
    server_open(&server, "--workers", "1", NULL);
    scene_make(&scene, &server, 5, 5);
}

static void close_server(void)
{
    scene_clear(&scene);
    server_close(&server);
}

TestSuite(key_rotation, .init = open_server, .fini = close_server, .timeout = 200);

/* Runs LINE in a shell in the server's folder: $T is the program, $D the data directory, $S the
 * scripts. */
static int shell(const char *format, ...)
{
    char line[2000];
    va_list arguments;
    int written =
        snprintf(line, sizeof line, "T=$(realpath %s); S=$(realpath scripts); D=%s; cd %s && { ",
                 server_program(), server.data, server.folder);
    va_start(arguments, format);
    written += vsnprintf(line + written, sizeof line - (size_t)written, format, arguments);
    va_end(arguments);
    cr_assert_lt(written + 30, (int)sizeof line);
    snprintf(line + written, sizeof line - (size_t)written, "; } 2>&1 </dev/null");
    FILE *pipe = popen(line, "r");
    cr_assert_not_null(pipe);
    said[fread(said, 1, sizeof said - 1, pipe)] = '\0';
    int status = pclose(pipe);
    cr_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

#define EXPECT(code, what, ...)                                                                    \
    do {                                                                                           \
        cr_expect_eq(shell(__VA_ARGS__), code, "%s", said);                                        \
        cr_expect_not_null(strstr(said, what), "%s", said);                                        \
    } while (0)

static void save(const char *path, const char *token, const char *name)
{
    char file[160];
    struct http_call get = {.method = "GET", .path = path, .token = token};
    struct http_answer answer = http_expect(scene.client, 200, &get);
    snprintf(file, sizeof file, "%s/%s", server.folder, name);
    FILE *out = fopen(file, "w");
    cr_assert(out && fwrite(answer.body, 1, answer.size, out) == answer.size);
    cr_assert_eq(fclose(out), 0);
    http_answer_clear(&answer);
}

/* Makes a teacher and saves its certificate. */
static void certify(const char *name)
{
    char body[512], path[120];
    snprintf(body, sizeof body,
             "{\"policy\":\"%s\",\"mechanism\":{\"name\":\"dirichlet\",\"concentration\":20,"
             "\"min_probability\":0.1},\"adjacency\":{\"unit\":\"observation\",\"radius\":0.01},"
             "\"accounting\":\"renyi\",\"budget\":{\"epsilon\":2,\"delta\":1e-5}}",
             scene.policy);
    struct http_call create = {
        .method = "POST", .path = "/v1/teachers", .token = scene.steward, .body = body};
    struct http_answer teacher = http_expect(scene.client, 201, &create);
    snprintf(path, sizeof path, "/v1/teachers/%s/certificate", http_text(&teacher, "id"));
    http_answer_clear(&teacher);
    save(path, scene.steward, name);
}

static void rotate(void)
{
    cr_assert_eq(shell("$T key rotate --data $D"), 0, "%s", said);
    cr_assert_eq(strspn(said, "0123456789abcdef"), 16, "%s", said);
    cr_assert_str_eq(said + 16, "\n");
}

#define KEYS "/.well-known/jwks.json"

Test(key_rotation, certificates_and_exports_hold_for_who_has_the_old_key_alone)
{
    save(KEYS, NULL, "old");
    certify("before");
    EXPECT(0, "", "$T export --data $D --out export0");
    rotate();
    certify("after");
    rotate();
    certify("last");
    save(KEYS, NULL, "new");
    EXPECT(0, "is genuine", "$T certificate verify --keys old before");
    EXPECT(1, "with the key of another service", "$T certificate verify --keys old after");
    EXPECT(0, "is genuine", "$T certificate verify --keys old --newer new after");
    EXPECT(0, "is genuine", "$T certificate verify --keys old --newer new last");
    EXPECT(0, "is genuine", "$T certificate verify --keys old --newer new before");
    EXPECT(0, "is genuine", "$T certificate verify --keys new last");
    EXPECT(1, "not signed by the one that it follows",
           "sed 's/\"from\":\"20/\"from\":\"19/' new >forged; "
           "$T certificate verify --keys old --newer forged last");
    EXPECT(1, "with the key of another service",
           "sed 's/\"follows\"/\"after\"/' new >gap; "
           "$T certificate verify --keys old --newer gap last");
    EXPECT(0, "all of it holds", "$T export --data $D --out export && $T verify --keys old export");
    cr_expect_not_null(strstr(said, "(follows one of --keys)"), "%s", said);
    EXPECT(0, "all of it holds", "python3 $S/verify.py --keys old export");
    cr_expect_not_null(strstr(said, "(follows one of --keys)"), "%s", said);
    EXPECT(0, "(one of --keys)", "$T verify --keys new export");
    EXPECT(0, "(one of --keys)", "python3 $S/verify.py --keys new export");
    EXPECT(2, "--newer needs --keys", "$T verify --newer new export");
    EXPECT(2, "--newer needs --keys", "python3 $S/verify.py --newer new export");
    EXPECT(0, "The signature holds", "python3 $S/../examples/verify_certificate.py last new");
    EXPECT(0, "The signature holds", "python3 $S/../examples/verify_certificate.py before new");
    EXPECT(1, "Another key had followed",
           "sed 's/\"from\":\"20/\"from\":\"19/g' new >older; "
           "python3 $S/../examples/verify_certificate.py before older");
    EXPECT(0, "signed with a key that another followed at 20",
           "$T certificate verify --keys new before");
    EXPECT(0, "(one of --keys; a key that another followed at 20", "$T verify --keys new export0");
    EXPECT(0, "(one of --keys; a key that another followed at 20",
           "python3 $S/verify.py --keys new export0");
    struct http_call verify = {
        .method = "POST", .path = "/v1/ledger:verify", .token = scene.auditor, .key = "v"};
    struct http_answer verdict = http_expect(scene.client, 200, &verify);
    http_answer_clear(&verdict);
}

static atomic_bool asking = true;

static void *ask_all_the_time(void *context)
{
    static const char state[] = "{\"states\":[[0.01,-0.02,0.03,0.04]]}";
    struct http_client *client = http_client_new(&server);
    unsigned *answered = context;
    while (atomic_load(&asking)) {
        char key[32];
        snprintf(key, sizeof key, "ask-%u", *answered);
        struct http_call ask = {.method = "POST",
                                .path = scene.queries,
                                .token = scene.students[0].token,
                                .body = state,
                                .key = key};
        struct http_answer answer = http_expect(client, 200, &ask);
        http_answer_clear(&answer);
        ++*answered;
    }
    http_client_free(client);
    return NULL;
}

Test(key_rotation, the_server_answers_meanwhile)
{
    pthread_t thread;
    unsigned answered = 0;
    save(KEYS, NULL, "old");
    cr_assert_eq(pthread_create(&thread, NULL, ask_all_the_time, &answered), 0);
    for (unsigned i = 0; i < 5; i++) {
        char name[20];
        rotate();
        snprintf(name, sizeof name, "c%u", i);
        certify(name);
    }
    atomic_store(&asking, false);
    pthread_join(thread, NULL);
    save(KEYS, NULL, "new");
    cr_expect_gt(answered, 0);
    for (unsigned i = 0; i < 5; i++)
        EXPECT(0, "is genuine", "$T certificate verify --keys old --newer new c%u", i);
    EXPECT(0, "all of it holds", "$T export --data $D | $T verify --keys old -");
}

/* By the server it follows from key to key; by a file it knows the newest key, or that before. */
Test(key_rotation, a_witness_goes_on)
{
    static const char witness[] = "TACET_TOKEN=%s $T witness --keys old --origin "
                                  "tacet/$(sed 's/.*\"kid\":\"//; s/\".*//' old)";
    char line[400];
    save(KEYS, NULL, "old");
    snprintf(line, sizeof line, witness, scene.auditor);
    EXPECT(0, "cosigned; it goes on from 0 leaves", "%s --data w --server %s --out c0", line,
           server.base);
    save("/v1/ledger/proofs/consistency", scene.auditor, "zero");
    rotate();
    save("/v1/ledger/proofs/consistency", scene.auditor, "one");
    EXPECT(0, "cosigned", "%s --data w1 one", line);
    rotate();
    save(KEYS, NULL, "new");
    save("/v1/ledger/proofs/consistency", scene.auditor, "two");
    EXPECT(1, "the key of another log", "%s --data w2 two", line);
    EXPECT(0, "cosigned", "%s --data w2 --newer new two", line);
    EXPECT(1, "no signature of the newest key", "%s --data w3 --newer new zero", line);
    EXPECT(0, "cosigned", "%s --data w --server %s --out c2", line, server.base);
    EXPECT(0, "cosigned", "%s --data w --server %s --out c2", line, server.base);
    EXPECT(0, "all of it holds",
           "$T export --data $D --out export; $T verify --keys old --newer new --checkpoint c2 "
           "export");
    EXPECT(0, "all of it holds", "$T verify --keys old --checkpoint c0 export");
    EXPECT(0, "all of it holds",
           "python3 $S/verify.py --keys old --newer new --checkpoint c2 export");
    EXPECT(1, "not signed by the one that it follows",
           "sed 's/\"from\":\"20/\"from\":\"19/' new >forged; "
           "python3 $S/verify.py --keys old --newer forged export");
}

/* It is killed at any moment: the key, its row of the audit trail and its statement are all there,
 * or none of them is. */
Test(key_rotation, that_is_killed_leaves_either_state)
{
    save(KEYS, NULL, "old");
    cr_expect_eq(shell("for i in $(seq 30); do "
                       "timeout -s KILL $(printf 0.%%03d $((i * 4))) $T key rotate --data $D; "
                       "done; true"),
                 0);
    certify("after");
    save(KEYS, NULL, "new");
    EXPECT(0, "all of it holds", "$T export --data $D | $T verify --keys old -");
    EXPECT(0, "is genuine", "$T certificate verify --keys old --newer new after");
    rotate();
}

Test(key_rotation, a_backup_has_the_keys)
{
    save(KEYS, NULL, "old");
    rotate();
    rotate();
    certify("after");
    save(KEYS, NULL, "new");
    EXPECT(0, "restored",
           "mkdir to marks; R=$($T backup --make-identity id) && "
           "$T backup --data $D --to to --recipient $R && "
           "$T restore --data again --from to --identity id --marks marks --marks-lost");
    EXPECT(0, "all of it holds", "$T export --data again | $T verify --keys old -");
    EXPECT(0, "is genuine", "$T certificate verify --keys old --newer new after");
    EXPECT(0, "\"version\":4", "$T export --data again | head -n 1");
    EXPECT(0, "", "$T key rotate --data again");
    EXPECT(0, "all of it holds", "$T export --data again | $T verify --keys old -");
}

/* The newest key is lost then, and who has seen it is told that this is not the service of before.
 */
Test(key_rotation, an_older_backup_has_the_keys_of_its_time)
{
    save(KEYS, NULL, "old");
    EXPECT(0, "backed up",
           "mkdir to marks; R=$($T backup --make-identity id) && "
           "$T backup --data $D --to to --recipient $R");
    rotate();
    EXPECT(0, "all of it holds", "$T export --data $D --out lost; $T verify --keys old lost");
    EXPECT(0, "restored",
           "$T restore --data again --from to --identity id --marks marks --marks-lost");
    EXPECT(0, "(one of --keys)", "$T export --data again --out now; $T verify --keys old now");
    EXPECT(1, "the key of another service", "$T verify --keys old --earlier lost now");
    EXPECT(1, "the key of another service", "python3 $S/verify.py --earlier lost now");
    EXPECT(0, "", "$T key rotate --data again");
    EXPECT(0, "(follows one of --keys)", "$T export --data again | $T verify --keys old -");
}

Test(key_rotation, needs_a_service_and_its_key)
{
    EXPECT(1, "holds no service", "mkdir empty; $T key rotate --data empty");
    EXPECT(0, "", "ls -A empty");
    cr_expect_str_eq(said, "", "it made nothing");
    EXPECT(1, "no/such", "$T key rotate --data no/such");
    EXPECT(2, "no such flag", "$T key rotate --date x");
    EXPECT(2, "\"rotate\"", "$T key retire");
    EXPECT(0, "usage: tacet key rotate", "$T key rotate --help");
    EXPECT(1, "signing.key", "chmod 644 $D/signing.key; $T key rotate --data $D");
    EXPECT(0, "", "chmod 600 $D/signing.key; cp -r $D other; rm other/lock");
    EXPECT(1, "belongs to another signing.key",
           "$T key export --data $D >line; rm other/signing.key; head -c 32 /dev/urandom "
           ">other/signing.key; chmod 600 other/signing.key; $T key rotate --data other");
    save(KEYS, NULL, "keys");
    EXPECT(0, "\"keys\":[{", "cat keys");
    cr_expect_null(strstr(said, "follows"), "nothing was rotated: %s", said);
}
