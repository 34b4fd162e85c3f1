/* The ledger's log over the API, and the texts of C2SP that it is served in. */
#include <criterion/criterion.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/call/app.h"
#include "api/call/tlog.h"
#include "storage/ledger/ledger_log.h"
#include "tests/unit/api/service.h"

#define ORIGIN "tacet.example.com/ledger"

static void with_origin(struct api_settings *settings)
{
    settings->log_origin = ORIGIN;
}

#define BEGUN 2 /* leaves: rows of the audit trail that say who was made */
#define EACH  2 /* leaves of a new account: its own, and that of a row of the audit trail */

static void open_service(void)
{
    f = fixture_open_with(with_origin);
    (void)fixture_token(f, "auditor");
    (void)fixture_token(f, "steward");
}

TestSuite(log, .init = open_service, .fini = service_close);

static struct response *get(const char *path)
{
    return fixture_get(f, "auditor", path);
}

static struct tlog_checkpoint read_checkpoint(const char *note, size_t size)
{
    struct tlog_checkpoint checkpoint;
    const char *why = tlog_checkpoint_read(note, size, fixture_app(f)->public_key, &checkpoint);
    cr_assert_null(why, "%s", why);
    cr_expect_str_eq(checkpoint.origin, ORIGIN);
    return checkpoint;
}

static struct tlog_checkpoint checkpoint_now(void)
{
    struct response *r = get("/v1/ledger/checkpoint");
    expect_status(r, 200);
    cr_expect_str_eq(r->content_type, "text/plain; charset=utf-8");
    return read_checkpoint(r->body, r->size);
}

static const char *new_account(void)
{
    const char *path = domain_path("/v1/datasets/%s", domain_dataset(f, "private"));
    struct response *r = fixture_get(f, "steward", path);
    expect_status(r, 200);
    return domain_path("%s", response_text(r, "/account"));
}

/* ---- the API */

Test(log, its_checkpoint_counts_what_accounts_did)
{
    cr_expect_eq(checkpoint_now().size, BEGUN);
    new_account();
    struct tlog_checkpoint one = checkpoint_now();
    cr_expect_eq(one.size, BEGUN + EACH);
    new_account();
    struct tlog_checkpoint two = checkpoint_now();
    cr_expect_eq(two.size, BEGUN + 2 * EACH);
    cr_expect_neq(memcmp(one.root, two.root, MERKLE_HASH_SIZE), 0);
    struct response *r = fixture_post(f, "auditor", "/v1/ledger:verify", NULL);
    char hex[65];
    cr_expect_eq(response_number(r, "/log/size"), BEGUN + 2 * EACH);
    cr_expect_str_eq(response_text(r, "/log/root"), sodium_bin2hex(hex, 65, two.root, 32));
}

Test(log, its_tiles_are_the_leaves_and_their_hashes)
{
    unsigned char hash[4][MERKLE_HASH_SIZE], root[MERKLE_HASH_SIZE], both[65] = {1};
    const char *account = new_account(), *at;
    struct response *r = get("/v1/ledger/tile/0/000.p/4");
    expect_status(r, 200);
    cr_assert_eq(r->size, sizeof hash);
    memcpy(hash, r->body, sizeof hash);
    for (unsigned i = 0; i < 2; i++) {
        memcpy(both + 1, hash[2 * i], sizeof both - 1);
        crypto_hash_sha256(root, both, sizeof both);
        memcpy(hash[i], root, sizeof root);
    }
    memcpy(both + 1, hash, sizeof both - 1);
    crypto_hash_sha256(root, both, sizeof both);
    cr_expect_arr_eq(root, checkpoint_now().root, sizeof root);
    memcpy(hash, r->body, sizeof hash);
    r = get("/v1/ledger/tile/entries/000.p/3");
    expect_status(r, 200);
    at = r->body;
    for (unsigned i = 0; i < 3; i++) {
        size_t size = (size_t)((unsigned char)at[0] << 8 | (unsigned char)at[1]);
        const char *name = i < BEGUN ? "audit " : account;
        cr_expect_eq(strncmp(at + 2, name, strlen(name)), 0);
        merkle_leaf(at + 2, size, root);
        cr_expect_arr_eq(root, hash[i], sizeof root);
        at += 2 + size;
    }
    cr_expect_eq(at, r->body + r->size);
    expect_status(get("/v1/ledger/tile/0/000.p%2F2"), 200);
}

#define ZEROS "x000/x000/x000/x000/"

