/* Exports of a service in memory, and what tacet verify says of them. */
#ifndef TACET_TESTS_UNIT_API_EXPORT_SCENE_H
#define TACET_TESTS_UNIT_API_EXPORT_SCENE_H

#include "api/proof/verify.h"
#include "memory/buffer.h"
#include "tests/unit/api/fixture.h"

/* The export of the service as it stands, with a NUL behind it. The caller frees it. */
char *export_scene_take(struct fixture *fixture, size_t *out_size);

/* The same of another database than the fixture's. */
char *export_scene_take_of(struct fixture *fixture, struct db *db, size_t *out_size);

/* Verifies SIZE bytes of TEXT; EARLIER (NULL: none) is an export of before, which is whole. */
void export_scene_verify(const char *text, size_t size, const char *earlier,
                         struct verify_report *out);

/* The same for somebody who trusts KEYS. */
void export_scene_verify_by(const char *text, size_t size, const char *earlier,
                            const struct proof_keys *keys, struct verify_report *out);

/* Verifies the NUL-terminated TEXT of FIXTURE, which has to have the row of RECEIPT, an erasure's.
 */
void export_scene_receipt(struct fixture *fixture, const char *text, const char *receipt,
                          struct verify_report *out);

/* The export of the LINES lines in TEXT, which it takes, with a last line that the service's own
 * key signed. The caller frees it. */
char *export_scene_sign(struct fixture *fixture, struct buffer *text, unsigned lines,
                        size_t *out_size);

/* Asserts that an export of the service as it stands holds. */
void export_scene_expect_good(struct fixture *fixture);

#endif
