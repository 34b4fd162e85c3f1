/* tacet key: brings the signing key of a service to another server or worker of it, and gives the
 * service a new one to sign with. */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "server/database.h"
#include "server/os/clock.h"
#include "server/os/data_dir.h"
#include "storage/signing_keys.h"

#define SEED_SIZE  32
#define CHECK_SIZE 4
#define TEXT_BEGIN "tacet-key-1:"
#define TEXT_SIZE  (sizeof TEXT_BEGIN + 2 * (SEED_SIZE + CHECK_SIZE))
#define FILE_MOST  ((size_t)4096)

struct key_options {
    const char *config, *data, *in;
    char database[FLAG_SECRET_SIZE];
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

static const struct flag ROTATE_TABLE[] = {
    CLI_FLAG_CONFIG(config),
    {"data", AS_ANY_TEXT(data), "./data", "DIR", "data directory of the server", FLAG_ENVIRONMENT},
    {"database", AS_SECRET(database), "", "URL", "database of the server, as it has it",
     FLAG_ENVIRONMENT},
};

static const struct flags EXPORT = {
    .program = "tacet key export",
    .usage = "usage: tacet key export [--data DIR]\n"
             "       tacet key import [--data DIR] [--in FILE]\n"
             "       tacet key rotate [--data DIR] [--database URL]\n\n"
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

static const struct flags ROTATE = {
    .program = "tacet key rotate",
    .usage = "usage: tacet key rotate [--data DIR] [--database URL]\n\n"
             "Makes a new key that signs certificates, receipts, checkpoints and exports from now\n"
             "on, on all servers of the database, while they run. The key before signs that this\n"
             "one follows it, so that who trusts that one can go on. signing.key stays as it is.\n"
             "Prints the id of the new key.\n\n",
    FLAG_TABLE(ROTATE_TABLE),
    CLI_CONFIG_OF_SERVER,
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

struct key_rotation {
    unsigned char seed[SEED_SIZE];
    struct signing_key made;
};

static enum db_status add_next_key(struct db *db, void *context)
{
    struct key_rotation *rotation = context;
    return signing_keys_add(db, rotation->seed, clock_now_ms(), &rotation->made);
}

/* Why DB has no new key, by STATUS. */
static const char *rotation_fault(struct db *db, enum db_status status)
{
    if (db_broken(db))
        return "nobody knows whether the key was stored: /.well-known/jwks.json says so";
    return status == DB_NONE ? "the service has had 256 keys, and takes no more"
                             : db_last_error(db);
}

static bool key_rotate(const struct key_options *options, char error[CLI_ERROR_SIZE])
{
    const struct database_place place = {.directory = options->data, .url = options->database};
    struct key_rotation rotation;
    char id[SIGNING_ID_SIZE];
    if (!database_is_there(&place, error, CLI_ERROR_SIZE))
        return false;
    struct database *database = database_open_beside(&place, error, CLI_ERROR_SIZE);
    struct db *db = database ? database_connect(database, error, CLI_ERROR_SIZE) : NULL;
    bool good = db && data_dir_signing_seed(options->data, rotation.seed, error, CLI_ERROR_SIZE);
    enum db_status status = good ? db_transact(db, add_next_key, &rotation) : DB_NONE;
    sodium_memzero(rotation.seed, sizeof rotation.seed);
    if (good && status != DB_OK)
        snprintf(error, CLI_ERROR_SIZE, "%.300s", rotation_fault(db, status));
    database_close(database);
    if (status != DB_OK)
        return false;
    signing_key_id(rotation.made.public_key, id);
    if (printf("%s\n", id) > 0 && fflush(stdout) == 0)
        return true;
    snprintf(error, CLI_ERROR_SIZE, "the new key is %s, and this cannot be written", id);
    return false;
}

static const struct key_command {
    const char *name;
    const struct flags *flags;
    bool (*run)(const struct key_options *options, char error[CLI_ERROR_SIZE]);
} KEY_COMMANDS[] = {
    {"export", &EXPORT, key_export},
    {"import", &IMPORT, key_import},
    {"rotate", &ROTATE, key_rotate},
};

int cli_key(int argc, char **argv)
{
    struct key_options options = {.data = NULL};
    struct flags_found found;
    char error[CLI_ERROR_SIZE] = "";
    bool help = argc > 0 && (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0);
    const struct key_command *command = help ? KEY_COMMANDS : NULL;
    for (size_t i = 0; argc > 0 && i < sizeof KEY_COMMANDS / sizeof *KEY_COMMANDS; i++)
        if (strcmp(argv[0], KEY_COMMANDS[i].name) == 0)
            command = &KEY_COMMANDS[i];
    if (!command) {
        fprintf(stderr, "tacet key: its commands are \"export\", \"import\" and \"rotate\"; --help "
                        "shows them\n");
        return CLI_USAGE;
    }
    int status = cli_read_flags(command->flags, argc - !help, argv + !help, &options, &found);
    if (status != CLI_GO_ON)
        return status;
    bool good = command->run(&options, error);
    free(found.file);
    return good ? CLI_DONE : cli_complain(command->flags, CLI_FAILED, "%s", error);
}