Test(log, has_no_tile_that_is_named_in_another_way)
{
    static const char *const tiles[] = {
        "0/000",
        "0/000.p/7",
        "0/000.p/0",
        "0/000.p/256",
        "0/000.p/02",
        "0/001.p/1",
        "1/000.p/1",
        "63/000.p/1",
        "64/000.p/1",
        "00/000.p/2",
        "0/0.p/2",
        "0/x000/000.p/2",
        "0/x001/000.p/2",
        "0/000.p/2/",
        "0/000/.p/2",
        "entries/000",
        "entries/001.p/1",
        "-1/000.p/2",
        "0/000.p/",
        "0/000.q/2",
        "0/x999/x999/x999/x999/x999/x999/999.p/1",
        "0/x001",
        "0/x001/",
        "other/000.p/1",
        "0/" ZEROS ZEROS "x000/000.p/2", /* 10^27 is no number of a tile */
    };
    new_account();
    new_account();
    for (unsigned i = 0; i < sizeof tiles / sizeof *tiles; i++)
        expect_problem(get(domain_path("/v1/ledger/tile/%s", tiles[i])), "not-found");
}

Test(log, goes_on_from_every_size_that_it_had)
{
    struct tlog_checkpoint old[5];
    for (unsigned i = 0; i < 5; i++) {
        new_account();
        old[i] = checkpoint_now();
    }
    for (unsigned i = 0; i < 5; i++) {
        struct tlog_text text;
        struct response *r =
            get(domain_path("/v1/ledger/proofs/consistency?old=%lld", (long long)old[i].size));
        expect_status(r, 200);
        cr_assert(tlog_request_read(r->body, r->size, &text));
        struct tlog_checkpoint now = read_checkpoint(text.note, text.note_size);
        cr_expect_eq(text.number, old[i].size);
        cr_expect(merkle_consistency_holds((uint64_t)old[i].size, old[i].root, (uint64_t)now.size,
                                           now.root, &text.proof));
    }
    expect_status(get("/v1/ledger/proofs/consistency"), 200);
    expect_problem(get("/v1/ledger/proofs/consistency?old=13"), "not-found");
    expect_problem(get("/v1/ledger/proofs/consistency?old=-1"), "validation");
    expect_problem(get("/v1/ledger/proofs/consistency?old=01"), "validation");
    expect_problem(get("/v1/ledger/proofs/consistency?old=9999999999999999999"), "validation");
}

Test(log, proves_an_account_to_its_owner_and_auditors)
{
    const char *account = new_account();
    new_account();
    const char *path = domain_path("/v1/ledger/accounts/%s/proof", account);
    struct response *r = fixture_get(f, "steward", path);
    struct ledger_account row;
    struct tlog_text text;
    unsigned char hash[MERKLE_HASH_SIZE];
    expect_status(r, 200);
    cr_assert(tlog_proof_read(r->body, r->size, &text));
    struct tlog_checkpoint now = read_checkpoint(text.note, text.note_size);
    cr_assert_eq(ledger_find(fixture_db(f), account, &row), DB_OK);
    struct ledger_leaf leaf = {.sequence = row.entries};
    memcpy(leaf.account, row.id, ID_SIZE);
    memcpy(leaf.head, row.head, LEDGER_HASH_SIZE);
    ledger_leaf_hash(&leaf, hash);
    cr_expect(merkle_inclusion_holds(hash, (uint64_t)text.number, (uint64_t)now.size, &text.proof,
                                     now.root));
    expect_status(get(path), 200);
    expect_problem(fixture_get(f, "student", path), "forbidden");
    expect_problem(get("/v1/ledger/accounts/acc_0/proof"), "not-found");
}

Test(log, is_for_auditors_alone)
{
    static const char *const paths[] = {"checkpoint", "tile/0/000.p/1", "proofs/consistency"};
    for (unsigned i = 0; i < 3; i++) {
        expect_problem(fixture_get(f, "steward", domain_path("/v1/ledger/%s", paths[i])),
                       "forbidden");
        expect_problem(fixture_get(f, NULL, domain_path("/v1/ledger/%s", paths[i])),
                       "unauthorized");
    }
}

/* ---- texts */

struct keys {
    unsigned char public[32], secret[64];
};

static struct keys keys_of(unsigned char first)
{
    unsigned char seed[32] = {first};
    struct keys keys;
    cr_assert_geq(sodium_init(), 0);
    crypto_sign_seed_keypair(keys.public, keys.secret, seed);
    return keys;
}

/* The verifier key in the tests of golang.org/x/mod/sumdb/note. */
Test(tlog, the_id_of_a_key_is_the_published_one)
{
    static const char wanted[] =
        "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
    unsigned char typed[33];
    size_t got;
    struct buffer out = {.lid = 200};
    cr_assert_eq(sodium_base642bin(typed, 33, strrchr(wanted, '+') + 1, 44, NULL, &got, NULL,
                                   sodium_base64_VARIANT_ORIGINAL),
                 0);
    tlog_key_add(&out, "PeterNeumann", typed + 1, false);
    cr_expect_str_eq(out.bytes, wanted);
    buffer_clear(&out);
}

