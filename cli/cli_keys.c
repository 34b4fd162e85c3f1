/* tacet keys: gives the keys of private data another master key, beside a running server or without
 * one. */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "server/database.h"
#include "server/keys.h"
#include "server/os/clock.h"
#include "storage/db/db.h"
#include "storage/keys/keyring.h"
#include "storage/ledger/trail.h"

struct keys_options {
    const char *config, *data, *keys_dir, *key_file, *key_command, *new_key_file, *new_key_command;
    char key[FLAG_SECRET_SIZE], database[FLAG_SECRET_SIZE];
};

#define FLAG_OPTIONS struct keys_options

static const struct flag TABLE[] = {
    CLI_FLAG_CONFIG(config),
    {"data", AS_ANY_TEXT(data), "./data", "DIR", "data directory of the server", FLAG_ENVIRONMENT},
    {"database", AS_SECRET(database), "", "URL",
     "postgresql://... of the server; its audit trail notes the change", FLAG_ENVIRONMENT},
    {"keys-dir", AS_ANY_TEXT(keys_dir), "", "DIR",
     "directory of the keys, by default \"keys\" in the data directory", FLAG_ENVIRONMENT},
    {"key", AS_SECRET(key), NULL, "KEY", "the present master key; better in TACET_KEY",
     FLAG_ENVIRONMENT | FLAG_PRIVATE},
    {"key-file", AS_ANY_TEXT(key_file), "", "FILE", "file with it", FLAG_ENVIRONMENT},
    {"key-command", AS_ANY_TEXT(key_command), "", "COMMAND", "command that prints it",
     FLAG_ENVIRONMENT},
    {"new-key-file", AS_ANY_TEXT(new_key_file), "", "FILE", "file with the new master key", 0},
    {"new-key-command", AS_ANY_TEXT(new_key_command), "", "COMMAND",
     "command that prints the new master key", 0},
};

static const struct flags FLAGS = {
    .program = "tacet keys rotate",
    .usage = "usage: tacet keys rotate [--data DIR] [--key-file FILE] [--new-key-file FILE]\n\n"
             "Encrypts the keys of private data under a new master key. A server that runs goes\n"
             "on, and its next start needs the new one. A key that is not given is the one that\n"
             "is derived from signing.key.\n\n",
    FLAG_TABLE(TABLE),
    CLI_CONFIG_OF_SERVER,
};

struct rotation {
    const char *path;
    unsigned char before[KEYRING_KEY], after[KEYRING_KEY];
    char *error; /* CLI_ERROR_SIZE */
    bool done;   /* not again when the transaction is */
};

/* In the transaction of its row in the audit trail. */
static enum db_status rotate_noted(struct db *db, void *context)
{
    struct rotation *r = context;
    struct trail_row row = {.time_ms = clock_now_ms(),
                            .actor = "operator",
                            .action = "tacet keys rotate",
                            .outcome = "ok",
                            .count = 1};
    enum db_status status = trail_append(db, &row);
    if (status == DB_OK && !r->done)
        r->done = keyring_rotate(r->path, r->before, r->after, r->error, CLI_ERROR_SIZE);
    return status == DB_OK && !r->done ? DB_NONE : status;
}

/* False: R->error holds a sentence. */
static bool rotate_in(const struct database_place *place, struct rotation *r)
{
    struct database *database = database_open_beside(place, r->error, CLI_ERROR_SIZE);
    struct db *db = database ? database_connect(database, r->error, CLI_ERROR_SIZE) : NULL;
    enum db_status status = db ? db_transact(db, rotate_noted, r) : DB_NONE;
    if (status != DB_OK && status != DB_NONE)
        snprintf(r->error, CLI_ERROR_SIZE, "%s, and the audit trail cannot note it: %.200s",
                 r->done ? "the keys have the new master key" : "nothing was changed",
                 db_last_error(db));
    database_close(database);
    return status == DB_OK;
}

static bool rotate_keys(struct keys_options *options, char error[CLI_ERROR_SIZE])
{
    const struct keys_source from = {options->key, options->key_file, options->key_command, false};
    const struct keys_source to = {NULL, options->new_key_file, options->new_key_command, true};
    const struct database_place place = {.directory = options->data, .url = options->database};
    char path[4096];
    struct rotation r = {.path = path, .error = error};
    bool done =
        database_is_there(&place, error, CLI_ERROR_SIZE) &&
        keys_directory(options->data, options->keys_dir, path, sizeof path, error, CLI_ERROR_SIZE);
    if (done && !keyring_exists(path)) {
        snprintf(error, CLI_ERROR_SIZE,
                 "%.300s has no keys: give --keys-dir as the server has it, or start the service "
                 "once",
                 path);
        done = false;
    }
    done = done && keys_master(options->data, &from, r.before, error, CLI_ERROR_SIZE) &&
           keys_master(options->data, &to, r.after, error, CLI_ERROR_SIZE) && rotate_in(&place, &r);
    sodium_memzero(&r, sizeof r);
    return done;
}

int cli_keys(int argc, char **argv)
{
    struct keys_options options = {.data = NULL};
    struct flags_found found;
    char error[CLI_ERROR_SIZE] = "the name of the data directory is too long";
    bool help = argc > 0 && (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0);
    if (!help && (argc == 0 || strcmp(argv[0], "rotate") != 0)) {
        fprintf(stderr, "tacet keys: its command is \"rotate\"; --help shows it\n");
        return CLI_USAGE;
    }
    int status = cli_read_flags(&FLAGS, argc - !help, argv + !help, &options, &found);
    if (status != CLI_GO_ON)
        return status;
    bool rotated = rotate_keys(&options, error);
    free(found.file);
    if (!rotated)
        return cli_complain(&FLAGS, CLI_FAILED, "%s", error);
    if (options.new_key_file[0] != '\0')
        printf("done: the next start needs --key-file %s", options.new_key_file);
    else if (options.new_key_command[0] != '\0')
        printf("done: the next start needs --key-command with the command of --new-key-command");
    else
        printf("done: the next start needs no master key, which is derived from signing.key again");
    printf("; copy the directory of keys anew, because the earlier copy needs the earlier key\n");
    return fflush(stdout) == 0 ? CLI_DONE : CLI_FAILED;
}
