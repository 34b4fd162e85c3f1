/* tacet witness: cosigns the log of a service, in a process and directory of its own. */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "cli/http_out.h"
#include "cli/proof/key_files.h"
#include "cli/proof/witness.h"
#include "memory/memory.h"
#include "server/os/clock.h"
#include "server/os/data_dir.h"

struct witness_options {
    const char *data, *keys, *newer, *origin, *name, *server, *ca_file, *out;
};

#define FLAG_OPTIONS struct witness_options

static const struct flag TABLE[] = {
    {"data", AS_ANY_TEXT(data), NULL, "DIR", "directory of the witness; made if it is missing",
     FLAG_REQUIRED},
    {"keys", AS_TEXT(keys), NULL, "FILE",
     "the service's /.well-known/jwks.json, fetched over a connection that you trust",
     FLAG_REQUIRED},
    KEY_FILES_FLAG_NEWER(newer),
    {"origin", AS_TEXT(origin), NULL, "NAME", "origin of the log: the checkpoint's first line",
     FLAG_REQUIRED},
    {"name", AS_TEXT(name), "tacet-witness", "NAME", "name of the witness in its cosignatures", 0},
    {"server", AS_ANY_TEXT(server), NULL, "URL",
     "the service; a token of an auditor is in TACET_TOKEN", FLAG_ENVIRONMENT},
    HTTP_OUT_FLAG_CA(ca_file),
    {"out", AS_TEXT(out), NULL, "FILE",
     "gets what was cosigned, and stays as it is when nothing was; otherwise standard output", 0},
};

static const struct flags FLAGS = {
    .program = "tacet witness",
    .usage =
        "usage: tacet witness --data DIR --keys FILE --origin NAME --server URL [--out FILE]\n"
        "       tacet witness --data DIR --keys FILE [--newer FILE] --origin NAME FILE\n\n"
        "Fetches the checkpoint of a service's ledger, checks that it goes on from the last one\n"
        "that this witness has cosigned, remembers it and writes it with the cosignature (C2SP\n"
        "tlog-cosignature). FILE is what GET /v1/ledger/proofs/consistency gives; - is standard\n"
        "input. Exit code 1: it was not cosigned, because the log was rolled back, has another\n"
        "history, or cannot be read.\n\n",
    .once = true,
    FLAG_TABLE(TABLE),
    .takes_arguments = true,
};

/* The log is shorter than the SIZE leaves that WITNESS knows: keeps its checkpoint as evidence. */
static void fetch_evidence(const struct witness *witness, struct http_out *out, int64_t size,
                           char error[CLI_ERROR_SIZE])
{
    struct http_out_answer answer;
    if (http_out_get(out, "/v1/ledger/checkpoint", &answer) == HTTP_OUT_OK)
        witness_refuse(witness, answer.body, answer.size, error);
    else
        snprintf(error, CLI_ERROR_SIZE,
                 "the log has fewer than the %lld leaves that this witness has cosigned: it was "
                 "rolled back; its checkpoint cannot be fetched: %.300s",
                 (long long)size, answer.problem.text);
}

/* Connects to the service of OPTIONS. NULL: ERROR says why. */
static struct http_out *connect_service(const struct witness_options *options,
                                        char error[CLI_ERROR_SIZE])
{
    struct http_out *out = NULL;
    const char *wrong =
        http_out_open_simple(options->server, getenv("TACET_TOKEN"), options->ca_file, &out);
    if (wrong)
        snprintf(error, CLI_ERROR_SIZE, "--server: %s", wrong);
    return wrong ? NULL : out;
}

/* Adds to the keys of WITNESS those that have followed them, as the service behind OUT says. */
static bool fetch_keys(struct witness *witness, struct http_out *out, char error[CLI_ERROR_SIZE])
{
    struct http_out_answer answer;
    if (http_out_get(out, "/.well-known/jwks.json", &answer) != HTTP_OUT_OK) {
        snprintf(error, CLI_ERROR_SIZE, "%.500s", answer.problem.text);
        return false;
    }
    const char *why = proof_keys_follow(answer.body, answer.size, &witness->keys);
    if (why)
        snprintf(error, CLI_ERROR_SIZE, "the service's key set: %s", why);
    return !why;
}

