/* Answers of the versions that kept them in blocks. */
#ifndef TACET_STORAGE_ANSWERS_ANSWERS_UPGRADE_H
#define TACET_STORAGE_ANSWERS_ANSWERS_UPGRADE_H

#include "storage/db/db.h"

/* Copies the answers of answer_blocks (schema version 11) into rows of answers. Not DB_OK: ERROR
 * says what cannot be read. */
enum db_status answers_upgrade(struct db *db, char error[DB_ERROR_SIZE]);

#endif
