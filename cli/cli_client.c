/* tacet client: makes a client, or a new token of one, in the database itself, so that the first
 * token needs no token. Works before the server runs and beside it. */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api/api.h"
#include "api/books/client_create.h"
#include "cli/cli.h"
#include "server/database.h"
#include "server/os/clock.h"
#include "server/os/data_dir.h"
#include "server/server.h"

#define FLAG_DATA                                                                                  \
    {                                                                                              \
        "data", AS_ANY_TEXT(data), "./data", "DIR", "data directory of the server",                \
            FLAG_ENVIRONMENT                                                                       \
    }
#define FLAG_DATABASE                                                                              \
    {                                                                                              \
        "database", AS_SECRET(database), NULL, "URL", "database of the server, as it has it",      \
            FLAG_ENVIRONMENT                                                                       \
    }
#define FLAG_EXPIRES                                                                               \
    {                                                                                              \
        "expires-days", AS_COUNT(days, 1, TOKEN_DAYS_MOST), NULL, "N",                             \
            "days until the token expires", 0                                                      \
    }

struct client_options {
    const char *config, *data, *marks, *role, *name, *client, *scopes;
    char database[FLAG_SECRET_SIZE];
    uint64_t days, overlap_s;
};

#define FLAG_OPTIONS struct client_options

static const struct flag CREATE_TABLE[] = {
    CLI_FLAG_CONFIG(config),
    FLAG_DATA,
    FLAG_DATABASE,
    {"role", AS_ANY_TEXT(role), NULL, "ROLE",
     "admin, steward, contributor, student, agent, auditor or monitor", FLAG_REQUIRED},
    {"name", AS_ANY_TEXT(name), NULL, "NAME", "a name for people to read", FLAG_REQUIRED},
    FLAG_EXPIRES,
    {"scopes", AS_TEXT(scopes), "read,write,spend", "LIST", "what the token may do", 0},
    {"marks", AS_ANY_TEXT(marks), "", "DIR",
     "directory of the server's marks; if they are of a lost service, no new one is made",
     FLAG_ENVIRONMENT},
};

static const struct flag ROTATE_TABLE[] = {
    CLI_FLAG_CONFIG(config),
    FLAG_DATA,
    FLAG_DATABASE,
    {"client", AS_ID(client), NULL, "ID", "the client, cli_...", FLAG_REQUIRED},
    {"overlap-seconds", AS_COUNT(overlap_s, 0, TOKEN_OVERLAP_MOST_S), "0", "N",
     "how long the older tokens go on to work", 0},
    FLAG_EXPIRES,
    {"scopes", AS_TEXT(scopes), NULL, "LIST",
     "what the token may do: read, write, spend; without it, what the newest token may", 0},
};

static const struct flags CREATE = {
    .program = "tacet client create",
    .usage =
        "usage: tacet client create [--data DIR] [--database URL] --role ROLE --name NAME "
        "[--expires-days N]\n"
        "                           [--scopes LIST]\n"
        "       tacet client rotate [--data DIR] --client ID [--overlap-seconds N]\n"
        "                           [--expires-days N] [--scopes LIST]\n\n"
        "Makes a client and prints its token, once, alone on standard output. Works whether\n"
        "or not the server is running. \"tacet client rotate --help\" shows the other command.\n"
        "\n",
    FLAG_TABLE(CREATE_TABLE),
    CLI_CONFIG_OF_SERVER,
    .notes = "On a directory without a database it makes an empty service, and says so on standard "
             "error.\n"
             "Listing and revoking clients are HTTP calls of an admin: GET /v1/clients, and\n"
             "DELETE /v1/clients/{id}.\n",
};

static const struct flags ROTATE = {
    .program = "tacet client rotate",
    .usage = "usage: tacet client rotate [--data DIR] --client ID [--overlap-seconds N]\n"
             "                           [--expires-days N] [--scopes LIST]\n\n"
             "Gives a client a new token and prints it, once, alone on standard output. The older\n"
             "ones end. Works whether or not the server is running.\n\n",
    FLAG_TABLE(ROTATE_TABLE),
    CLI_CONFIG_OF_SERVER,
    .notes = "Without --expires-days the new token does not expire.\n",
};