static struct buffer note_of(const struct keys *keys, int64_t size)
{
    struct buffer out = {.lid = TLOG_NOTE_MOST};
    struct tlog_checkpoint checkpoint = {.origin = "a.example/log", .size = size, .root = {7}};
    tlog_checkpoint_add(&out, &checkpoint, keys->secret);
    return out;
}

Test(tlog, a_checkpoint_is_read_as_it_was_written)
{
    struct keys keys = keys_of(1), other = keys_of(2);
    struct buffer note = note_of(&keys, 20852163);
    struct tlog_checkpoint read;
    static const char head[] = "a.example/log\n20852163\n"
                               "BwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n\n"
                               "\xe2\x80\x94 a.example/log ";
    cr_expect_eq(strncmp(note.bytes, head, sizeof head - 1), 0, "%s", note.bytes);
    cr_expect_null(tlog_checkpoint_read(note.bytes, note.size, keys.public, &read));
    cr_expect_eq(read.size, 20852163);
    cr_expect_eq(read.root[0], 7);
    cr_expect_not_null(tlog_checkpoint_read(note.bytes, note.size, other.public, &read));
    buffer_clear(&note);
}

/* Every bit, and every shorter text. */
Test(tlog, a_checkpoint_that_was_changed_is_refused)
{
    struct keys keys = keys_of(1);
    struct buffer note = note_of(&keys, 9);
    struct tlog_checkpoint read;
    for (size_t at = 0; at < note.size; at++) {
        for (int bit = 0; bit < 8; bit++) {
            note.bytes[at] ^= (char)(1 << bit);
            cr_expect_not_null(tlog_checkpoint_read(note.bytes, note.size, keys.public, &read),
                               "byte %zu, bit %d", at, bit);
            note.bytes[at] ^= (char)(1 << bit);
        }
        cr_expect_not_null(tlog_checkpoint_read(note.bytes, at, keys.public, &read));
    }
    buffer_clear(&note);
}

Test(tlog, signatures_of_others_are_passed_over)
{
    struct keys keys = keys_of(1), witness = keys_of(2);
    struct buffer note = note_of(&keys, 9), line = {.lid = 1000};
    struct tlog_checkpoint read;
    int64_t time_s = 0;
    tlog_cosignature_add(&line, note.bytes, note.size, "w.example/1", witness.secret, 1679315147);
    cr_assert(buffer_add(&note, line.bytes, line.size));
    cr_expect_null(tlog_checkpoint_read(note.bytes, note.size, keys.public, &read));
    cr_expect_null(tlog_cosigned(note.bytes, note.size, "w.example/1", witness.public, &time_s));
    cr_expect_eq(time_s, 1679315147);
    cr_expect(tlog_cosigned(note.bytes, note.size, "w.example/2", witness.public, &time_s));
    cr_expect(tlog_cosigned(note.bytes, note.size, "w.example/1", keys.public, &time_s));
    cr_assert(buffer_add_text(&note, "\xe2\x80\x94 a.example/log QUFB\nno signature\n"));
    cr_expect_null(tlog_checkpoint_read(note.bytes, note.size, keys.public, &read));
    buffer_clear(&line);
    buffer_clear(&note);
}

Test(tlog, a_text_that_is_written_in_another_way_is_refused)
{
    static const char *const texts[] = {
        "",
        "old 1",
        "old 1\n",
        "old 01\n\n",
        "old -1\n\n",
        "old 1\nQUFB\n\n",
        "OLD 1\n\n",
        "old 1\nBwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n",
        "old 1\nBwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n\n",
        "old 1\nBwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB=\n\n",
        "old 9999999999999999999\n\n",
    };
    struct tlog_text read;
    for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++)
        cr_expect_not(tlog_request_read(texts[i], strlen(texts[i]), &read), "%s", texts[i]);
    cr_expect(tlog_request_read("old 0\n\n", 7, &read));
    cr_expect(tlog_proof_read("c2sp.org/tlog-proof@v1\nindex 7\n\nrest", 36, &read));
    cr_expect_eq(read.number, 7);
    cr_expect_eq(read.note_size, 4);
}

Test(tlog, a_name_has_no_space_and_no_plus)
{
    char longest[TLOG_NAME_SIZE + 1];
    memset(longest, 'a', sizeof longest);
    longest[TLOG_NAME_SIZE] = '\0';
    cr_expect(tlog_name_good("a"));
    cr_expect(tlog_name_good(longest + 1));
    cr_expect_not(tlog_name_good(longest));
    cr_expect_not(tlog_name_good(""));
    cr_expect_not(tlog_name_good("a b"));
    cr_expect_not(tlog_name_good("a+b"));
    cr_expect_not(tlog_name_good("a\n"));
    cr_expect_not(tlog_name_good("\xc3\xa4"));
}
