/* Backups of one service, one at a time. */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/backup/identity.h"
#include "cli/backup/vault.h"
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
    FILE *file = fopen(database, "we");
    cr_assert(file && fputs("x", file) >= 0);
    fclose(file);
    char *argv[] = {"--data", directory, "--to", directory, "--recipient", recipient, NULL};
    cr_expect_eq(cli_backup(6, argv), CLI_FAILED);
    cr_expect_stderr_eq_str("tacet backup: another backup of this service runs\n");
    close(other);
    unlink(path);
    unlink(database);
    rmdir(directory);
}

/* Nobody else could back up after root. */
Test(backup, by_root_leaves_a_lock_of_the_directorys_user, .init = cr_redirect_stderr)
{
    char directory[] = "/tmp/tacet-backup-XXXXXX", path[80], database[80];
    char recipient[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    struct stat lock;
    cr_assert_not_null(mkdtemp(directory));
    uid_t user = geteuid() == 0 ? 65534 : geteuid();
    cr_assert_eq(chown(directory, user, (gid_t)-1), 0);
    snprintf(database, sizeof database, "%s/tacet.db", directory);
    FILE *file = fopen(database, "we");
    cr_assert(file && fputs("x", file) >= 0 && fclose(file) == 0);
    char *argv[] = {"--data", directory, "--to", directory, "--recipient", recipient, NULL};
    cr_expect_eq(cli_backup(6, argv), CLI_FAILED);
    snprintf(path, sizeof path, "%s/tacet.copy.lock", directory);
    cr_assert_eq(stat(path, &lock), 0);
    cr_expect_eq(lock.st_uid, user);
    unlink(path);
    unlink(database);
    rmdir(directory);
}

/* The user of the directory could have root give it any file. */
Test(backup, follows_no_link_in_the_place_of_its_lock, .init = cr_redirect_stderr)
{
    char directory[] = "/tmp/tacet-backup-XXXXXX", other[] = "/tmp/tacet-other-XXXXXX";
    char path[80], database[80];
    char recipient[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    struct stat status;
    cr_assert_not_null(mkdtemp(directory));
    int file = mkstemp(other);
    uid_t user = geteuid() == 0 ? 65534 : geteuid();
    cr_assert(file >= 0 && chown(directory, user, (gid_t)-1) == 0);
    snprintf(database, sizeof database, "%s/tacet.db", directory);
    snprintf(path, sizeof path, "%s/tacet.copy.lock", directory);
    FILE *text = fopen(database, "we");
    cr_assert(text && fputs("x", text) >= 0 && fclose(text) == 0);
    char *argv[] = {"--data", directory, "--to", directory, "--recipient", recipient, NULL};
    for (unsigned hard = 0; hard < 2; hard++) {
        cr_assert_eq(hard ? link(other, path) : symlink(other, path), 0);
        cr_expect_eq(cli_backup(6, argv), CLI_FAILED);
        cr_assert_eq(fstat(file, &status), 0);
        cr_expect(status.st_uid == geteuid() && status.st_size == 0);
        cr_assert_eq(unlink(path), 0);
    }
    char said[1000] = "";
    fflush(stderr);
    FILE *err = cr_get_redirected_stderr();
    size_t size = fread(said, 1, sizeof said - 1, err);
    said[size] = '\0';
    cr_expect(strstr(said, "Too many levels of symbolic links"), "%s", said);
    cr_expect_null(strstr(said, "not a database"), "%s", said);
    close(file);
    unlink(other);
    unlink(database);
    rmdir(directory);
}

/* A secret key in the place of the recipient's would make backups that nobody can open. */
Test(backup, takes_no_secret_key_for_a_recipient, .init = cr_redirect_stderr)
{
    char directory[] = "/tmp/tacet-backup-XXXXXX", path[80], text[128] = "", error[CLI_ERROR_SIZE];
    char recipient[2 * VAULT_KEY_SIZE + 1];
    unsigned char secret[VAULT_KEY_SIZE], again[VAULT_KEY_SIZE];
    cr_assert_not_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/identity", directory);
    cr_assert(identity_make(path, recipient, error), "%s", error);
    cr_assert(identity_read(path, secret, error), "%s", error);
    FILE *file = fopen(path, "r");
    cr_assert(file && fgets(text, sizeof text, file) && fclose(file) == 0);
    text[strcspn(text, "\n")] = '\0';
    char *argv[] = {"--data", directory, "--to", directory, "--recipient", text, NULL};
    cr_expect_eq(cli_backup(6, argv), CLI_FAILED);
    cr_expect_stderr_eq_str("tacet backup: --recipient is 64 hexadecimal digits: those that "
                            "--make-identity has printed, not what is in its file\n");
    /* Files of earlier versions have the digits alone. */
    file = fopen(path, "w");
    cr_assert(file && fputs(strrchr(text, '-') + 1, file) >= 0 && fclose(file) == 0);
    cr_assert(identity_read(path, again, error), "%s", error);
    cr_expect_eq(memcmp(secret, again, sizeof secret), 0);
    unlink(path);
    rmdir(directory);
}

/* As when root backs up and the user of the service restores. */
Test(backup, that_another_user_made_is_refused_with_the_chown_that_mends_it)
{
    char directory[] = "/tmp/tacet-backup-XXXXXX", path[80], error[CLI_ERROR_SIZE] = "";
    char name[VAULT_NAME_SIZE], said[80];
    unsigned char identity[VAULT_KEY_SIZE] = {1}, recipient[VAULT_KEY_SIZE], seed[VAULT_KEY_SIZE];
    struct vault_counts counts;
    cr_assert_not_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/database", directory);
    FILE *file = fopen(path, "we");
    cr_assert(file && fputs("x", file) >= 0);
    fclose(file);
    cr_assert_eq(crypto_scalarmult_base(recipient, identity), 0);
    cr_assert(vault_add(directory, recipient, identity, path, 1, &counts, error, sizeof error));
    snprintf(path, sizeof path, "%s/backups", directory);
    cr_assert_eq(chmod(path, 0), 0);
    cr_assert_eq(chmod(directory, 0755), 0);
    bool root = geteuid() == 0;
    cr_assert(!root || seteuid(65534) == 0);
    cr_expect_not(
        vault_take(directory, NULL, identity, "/nowhere", seed, name, error, sizeof error));
    snprintf(said, sizeof said, "chown -R %u %s", geteuid(), directory);
    cr_assert(!root || seteuid(0) == 0);
    cr_expect_not_null(strstr(error, said), "%s", error);
    cr_expect_not_null(strstr(error, path), "%s", error);
    chmod(path, 0700);
}

/* As after a disk that failed while the chunks were written: sizes are right, and contents are not.
 */
Test(backup, that_did_not_end_has_its_chunks_written_anew)
{
    char directory[] = "/tmp/tacet-backup-XXXXXX", path[80], taken[80], note[80], line[200];
    char error[CLI_ERROR_SIZE] = "", name[VAULT_NAME_SIZE];
    unsigned char identity[VAULT_KEY_SIZE] = {1}, recipient[VAULT_KEY_SIZE];
    unsigned char seed[VAULT_KEY_SIZE] = {2};
    struct vault_counts counts;
    cr_assert_not_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/database", directory);
    snprintf(taken, sizeof taken, "%s/taken", directory);
    snprintf(note, sizeof note, "%s/unfinished", directory);
    FILE *file = fopen(path, "we");
    cr_assert(file && fputs("some rows", file) >= 0);
    fclose(file);
    cr_assert_eq(crypto_scalarmult_base(recipient, identity), 0);
    cr_assert(vault_add(directory, recipient, seed, path, 1, &counts, error, sizeof error));
    cr_expect_eq(access(note, F_OK), -1);
    snprintf(line, sizeof line,
             "find %s/chunks -type f -exec dd if=/dev/zero of={} bs=1 count=9 conv=notrunc "
             "status=none \\;",
             directory);
    cr_assert_eq(system(line), 0);
    cr_expect_not(vault_take(directory, NULL, identity, taken, seed, name, error, sizeof error));
    (void)unlink(taken);
    file = fopen(note, "we");
    cr_assert(file && fclose(file) == 0);
    cr_assert(vault_add(directory, recipient, seed, path, 2, &counts, error, sizeof error));
    cr_expect_eq(counts.written, 1);
    cr_expect(vault_take(directory, NULL, identity, taken, seed, name, error, sizeof error), "%s",
              error);
    snprintf(line, sizeof line, "rm -r %s", directory);
    cr_assert_eq(system(line), 0);
}
