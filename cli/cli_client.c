/* tacet client create: makes a client in the database itself, so that the first token needs no
 * token. Works before the server runs and beside it. */
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "api/api.h"
#include "api/books/client_create.h"
#include "cli/cli.h"
#include "server/clock.h"
#include "server/data_dir.h"
#include "server/database.h"
#include "server/server.h"

struct client_options {
    const char *data, *role, *name;
};

#define FLAG_OPTIONS struct client_options

static const struct flag TABLE[] = {
    {"data", AS_ANY_TEXT(data), "./data", "DIR", "data directory of the server", FLAG_ENVIRONMENT},
    {"role", AS_ANY_TEXT(role), NULL, "ROLE",
     "admin, steward, contributor, student, agent or auditor", FLAG_REQUIRED},
    {"name", AS_ANY_TEXT(name), NULL, "NAME", "a name for people to read", FLAG_REQUIRED},
};

static const struct flags FLAGS = {
    .program = "tacet client create",
    .usage = "usage: tacet client create [--data DIR] --role ROLE --name NAME\n\nMakes a client "
             "and prints its token, once, alone on standard output. Works whether\nor not the "
             "server is running.\n\n",
    FLAG_TABLE(TABLE),
    .notes = "On a directory without a database it makes an empty service, and says so on standard "
             "error.\n"
             "Listing and revoking clients are HTTP calls of an admin: GET /v1/clients, and\n"
             "DELETE /v1/clients/{id}.\n",
};

/* False: ERROR holds a sentence. */
static bool create_client(const struct client_options *request, char token[160], char *error,
                          size_t error_size)
{
    struct api_settings settings = {
        .now_ms = clock_now_ms, .cors_origins = "", .version = TACET_VERSION};
    struct database *database = NULL;
    struct app *app = NULL;
    bool created = false;
    bool is_new = database_is_new(request->data);
    umask(077);
    if (!data_dir_make(request->data, error, error_size) ||
        (is_new && !data_dir_make_signing_seed(request->data, error, error_size)) ||
        !data_dir_signing_seed(request->data, settings.signing_seed, error, error_size))
        return false;
    database = database_open(request->data, error, error_size);
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
    const char *why = api_client_create(app, db, request->name, request->role, token);
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
    bool help = argc > 0 && (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0);
    if (!creates && !help) {
        fprintf(stderr, "tacet client: its one command is \"create\"; --help shows it\n");
        return CLI_USAGE;
    }
    int status = cli_read_flags(&FLAGS, argc - creates, argv + creates, &options, &found);
    if (status != CLI_GO_ON)
        return status;
    char token[160] = "", error[CLI_ERROR_SIZE] = "";
    if (!create_client(&options, token, error, sizeof error))
        return cli_complain(&FLAGS, CLI_FAILED, "%s", error);
    printf("%s\n", token);
    sodium_memzero(token, sizeof token);
    return fflush(stdout) == 0 ? CLI_DONE : CLI_FAILED;
}
