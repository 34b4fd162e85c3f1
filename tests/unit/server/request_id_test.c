/* Names of requests: their form, and that none comes twice. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "server/request_id.h"

enum { COUNT = 3 * REQUEST_ID_STOCK };

static int compare(const void *a, const void *b)
{
    return strcmp(a, b);
}

Test(request_id, names_have_their_form_and_differ)
{
    static struct request_ids ids;
    static char made[COUNT][REQUEST_ID_SIZE];
    unsigned seen[16] = {0};
    for (int i = 0; i < COUNT; i++) {
        memset(made[i], '!', sizeof made[i]);
        request_id_make(&ids, made[i]);
        cr_assert_eq(strlen(made[i]), 28);
        cr_assert_eq(strncmp(made[i], "req_", 4), 0);
        cr_assert_eq(strspn(made[i] + 4, "0123456789abcdef"), 24, "%s", made[i]);
        for (const char *c = made[i] + 4; *c != '\0'; c++)
            seen[*c >= 'a' ? *c - 'a' + 10 : *c - '0']++;
    }
    /* Each of 4608 digits is one of sixteen: that a kind is missing has a chance below 1e-127. */
    for (int d = 0; d < 16; d++)
        cr_expect_gt(seen[d], 0, "digit %x", (unsigned)d);
    qsort(made, COUNT, sizeof made[0], compare);
    for (int i = 1; i < COUNT; i++)
        cr_expect_str_neq(made[i - 1], made[i]);
}
