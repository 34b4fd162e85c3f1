/* tacet key: brings the signing key of a service to another server or worker of it. */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "server/os/data_dir.h"

#define SEED_SIZE  32
#define CHECK_SIZE 4
#define TEXT_BEGIN "tacet-key-1:"
#define TEXT_SIZE  (sizeof TEXT_BEGIN + 2 * (SEED_SIZE + CHECK_SIZE))
#define FILE_MOST  ((size_t)4096)

struct key_options {
    const char *data, *in;
};

#define FLAG_OPTIONS struct key_options

static const struct flag EXPORT_TABLE[] = {
    {"data", AS_ANY_TEXT(data), "./data", "DIR", "data directory of the server", FLAG_ENVIRONMENT},
};

static const struct flag IMPORT_TABLE[] = {
    {"data", AS_ANY_TEXT(data), "./data", "DIR", "data directory of the new server or worker",
     FLAG_ENVIRONMENT},
    {"in", AS_TEXT(in), "-", "FILE", "what export wrote; - is standard input", 0},
};

static const struct flags EXPORT = {
    .program = "tacet key export",
    .usage = "usage: tacet key export [--data DIR]\n"
             "       tacet key import [--data DIR] [--in FILE]\n\n"
             "Writes the signing key of a service as a line of text, for the other servers and\n"
             "workers of its database. Who has the line can sign certificates and open what is\n"
             "sealed: keep it as secret as the key.\n\n",
    FLAG_TABLE(EXPORT_TABLE),
};

static const struct flags IMPORT = {
    .program = "tacet key import",
    .usage = "usage: tacet key import [--data DIR] [--in FILE]\n\n"
             "Takes the line that \"tacet key export\" wrote. A directory that has another key\n"
             "keeps it.\n\n",
    FLAG_TABLE(IMPORT_TABLE),
};

/* The text of SEED: its bytes, and some of their hash against a line that was cut or mistyped. */
static void key_text_write(const unsigned char seed[SEED_SIZE], char out[TEXT_SIZE])
{
    unsigned char bytes[SEED_SIZE + CHECK_SIZE], hash[crypto_generichash_BYTES];
    crypto_generichash(hash, sizeof hash, seed, SEED_SIZE, NULL, 0);
    memcpy(bytes, seed, SEED_SIZE);
    memcpy(bytes + SEED_SIZE, hash, CHECK_SIZE);
    memcpy(out, TEXT_BEGIN, sizeof TEXT_BEGIN);
    sodium_bin2hex(out + sizeof TEXT_BEGIN - 1, TEXT_SIZE - sizeof TEXT_BEGIN + 1, bytes,
                   sizeof bytes);
    sodium_memzero(bytes, sizeof bytes);
    sodium_memzero(hash, sizeof hash);
}

static bool key_text_read(const char *text, unsigned char seed[SEED_SIZE])
{
    unsigned char bytes[SEED_SIZE + CHECK_SIZE] = {0};
    char again[TEXT_SIZE];
    size_t length = strcspn(text, "\r\n"), size = 0;
    bool good = length == TEXT_SIZE - 1 && text[length + strspn(text + length, "\r\n")] == '\0' &&
                sodium_hex2bin(bytes, sizeof bytes, text + sizeof TEXT_BEGIN - 1,
                               length - (sizeof TEXT_BEGIN - 1), NULL, &size, NULL) == 0 &&
                size == sizeof bytes;
    key_text_write(bytes, again);
    good = good && sodium_memcmp(again, text, length) == 0;
    memcpy(seed, bytes, SEED_SIZE);
    sodium_memzero(bytes, sizeof bytes);
    sodium_memzero(again, sizeof again);
    return good;
}

static bool key_export(const struct key_options *options, char error[CLI_ERROR_SIZE])
{
    unsigned char seed[SEED_SIZE];
    char text[TEXT_SIZE];
    if (!data_dir_signing_seed(options->data, seed, error, CLI_ERROR_SIZE))
        return false;
    key_text_write(seed, text);
    bool written = printf("%s\n", text) > 0 && fflush(stdout) == 0;
    sodium_memzero(seed, sizeof seed);
    sodium_memzero(text, sizeof text);
    if (!written)
        snprintf(error, CLI_ERROR_SIZE, "the key cannot be written");
    return written;
}

static bool key_import(const struct key_options *options, char error[CLI_ERROR_SIZE])
{
    unsigned char seed[SEED_SIZE];
    size_t size = 0;
    char *text = cli_read_file(options->in, FILE_MOST, &size, error);
    if (!text)
        return false;
    bool good = strlen(text) == size && key_text_read(text, seed);
    sodium_memzero(text, size);
    free(text);
    if (!good)
        snprintf(error, CLI_ERROR_SIZE, "%.400s: not a line that \"tacet key export\" wrote",
                 options->in);
    umask(077);
    good = good && data_dir_make(options->data, error, CLI_ERROR_SIZE) &&
           data_dir_take_signing_seed(options->data, seed, error, CLI_ERROR_SIZE);
    sodium_memzero(seed, sizeof seed);
    return good;
}

int cli_key(int argc, char **argv)
{
    struct key_options options = {.data = NULL};
    struct flags_found found;
    char error[CLI_ERROR_SIZE] = "";
    bool exports = argc > 0 && strcmp(argv[0], "export") == 0;
    bool imports = argc > 0 && strcmp(argv[0], "import") == 0;
    bool help = argc > 0 && (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0);
    if (!exports && !imports && !help) {
        fprintf(stderr,
                "tacet key: its commands are \"export\" and \"import\"; --help shows them\n");
        return CLI_USAGE;
    }
    const struct flags *flags = imports ? &IMPORT : &EXPORT;
    int status = cli_read_flags(flags, argc - !help, argv + !help, &options, &found);
    if (status != CLI_GO_ON)
        return status;
    bool good = imports ? key_import(&options, error) : key_export(&options, error);
    return good ? CLI_DONE : cli_complain(flags, CLI_FAILED, "%s", error);
}
