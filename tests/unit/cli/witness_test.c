/* The witness: it cosigns what goes on from the last checkpoint, and nothing else. */
#include "cli/proof/witness.h"

#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "tests/unit/cli/fake_server.h"

#define ORIGIN "a.example/log"
#define MOST   40

static unsigned char leaves[2][MOST]
                           [MERKLE_HASH_SIZE]; /* of two histories: the first 9 are alike */
static unsigned char log_secret[64];
static struct witness witness;
static char directory[64], error[WITNESS_ERROR_SIZE];
static struct buffer cosigned;

static void open_witness(void)
{
    unsigned char seed[32] = {1}, public_key[32];
    cr_assert_geq(sodium_init(), 0);
    for (unsigned h = 0; h < 2; h++)
        for (unsigned i = 0; i < MOST; i++)
            merkle_leaf((unsigned char[]){(unsigned char)i, (unsigned char)(i < 9 ? 0 : h)}, 2,
                        leaves[h][i]);
    snprintf(directory, sizeof directory, "/tmp/tacet-witness-XXXXXX");
    cr_assert_not_null(mkdtemp(directory));
    witness = (struct witness){.directory = directory, .name = "w.example/1", .origin = ORIGIN};
    crypto_sign_seed_keypair(witness.keys.key[0], log_secret, seed);
    witness.keys.count = 1;
    seed[0] = 2;
    crypto_sign_seed_keypair(public_key, witness.secret_key, seed);
    cosigned = (struct buffer){.lid = TLOG_NOTE_MOST};
}

static void close_witness(void)
{
    char command[100];
    snprintf(command, sizeof command, "rm -r %s", directory);
    cr_assert_eq(system(command), 0);
    buffer_clear(&cosigned);
}

TestSuite(witness, .init = open_witness, .fini = close_witness);

static bool leaf_node(void *context, unsigned level, uint64_t index, unsigned char *out)
{
    cr_assert_eq(level, 0);
    memcpy(out, leaves[*(unsigned *)context][index], MERKLE_HASH_SIZE);
    return true;
}

static struct buffer request_of(unsigned history, int64_t old, int64_t size, const char *origin,
                                const unsigned char *secret)
{
    struct buffer out = {.lid = TLOG_TEXT_MOST};
    struct merkle_proof proof = {.count = 0};
    struct tlog_checkpoint checkpoint = {.size = size};
    const struct merkle_tree tree = {(uint64_t)size, leaf_node, &history};
    snprintf(checkpoint.origin, sizeof checkpoint.origin, "%s", origin);
    cr_assert(merkle_root(&tree, checkpoint.root));
    if (old <= size)
        cr_assert(merkle_consistency(&tree, (uint64_t)old, &proof));
    tlog_request_add(&out, old, &proof);
    tlog_checkpoint_add(&out, &checkpoint, secret);
    return out;
}

static bool cosign(struct buffer request)
{
    buffer_clear(&cosigned);
    bool good = witness_cosign(&witness, request.bytes, request.size, 1700000000, &cosigned, error);
    cr_expect_eq(good, cosigned.size > 0);
    buffer_clear(&request);
    return good;
}

static bool shows(unsigned history, int64_t old, int64_t size)
{
    return cosign(request_of(history, old, size, ORIGIN, log_secret));
}

static int64_t known(void)
{
    int64_t size = -1;
    cr_assert(witness_known(&witness, &size, error), "%s", error);
    return size;
}

static void expect_refused(bool good, const char *why)
{
    cr_expect_not(good);
    cr_expect_not_null(strstr(error, why), "%s", error);
}

Test(witness, cosigns_a_log_that_goes_on)
{
    static const int64_t sizes[] = {0, 1, 7, 7, 8, 40};
    int64_t time_s = 0;
    for (unsigned i = 1; i < 6; i++) {
        cr_assert(shows(0, sizes[i - 1], sizes[i]), "%s", error);
        cr_expect_null(tlog_cosigned(cosigned.bytes, cosigned.size, witness.name,
                                     witness.secret_key + 32, &time_s));
        cr_expect_eq(time_s, 1700000000);
        cr_expect_eq(known(), sizes[i]);
    }
}

