/* What the metrics tell of upkeep: the certificate's end, and the last backup. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/metrics.h"
#include "server/os/data_dir.h"

static char text[1 << 16];

static bool says(struct metrics *metrics, const char *line)
{
    cr_assert_gt(metrics_write(metrics, text, sizeof text), 0);
    return strstr(text, line);
}

Test(metrics, tell_the_last_backup_and_the_end_of_the_certificate_and_0_before_the_first_backup)
{
    char folder[] = "/tmp/tacet-metrics-XXXXXX", path[64];
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/" DATA_DIR_BACKUP_LOCK, folder);
    struct metrics *metrics = metrics_new();
    metrics_about(metrics, "1", folder, true);
    cr_expect(says(metrics, "\ntacet_last_backup_timestamp_seconds 0\n"));
    cr_expect_not(says(metrics, "tacet_tls"));

    int lock = open(path, O_RDWR | O_CREAT, 0600);
    cr_expect(says(metrics, "\ntacet_last_backup_timestamp_seconds 0\n"), "the first one failed");
    data_dir_note_backup(lock, 1795737600);
    metrics_note_certificate(metrics, 1900000000);
    cr_expect(says(metrics, "\ntacet_last_backup_timestamp_seconds 1795737600\n"));
    cr_expect(says(metrics, "\ntacet_tls_certificate_end_timestamp_seconds 1900000000\n"));
    data_dir_note_backup(lock, 99);
    cr_expect(says(metrics, "\ntacet_last_backup_timestamp_seconds 99\n"));

    metrics_free(metrics);
    metrics = metrics_new();
    metrics_about(metrics, "1", folder, false);
    cr_expect_not(says(metrics, "tacet_last_backup"), "the service is in PostgreSQL");

    close(lock);
    metrics_free(metrics);
    unlink(path);
    rmdir(folder);
}