/* Reads "read,write" into *OUT. False: one is no scope. */
static bool read_scopes(const char *text, uint32_t *out)
{
    char name[8];
    *out = 0;
    for (;;) {
        size_t size = strcspn(text, ",");
        snprintf(name, sizeof name, "%.*s", (int)(size < sizeof name ? size : 0), text);
        unsigned scope = scope_find(name);
        *out |= scope;
        if (scope == 0 || text[size] == '\0')
            return scope != 0;
        text += size + 1;
    }
}

/* Makes what the options ask for; a role means a new client. NULL, or a sentence. */
static const char *client_token_make(const struct client_options *options, struct app *app,
                                     struct db *db, char token[TOKEN_SIZE])
{
    struct token_terms terms = {.days = (int64_t)options->days};
    if (options->scopes && !read_scopes(options->scopes, &terms.scopes))
        return "--scopes takes read, write and spend, separated by commas";
    if (options->role)
        return api_client_create(app, db, options->name, options->role, &terms, token);
    struct token_rotation rotation = {.client = options->client,
                                      .terms = terms,
                                      .replaced = SCOPE_ALL,
                                      .overlap_s = (int64_t)options->overlap_s};
    return api_client_rotate(app, db, &rotation, token);
}

/* False: ERROR holds a sentence. */
static bool change_client(const struct client_options *request, char token[TOKEN_SIZE], char *error,
                          size_t error_size)
{
    struct api_settings settings = {
        .now_ms = clock_now_ms, .cors_origins = "", .version = TACET_VERSION};
    struct database *database = NULL;
    struct app *app = NULL;
    bool created = false;
    const struct database_place place = {
        .directory = request->data, .url = request->database, .marks = request->marks};
    umask(077);
    enum data_dir_found found = database_find(&place, error, error_size);
    bool is_new = found == DATA_DIR_NEW;
    if (found == DATA_DIR_LOST || (!request->role && !database_is_there(&place, error, error_size)))
        return false;
    if (!data_dir_make(request->data, error, error_size) ||
        (is_new && !database_make(&place, error, error_size)) ||
        !data_dir_signing_seed(request->data, settings.signing_seed, error, error_size))
        return false;
    database = database_open_beside(&place, error, error_size);
    if (!database)
        goto cleanup;
    struct db *db = database_connect(database, error, error_size);
    if (!db)
        goto cleanup;
    app = api_open(&settings);
    if (!app) {
        snprintf(error, error_size, "the service cannot be set up");
        goto cleanup;
    }
    const char *why = client_token_make(request, app, db, token);
    created = !why;
    if (!created)
        snprintf(error, error_size, "%s", why);
    else if (is_new)
        fprintf(stderr, "tacet client create: %s is new: an empty service\n", request->data);
cleanup:
    sodium_memzero(settings.signing_seed, sizeof settings.signing_seed);
    if (app)
        api_close(app);
    database_close(database);
    return created;
}

int cli_client(int argc, char **argv)
{
    struct client_options options = {.role = NULL};
    struct flags_found found;
    bool creates = argc > 0 && strcmp(argv[0], "create") == 0;
    bool rotates = argc > 0 && strcmp(argv[0], "rotate") == 0;
    bool help = argc > 0 && (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0);
    if (!creates && !rotates && !help) {
        fprintf(stderr,
                "tacet client: its commands are \"create\" and \"rotate\"; --help shows them\n");
        return CLI_USAGE;
    }
    const struct flags *flags = rotates ? &ROTATE : &CREATE;
    int status = cli_read_flags(flags, argc - !help, argv + !help, &options, &found);
    if (status != CLI_GO_ON)
        return status;
    char token[TOKEN_SIZE] = "", error[CLI_ERROR_SIZE] = "";
    bool changed = change_client(&options, token, error, sizeof error);
    free(found.file);
    if (!changed)
        return cli_complain(flags, CLI_FAILED, "%s", error);
    printf("%s\n", token);
    sodium_memzero(token, sizeof token);
    return fflush(stdout) == 0 ? CLI_DONE : CLI_FAILED;
}