Test(witness, refuses_a_copy_that_was_rolled_back)
{
    cr_assert(shows(0, 0, 20));
    expect_refused(shows(0, 20, 12), "rolled back");
    expect_refused(shows(0, 0, 12), "rolled back");
    expect_refused(shows(0, 12, 19), "rolled back");
    cr_expect_eq(known(), 20);
    cr_assert(shows(0, 20, 21));
}

Test(witness, refuses_two_histories)
{
    cr_assert(shows(0, 0, 20));
    expect_refused(shows(1, 20, 20), "two histories");
    expect_refused(shows(1, 20, 30), "not proven");
    expect_refused(shows(1, 9, 30), "does not begin");
    expect_refused(shows(1, 0, 30), "does not begin");
    cr_expect_eq(known(), 20);
}

/* Two histories that begin alike, of random sizes: what one witness has cosigned of the first, it
 * does not cosign of the second; and a witness of each would hold two that do not fit. */
Test(witness, refuses_two_histories_wherever_they_part, .timeout = 36000)
{
    const char *wish = getenv("TACET_EDITS");
    unsigned tries = wish ? (unsigned)strtoul(wish, NULL, 10) : 60, found = 0;
    uint64_t random_state = 1;
    char command[100];
    for (unsigned i = 0; i < tries; i++) {
        int64_t at[2];
        snprintf(command, sizeof command, "rm -f %s/*", directory);
        cr_assert_eq(system(command), 0);
        for (int k = 0; k < 2; k++) {
            random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407u;
            at[k] = 10 + (int64_t)((random_state >> 33) % (MOST - 9));
        }
        cr_assert(shows(0, 0, at[0]), "%s", error);
        found += !shows(1, at[0] < at[1] ? at[0] : at[1], at[1]) && known() == at[0];
    }
    fprintf(stderr, "another history shown to a witness: %u of %u refused\n", found, tries);
    cr_expect_eq(found, tries);
}

/* Whether COMMAND, in the witness's directory, ends well. */
static bool finds(const char *command)
{
    char line[300];
    snprintf(line, sizeof line, "cd %s && %s", directory, command);
    return system(line) == 0;
}

/* A log that is rolled back afterwards does not hide that it had parted. */
Test(witness, keeps_each_refused_checkpoint_with_its_proof_and_what_it_had_cosigned)
{
    cr_assert(shows(0, 0, 20));
    cr_assert_not(shows(1, 20, 20));
    cr_assert_not(shows(1, 20, 30));
    cr_assert_not(shows(0, 20, 12));
    cr_assert_not(shows(0, 20, 12));
    cr_assert(shows(0, 20, 21));
    cr_assert_not(shows(0, 21, 12));
    cr_expect(finds("test $(ls *.refused | wc -l) = 4 && test $(ls *.cosigned | wc -l) = 4"));
    cr_expect(finds("grep -qx 20 *.20-*.cosigned && grep -qx 20 *.20-*.refused"));
    cr_expect(finds("grep -qx 20 *.30-*.cosigned && grep -qx 'old 20' *.30-*.refused"));
    cr_expect(finds("cat *.12-*.cosigned | grep -qx 20 && cat *.12-*.cosigned | grep -qx 21"));
}

Test(witness, says_when_it_keeps_no_more_of_what_it_refused)
{
    cr_assert(shows(0, 0, 20));
    expect_refused(shows(1, 20, 20), "two histories");
    cr_expect_null(strstr(error, "not kept"), "%s", error);
    cr_assert(finds("n=$(ls *.20-*.refused | cut -d. -f1); seq 2 1000 | "
                    "while read i; do echo $i >$n.$i-0.refused; done"));
    expect_refused(shows(1, 20, 20), "two histories");
    cr_expect_null(strstr(error, "not kept"), "it is there: %s", error);
    expect_refused(shows(1, 20, 30), "not proven");
    cr_expect_not_null(strstr(error, "this is not kept, because the directory has 1000 refused"),
                       "%s", error);
    cr_expect(finds("test $(ls *.refused | wc -l) = 1000 && cat *.20-*.refused | grep -qx 20"));
    cr_assert(shows(0, 20, 21), "%s", error);
}

Test(witness, refuses_another_key_and_another_origin)
{
    expect_refused(cosign(request_of(0, 0, 5, ORIGIN, witness.secret_key)), "key of another log");
    expect_refused(cosign(request_of(0, 0, 5, "b.example/log", log_secret)), "another origin");
    cr_expect_eq(known(), 0);
}

