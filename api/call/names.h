/* Names beside ids, for people. Who may see the thing may see its name: the caller decides that. */
#ifndef TACET_API_CALL_NAMES_H
#define TACET_API_CALL_NAMES_H

#include <jansson.h>

#include "storage/ledger/ledger.h"

struct call;

/* Writes into OUT what the dataset or teacher that ACCOUNT pays for is called: its id. An account
 * that was opened by :compose continues another one of the same dataset. */
enum db_status names_resource(struct db *db, const struct ledger_account *account,
                              char out[ID_SIZE]);

/* Adds MEMBER to JSON: the name of the client, dataset, policy, teacher (without one, its policy's)
 * or aggregation ID; null when it has none or is not there. */
enum db_status names_add(struct db *db, json_t *json, const char *member, const char *id);

/* The same where the caller may see the name only if SHOWN; else MEMBER is null, or the name of
 * an aggregation, or a teacher's own: whoever may see their ids may see what they are called. */
enum db_status names_show(struct db *db, json_t *json, const char *member, const char *id,
                          bool shown);

#endif
