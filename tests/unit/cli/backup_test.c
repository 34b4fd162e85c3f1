/* Backups of one service, one at a time. */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "cli/cli.h"

Test(backup, waits_for_no_other_one_and_says_so, .init = cr_redirect_stderr)
{
    char directory[] = "/tmp/tacet-backup-XXXXXX", path[80], database[80];
    char recipient[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    cr_assert_not_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/tacet.copy.lock", directory);
    int other = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    cr_assert_eq(flock(other, LOCK_EX), 0);
    snprintf(database, sizeof database, "%s/tacet.db", directory);
    cr_assert_geq(open(database, O_RDWR | O_CREAT | O_CLOEXEC, 0600), 0);
    char *argv[] = {"--data", directory, "--to", directory, "--recipient", recipient, NULL};
    cr_expect_eq(cli_backup(6, argv), CLI_FAILED);
    cr_expect_stderr_eq_str("tacet backup: another backup of this service runs\n");
    close(other);
    unlink(path);
    unlink(database);
    rmdir(directory);
}