Test(witness, refuses_what_is_no_request)
{
    struct buffer request = request_of(0, 0, 5, ORIGIN, log_secret);
    struct buffer out = {.lid = TLOG_NOTE_MOST};
    for (size_t most = 0; most < request.size; most++)
        cr_expect_not(witness_cosign(&witness, request.bytes, most, 1, &out, error));
    for (size_t at = 0; at < request.size; at++) {
        request.bytes[at] ^= 1;
        cr_expect_not(witness_cosign(&witness, request.bytes, request.size, 1, &out, error),
                      "byte %zu", at);
        request.bytes[at] ^= 1;
    }
    const char *note = strstr(request.bytes, "\n\n") + 2; /* a checkpoint alone */
    size_t size = request.size - (size_t)(note - request.bytes);
    cr_expect_not(witness_cosign(&witness, note, size, 1, &out, error));
    cr_expect_not_null(strstr(error, "which GET /v1/ledger/proofs/consistency?old=SIZE gives"),
                       "%s", error);
    cr_expect_eq(out.size, 0);
    cr_expect_eq(known(), 0);
    buffer_clear(&request);
}

/* Beginning anew would cosign any history. */
Test(witness, does_not_begin_anew_when_what_it_knew_is_damaged)
{
    char command[200];
    cr_assert(shows(0, 0, 20));
    snprintf(command, sizeof command, "for f in %s/*; do echo x > $f; done", directory);
    cr_assert_eq(system(command), 0);
    cr_expect_not(shows(0, 0, 20));
    cr_expect_not(shows(0, 20, 21));
}

Test(witness, cosigns_nothing_that_it_cannot_remember)
{
    witness.directory = "/tmp/tacet-witness-none";
    expect_refused(shows(0, 0, 5), "cannot be written");
}

/* ---- a key that another one has followed */

/* Adds to KEYS, whose first one is that of the log, the key of the seed N, which follows it. */
static void add_next(struct proof_keys *keys, unsigned char n, unsigned char secret[64])
{
    static const char from[] = "2027-01-15T08:00:00.000Z";
    unsigned char seed[32] = {n};
    char text[SIGNING_TEXT_SIZE];
    struct proof_link *link = &keys->link[keys->count];
    crypto_sign_seed_keypair(keys->key[keys->count], secret, seed);
    signing_key_id(keys->key[0], link->follows);
    memcpy(link->from, from, sizeof from);
    size_t size = signing_key_text(keys->key[0], keys->key[keys->count++], from, text);
    crypto_sign_detached(link->signature, NULL, (unsigned char *)text, size, log_secret);
}

Test(witness, a_key_that_was_followed_signs_nothing_new)
{
    unsigned char next[64];
    cr_assert(shows(0, 0, 7));
    add_next(&witness.keys, 5, next);
    expect_refused(shows(0, 7, 9), "no signature of the newest key");
    expect_refused(shows(0, 7, 7), "no signature of the newest key");
    cr_expect_eq(known(), 7, "it had signed that before");
    cr_assert(cosign(request_of(0, 7, 9, ORIGIN, next)), "%s", error);
    cr_expect_eq(known(), 9);
}

Test(witness, remembers_which_key_has_followed)
{
    struct proof_keys first = witness.keys, other = witness.keys;
    struct buffer set = {.lid = TLOG_NOTE_MOST};
    unsigned char next[64], false_next[64];
    cr_assert(witness_keys_kept(&witness, error), "%s", error);
    cr_expect_eq(witness.keys.count, 1, "nothing is kept yet");
    add_next(&witness.keys, 5, next);
    cr_assert(cosign(request_of(0, 0, 9, ORIGIN, next)), "%s", error);
    witness.keys = first;
    cr_assert(witness_keys_kept(&witness, error), "%s", error);
    cr_assert_eq(witness.keys.count, 2);
    cr_assert(cosign(request_of(0, 9, 20, ORIGIN, next)), "%s", error);
    add_next(&other, 6, false_next);
    proof_keys_write(&other, &set);
    const char *why = proof_keys_follow(set.bytes, set.size, &witness.keys);
    cr_expect(why && strstr(why, "another successor of a key"), "%s", why);
    buffer_clear(&set);
    witness.keys = other;
    cr_expect_not(witness_keys_kept(&witness, error), "what is trusted parts from what is kept");
    cr_expect_not_null(strstr(error, "another successor of a key"), "%s", error);
}

