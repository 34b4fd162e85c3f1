#include "tests/unit/storage/page_sums.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "storage/db/sqlite_pages.h"

static const unsigned char none[SQLITE_PAGES_SUM_BYTES];

/* Gives FILE at the sum of page NUMBER, counted from 0; false: there is no such page. */
static bool sum_of_page(FILE *file, long number, unsigned char sum[SQLITE_PAGES_SUM_BYTES])
{
    long at = (number + 1) * SQLITE_PAGES_BYTES - SQLITE_PAGES_SUM_BYTES;
    fseek(file, at, SEEK_SET);
    if (fread(sum, 1, SQLITE_PAGES_SUM_BYTES, file) != SQLITE_PAGES_SUM_BYTES)
        return false;
    fseek(file, at, SEEK_SET);
    return true;
}

void page_sums_remove(const char *path)
{
    unsigned char sum[SQLITE_PAGES_SUM_BYTES];
    FILE *file = fopen(path, "r+b");
    cr_assert_not_null(file);
    for (long i = 0; sum_of_page(file, i, sum); i++)
        cr_assert_eq(fwrite(none, 1, sizeof none, file), sizeof none);
    cr_assert_eq(fclose(file), 0);
}

void page_sums_count(const char *path, unsigned *out_with, unsigned *out_without)
{
    unsigned char sum[SQLITE_PAGES_SUM_BYTES];
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file);
    *out_with = *out_without = 0;
    for (long i = 0; sum_of_page(file, i, sum); i++)
        ++*(memcmp(sum, none, sizeof sum) != 0 ? out_with : out_without);
    cr_assert_eq(fclose(file), 0);
}
