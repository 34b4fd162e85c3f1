/* tacet export: writes what an auditor needs who has no access. Reads the database itself, beside a
 * running server or without one. */
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/api.h"
#include "api/proof/export.h"
#include "cli/cli.h"
#include "server/database.h"
#include "server/os/clock.h"
#include "server/os/data_dir.h"
#include "server/server.h"
#include "storage/recovery.h"

struct export_options {
    const char *data, *out, *log_origin;
    char database[FLAG_SECRET_SIZE];
};

#define FLAG_OPTIONS struct export_options

static const struct flag TABLE[] = {
    {"data", AS_ANY_TEXT(data), "./data", "DIR", "data directory of the server", FLAG_ENVIRONMENT},
    {"database", AS_SECRET(database), NULL, "URL", "database of the server, as it has it",
     FLAG_ENVIRONMENT},
    {"log-origin", AS_ANY_TEXT(log_origin), "", "NAME",
     "name of the ledger's log, as the server has it", FLAG_ENVIRONMENT},
    {"out", AS_TEXT(out), "-", "FILE", "where to write; - is standard output", 0},
};

static const struct flags FLAGS = {
    .program = "tacet export",
    .usage =
        "usage: tacet export [--data DIR] [--database URL] [--out FILE]\n\n"
        "Writes the public key, all certificates, the whole ledger and the audit trail (who did\n"
        "what, by id, and from which address) as lines of JSON, as they are at one moment,\n"
        "signed. \"tacet verify FILE\" checks them without access to the service. No raw\n"
        "data, weights or tokens are in it. Works whether or not the server is running.\n\n",
    .once = true,
    FLAG_TABLE(TABLE),
};

static bool write_export_bytes(void *context, const char *bytes, size_t size)
{
    return fwrite(bytes, 1, size, context) == size;
}

/* Writes the export of a directory that holds a service. False: ERROR holds a sentence. */
static bool export_service(const struct export_options *options, FILE *out,
                           char error[CLI_ERROR_SIZE])
{
    struct api_settings settings = {.now_ms = clock_now_ms,
                                    .cors_origins = "",
                                    .log_origin = options->log_origin,
                                    .version = TACET_VERSION};
    struct database *database = NULL;
    struct app *app = NULL;
    const char *why = NULL;
    bool good = false;
    const struct database_place place = {.directory = options->data, .url = options->database};
    if (!database_is_there(&place, error, CLI_ERROR_SIZE))
        return false;
    if (!data_dir_signing_seed(options->data, settings.signing_seed, error, CLI_ERROR_SIZE))
        goto cleanup;
    database = database_open_beside(&place, error, CLI_ERROR_SIZE);
    if (!database)
        goto cleanup;
    struct db *db = database_connect(database, error, CLI_ERROR_SIZE);
    if (!db)
        goto cleanup;
    struct recovery_life life;
    if (recovery_life(db, &life) != DB_OK) {
        snprintf(error, CLI_ERROR_SIZE, "%s", db_last_error(db));
        goto cleanup;
    }
    settings.life = life.number; /* the log's name has them */
    settings.life_id = life.id;
    app = api_open(&settings);
    why = app ? export_write(app, db, write_export_bytes, out) : "the service cannot be set up";
    good = !why;
    if (!good)
        snprintf(error, CLI_ERROR_SIZE, "%s", why);
cleanup:
    sodium_memzero(settings.signing_seed, sizeof settings.signing_seed);
    if (app)
        api_close(app);
    database_close(database);
    return good;
}

int cli_export(int argc, char **argv)
{
    struct export_options options = {.data = NULL, .database = ""};
    struct flags_found found;
    char error[CLI_ERROR_SIZE] = "";
    int status = cli_read_flags(&FLAGS, argc, argv, &options, &found);
    if (status != CLI_GO_ON)
        return status;
    if (options.log_origin[0] != '\0' && !api_log_origin_good(options.log_origin))
        return cli_complain(&FLAGS, CLI_USAGE, "--log-origin is no name of a log");
    umask(077);
    bool standard = strcmp(options.out, "-") == 0;
    FILE *out = standard ? stdout : fopen(options.out, "wx");
    if (!out)
        return cli_complain(&FLAGS, CLI_FAILED, "%s: %s", options.out, strerror(errno));
    bool good = export_service(&options, out, error);
    bool flushed = fflush(out) == 0 && (standard || (fsync(fileno(out)) == 0));
    if (!standard)
        flushed = fclose(out) == 0 && flushed;
    if (good && flushed)
        return CLI_DONE;
    if (!standard)
        (void)unlink(options.out); /* half an export is none */
    return cli_complain(&FLAGS, CLI_FAILED, "%s", good ? "it cannot be written" : error);
}
