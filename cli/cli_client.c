/* tacet client create: makes a client in the database itself, so that the first token needs no
 * token. Works before the server runs and beside it. */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api/api.h"
#include "api/books/client_create.h"
#include "cli/cli.h"
#include "cli/cli_flags.h"
#include "server/data_dir.h"
#include "server/database.h"

static const char HELP[] =
    "usage: tacet client create [--data DIR] --role ROLE --name NAME\n\n"
    "Makes a client and prints its token, once, alone on standard output. Works before the\n"
    "server runs and beside it.\n\n"
    "  --data DIR   data directory of the server (default ./data)      TACET_DATA\n"
    "  --role ROLE  admin, steward, contributor, student, agent or auditor\n"
    "  --name NAME  a name for people to read\n\n"
    "On a directory without a database it makes an empty service, and says so on standard error.\n"
    "Listing and revoking clients are HTTP calls of an admin: GET /v1/clients, and\n"
    "DELETE /v1/clients/{id}.\n";

struct request {
    const char *data, *role, *name;
};

/* 0: read; otherwise an exit code, one line said. */
static int read_flags(int argc, char **argv, struct request *out)
{
    for (int i = 0; i < argc; i++) {
        const char **value = strcmp(argv[i], "--data") == 0   ? &out->data
                             : strcmp(argv[i], "--role") == 0 ? &out->role
                             : strcmp(argv[i], "--name") == 0 ? &out->name
                                                              : NULL;
        if (!value) {
            fprintf(stderr, "tacet client create: %s: no such flag; --help lists them\n", argv[i]);
            return 2;
        }
        if (!cli_value_follows(argc, argv, i)) {
            fprintf(stderr, "tacet client create: %s: a value must follow\n", argv[i]);
            return 2;
        }
        *value = argv[++i];
    }
    if (!out->role || !out->name) {
        fprintf(stderr, "tacet client create: %s is missing\n", !out->role ? "--role" : "--name");
        return 2;
    }
    return 0;
}

/* False: ERROR holds a sentence. */
static bool create(const struct request *request, char token[160], char *error, size_t error_size)
{
    struct api_settings settings = {
        .now_ms = cli_now_ms, .cors_origins = "", .version = TACET_VERSION};
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
    const char *why =
        !app ? "memory is short" : api_client_create(app, db, request->name, request->role, token);
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
    for (int i = 0; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(HELP, stdout);
            return 0;
        }
    if (argc < 1 || strcmp(argv[0], "create") != 0) {
        fprintf(stderr, "tacet client: the one thing it does is \"create\"; see --help\n");
        return 2;
    }
    const char *data = getenv("TACET_DATA");
    struct request request = {.data = data ? data : "./data"};
    int wrong = read_flags(argc - 1, argv + 1, &request);
    if (wrong != 0)
        return wrong;
    char token[160] = "";
    char error[512] = "";
    if (!create(&request, token, error, sizeof error)) {
        fprintf(stderr, "tacet client create: %s\n", error);
        return 1;
    }
    printf("%s\n", token);
    sodium_memzero(token, sizeof token);
    return fflush(stdout) == 0 ? 0 : 1;
}
