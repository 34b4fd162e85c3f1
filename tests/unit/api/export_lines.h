/* Exports as lines that somebody edits and that the service's own key signs again, and what
 * scripts/verify.py says of them. */
#ifndef TACET_TESTS_UNIT_API_EXPORT_LINES_H
#define TACET_TESTS_UNIT_API_EXPORT_LINES_H

#include "storage/ledger/ledger.h"
#include "tests/unit/api/fixture.h"

#define EXPORT_LINES_MOST 512

struct export_lines {
    char *line[EXPORT_LINES_MOST]; /* allocated; without a newline */
    unsigned count;
};

struct export_lines export_lines_cut(const char *text);
void export_lines_clear(struct export_lines *lines);

/* The text of LINES with a new last line, which FIXTURE's key signs. The caller frees it. */
char *export_lines_sign(struct fixture *fixture, const struct export_lines *lines,
                        size_t *out_size);

/* The number of the first line that begins with TEXT; the test fails when there is none. */
unsigned export_lines_find(const struct export_lines *lines, const char *text);

/* The account number N, from 0 on, of which NAMED (NULL: any) is the kind. False: there is none. */
bool export_lines_account(const struct export_lines *lines, const char *named, unsigned n,
                          struct ledger_account *out);

/* Puts one fold where ACCOUNT's entries FIRST to LAST stood, and changes the account's balances
 * with it: it has spent as much as they have, and MORE. */
void export_lines_fold(struct export_lines *lines, const char *account, int64_t first, int64_t last,
                       int64_t more_units, int64_t more_delta);

/* Signs the certificate of line NUMBER again after CHANGE has changed it. */
void export_lines_certify(struct fixture *fixture, struct export_lines *lines, unsigned number,
                          void (*change)(json_t *certificate));

#define EXPORT_FOLDER "/tmp/tacet-export-XXXXXX" /* for mkdtemp */

/* Saves the export NUMBER of FOLDER, and EARLIER (NULL: none) beside it. */
void export_lines_save(const char *folder, unsigned number, const char *text, const char *earlier);

/* Fills FAULTY with what Python says of the first COUNT exports in FOLDER, which is removed. */
void export_lines_ask_python(const char *folder, unsigned count, bool faulty[]);

#endif
