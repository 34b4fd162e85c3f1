/* The orders of tests/failing_disk.c, and what is left when it has done its worst. */
#include "tests/crash/disk.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A server that is to fail and does not would be waited for in vain. */
#define PATIENCE_S 180

void disk_put(struct disk *disk, struct server_process *server)
{
    alarm(PATIENCE_S);
    const char *program = server_program(), *slash = strrchr(program, '/');
    const char *options = getenv("ASAN_OPTIONS");
    /* A confined server opens no other folder. */
    cr_assert(mkdir(server->data, 0700) == 0 || errno == EEXIST, "%s", strerror(errno));
    snprintf(disk->orders, sizeof disk->orders, "%s/orders", server->data);
    snprintf(disk->lost, sizeof disk->lost, "%s.lost", disk->orders);
    snprintf(disk->library, sizeof disk->library, "%.*s/failing_disk.so",
             slash == NULL ? 1 : (int)(slash - program), slash == NULL ? "." : program);
    cr_assert_eq(access(disk->library, R_OK), 0, "%s is not built", disk->library);
    snprintf(disk->for_library, sizeof disk->for_library, "LD_PRELOAD=%s", disk->library);
    snprintf(disk->for_orders, sizeof disk->for_orders, "FAILING_DISK=%s", disk->orders);
    /* AddressSanitizer wants to be the first library, for which it has no need of these calls. */
    snprintf(disk->for_sanitizer, sizeof disk->for_sanitizer, "ASAN_OPTIONS=%s%s",
             options != NULL ? options : "", ":verify_asan_link_order=0");
    server->environment[0] = disk->for_library;
    server->environment[1] = disk->for_orders;
    server->environment[2] = disk->for_sanitizer;
}

void disk_take_away(struct server_process *server)
{
    server->environment[0] = NULL;
}

void disk_order(const struct disk *disk, const char *word)
{
    char path[128];
    snprintf(path, sizeof path, "%s.new", disk->orders);
    if (word == NULL) {
        cr_assert_eq(unlink(disk->orders), 0);
        return;
    }
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fprintf(file, "%s\n", word);
    cr_assert_eq(fclose(file), 0);
    cr_assert_eq(rename(path, disk->orders), 0, "%s", strerror(errno));
}

void disk_lose_unsynced(const struct disk *disk, const struct server_process *server)
{
    char log[128];
    size_t size = 0;
    snprintf(log, sizeof log, "%s/tacet.db-wal", server->data);
    char *offset = read_whole(disk->lost, &size);
    cr_assert_not_null(offset, "nothing was lost");
    off_t from = (off_t)strtoll(offset, NULL, 10);
    struct stat before;
    cr_assert_eq(stat(log, &before), 0);
    cr_assert_lt(from, before.st_size, "nothing was lost");
    cr_assert_eq(truncate(log, from), 0);
    free(offset);
}

void disk_expect_end_in_doubt(struct server_process *server)
{
    int code = server_end(server, 0);
    cr_expect_eq(code, 1, "exit code %d", code);
    cr_expect(server_log_has(server, "event=database-broken"), "it did not say why");
    cr_expect_not(server_log_has(server, "Sanitizer"), "a sanitizer spoke");
}