#define OK   "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: "
#define END  "\r\n\r\n"
#define NONE "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

static void open_quietly(void)
{
    cr_redirect_stderr();
    open_witness();
}

/* The exit code of the command as a process, which keeps the directory until it ends. */
static int run_apart(int argc, char **argv)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        _exit(cli_witness(argc, argv));
    cr_assert(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Writes the keys that the witness trusts to PATH. */
static void write_keys(const char *path)
{
    char base64[60];
    sodium_bin2base64(base64, sizeof base64, witness.keys.key[0], 32,
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    FILE *set = fopen(path, "w");
    cr_assert_not_null(set);
    fprintf(set, "{\"keys\":[{\"crv\":\"Ed25519\",\"x\":\"%s\"}]}", base64);
    fclose(set);
}

Test(witness, an_output_that_cannot_be_replaced_leaves_no_draft, .init = open_quietly)
{
    char data[80], keys[100], from[100], out[100], command[300];
    struct buffer request = request_of(0, 0, 20, ORIGIN, log_secret);
    snprintf(data, sizeof data, "%s/data", directory);
    snprintf(keys, sizeof keys, "%s/keys", directory);
    snprintf(from, sizeof from, "%s/request", directory);
    snprintf(out, sizeof out, "%s/out", directory); /* a directory */
    write_keys(keys);
    FILE *file = fopen(from, "w");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(request.bytes, 1, request.size, file), request.size);
    fclose(file);
    cr_assert_eq(mkdir(out, 0700), 0);
    char *argv[] = {"--data", data, "--keys", keys, "--origin", ORIGIN, "--out", out, from, NULL};
    cr_expect_eq(run_apart(9, argv), CLI_FAILED);
    snprintf(command, sizeof command, "test -z \"$(ls -d %s/out?* %s/*/*.[0-9]* 2>&-)\"", directory,
             directory);
    cr_expect_eq(system(command), 0);
    buffer_clear(&request);
}

/* A log that is shorter than what was cosigned has no proof, but a checkpoint. What was cosigned
 * before stays where it is. */
Test(witness, a_shorter_log_leaves_its_checkpoint_and_the_last_good_file, .init = open_quietly)
{
    char data[80], keys[100], file[100], command[300];
    struct buffer request = request_of(0, 0, 20, ORIGIN, log_secret);
    struct buffer rolled = request_of(0, 0, 12, ORIGIN, log_secret);
    const char *note = strstr(rolled.bytes, ORIGIN);
    struct buffer answers[2] = {{.lid = 1 << 16}, {.lid = 1 << 16}};
    static const char set_again[] = OK "11" END "{\"keys\":[]}";
    (void)buffer_add_format(&answers[0], OK "%zu" END "%s", request.size, request.bytes);
    (void)buffer_add_format(&answers[1], OK "%zu" END "%s", strlen(note), note);
    struct fake_server *server = fake_server_start((const char *const[]){
        set_again, answers[0].bytes, set_again, NONE, answers[1].bytes, NULL});
    snprintf(data, sizeof data, "%s/data", directory);
    snprintf(keys, sizeof keys, "%s/keys", directory);
    snprintf(file, sizeof file, "%s/cosigned", directory);
    write_keys(keys);
    char *argv[] = {"--data",   data,   "--keys",   keys,
                    "--origin", ORIGIN, "--server", (char *)(uintptr_t)fake_server_base(server),
                    "--out",    file,   NULL};
    cr_expect_eq(run_apart(10, argv), CLI_DONE);
    cr_expect_eq(run_apart(10, argv), CLI_FAILED);
    cr_expect_eq(fake_server_stop(server), 5);
    snprintf(command, sizeof command, "grep -qx 20 %s && grep -qx 12 %s/*.refused", file, data);
    cr_expect_eq(system(command), 0);
    fake_server_free(server);
    for (int i = 0; i < 2; i++)
        buffer_clear(&answers[i]);
    buffer_clear(&request);
    buffer_clear(&rolled);
}