/* Reads the request that the service behind OUT has for WITNESS, which knows SIZE leaves. NULL:
 * ERROR says why. */
static char *fetch_request(const struct witness *witness, struct http_out *out, int64_t size,
                           size_t *out_size, char error[CLI_ERROR_SIZE])
{
    struct http_out_answer answer;
    char path[80], *text = NULL;
    snprintf(path, sizeof path, "/v1/ledger/proofs/consistency?old=%lld", (long long)size);
    enum http_out_status status = http_out_get(out, path, &answer);
    if (status == HTTP_OUT_OK) {
        text = memory_copy_text(answer.body);
        *out_size = answer.size;
    } else if (answer.http == 404 && size > 0) {
        fetch_evidence(witness, out, size, error);
    } else {
        snprintf(error, CLI_ERROR_SIZE, "%.500s", answer.problem.text);
    }
    return text;
}

/* Opens the directory and the keys of WITNESS. */
static bool open_witness(const struct witness_options *options, struct witness *witness,
                         int locks[2], char error[CLI_ERROR_SIZE])
{
    unsigned char seed[32], public_key[32];
    bool good = key_files_read(options->keys, NULL, &witness->keys, error) &&
                data_dir_make(options->data, error, CLI_ERROR_SIZE) &&
                data_dir_lock(options->data, locks, error, CLI_ERROR_SIZE) &&
                data_dir_make_signing_seed(options->data, error, CLI_ERROR_SIZE) &&
                data_dir_signing_seed(options->data, seed, error, CLI_ERROR_SIZE) &&
                witness_keys_kept(witness, error) &&
                key_files_newer(options->newer, &witness->keys, error);
    if (good)
        crypto_sign_seed_keypair(public_key, witness->secret_key, seed);
    sodium_memzero(seed, sizeof seed);
    return good;
}

static bool run_witness(const struct witness_options *options, const char *file,
                        char error[CLI_ERROR_SIZE])
{
    struct witness witness = {
        .directory = options->data, .name = options->name, .origin = options->origin};
    struct buffer out = {.lid = TLOG_NOTE_MOST}, key = {.lid = 1024};
    int64_t known = 0;
    int locks[2];
    size_t size = 0;
    char *request = NULL;
    struct http_out *server = NULL;
    bool good = open_witness(options, &witness, locks, error);
    if (good && !file)
        good = (server = connect_service(options, error)) && fetch_keys(&witness, server, error);
    good = good && witness_known(&witness, &known, error);
    if (good)
        request = file ? cli_read_file(file, TLOG_TEXT_MOST, &size, error)
                       : fetch_request(&witness, server, known, &size, error);
    good = request && witness_cosign(&witness, request, size, clock_now_ms() / 1000, &out, error);
    if (good) {
        tlog_key_add(&key, witness.name, witness.secret_key + 32, true);
        fprintf(stderr, "tacet witness: cosigned; it goes on from %lld leaves; key %s\n",
                (long long)known, key.failed ? "" : key.bytes);
        good = options->out
                   ? data_dir_write_whole(options->out, out.bytes, out.size, error, CLI_ERROR_SIZE)
                   : fwrite(out.bytes, 1, out.size, stdout) == out.size && fflush(stdout) == 0;
    }
    http_out_close(server);
    sodium_memzero(witness.secret_key, sizeof witness.secret_key);
    buffer_clear(&key);
    buffer_clear(&out);
    free(request);
    return good;
}

int cli_witness(int argc, char **argv)
{
    struct witness_options options = {.data = NULL};
    struct flags_found found;
    char error[CLI_ERROR_SIZE] = "it cannot be written";
    int status = cli_read_flags(&FLAGS, argc, argv, &options, &found);
    if (status != CLI_GO_ON)
        return status;
    if (found.arguments > 1 || (found.arguments == 0 && !options.server))
        return cli_complain(&FLAGS, CLI_USAGE, "takes --server URL or one FILE");
    if (!tlog_name_good(options.origin) || !tlog_name_good(options.name))
        return cli_complain(&FLAGS, CLI_USAGE, "--origin and --name have no spaces and no +");
    umask(077);
    if (run_witness(&options, found.arguments == 1 ? argv[0] : NULL, error))
        return CLI_DONE;
    return cli_complain(&FLAGS, CLI_FAILED, "%s", error);
}
