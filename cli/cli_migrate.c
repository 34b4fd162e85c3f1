/* tacet migrate: moves a service from SQLite to PostgreSQL. */
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "server/database.h"
#include "storage/copy.h"

struct migrate_options {
    const char *from, *marks;
    char to[FLAG_SECRET_SIZE];
};

#define FLAG_OPTIONS struct migrate_options

static const struct flag TABLE[] = {
    {"from", AS_TEXT(from), NULL, "DIR", "data directory of the service; its server is stopped",
     FLAG_REQUIRED},
    {"marks", AS_ANY_TEXT(marks), "", "DIR",
     "its directory of marks, if it has one: from then on nothing can be restored beside them", 0},
    {"to", AS_SECRET(to), NULL, "URL",
     "postgresql://USER@HOST/NAME of an empty database; a password may be in PGPASSWORD or "
     "PGPASSFILE",
     0},
};

static const struct flags FLAGS = {
    .program = "tacet migrate",
    .usage = "usage: tacet migrate --from DIR --to postgresql://...\n\n"
             "Moves a service from SQLite to PostgreSQL, all of it or nothing, and reads it back.\n"
             "DIR keeps the keys and is from then on a directory of the PostgreSQL database. Its\n"
             "tacet.db is not opened any more: keep it as a backup, or remove it.\n\n",
    FLAG_TABLE(TABLE),
};

int cli_migrate(int argc, char **argv)
{
    struct migrate_options options = {.from = NULL};
    struct flags_found found;
    struct storage_copied moved = {0};
    char error[CLI_ERROR_SIZE] = "";
    int status = cli_read_flags(&FLAGS, argc, argv, &options, &found);
    if (status != CLI_GO_ON)
        return status;
    umask(077);
    bool good = database_move(options.from, options.marks, options.to, &moved, error, sizeof error);
    sodium_memzero(options.to, sizeof options.to);
    if (!good)
        return cli_complain(&FLAGS, CLI_FAILED, "%s", error);
    printf("moved and read back: %" PRId64 " rows of %" PRId64 " tables, among them %" PRId64
           " entries of the ledger and %" PRId64 " answers\n",
           moved.rows, moved.tables, moved.entries, moved.answers);
    return fflush(stdout) == 0 ? CLI_DONE : CLI_FAILED;
}
