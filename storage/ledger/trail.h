/* The audit trail: who changed what, when, from where and with which outcome. Each change through
 * the service is one row, which is appended in the transaction of the change. Teachers' answers and
 * agents' reports have no rows here: the ledger and the aggregation have them.
 *
 * A row is in the ledger's log (ledger_log.h) by a leaf "audit NUMBER HASH", the hash being
 * BLAKE2b-256 of the row's text. So the log shows that no row was changed, removed or put between,
 * and holds nothing of what rows say. Rows have identifiers and names of actions: no bodies, no
 * tokens, no names of experts. */
#ifndef TACET_STORAGE_LEDGER_TRAIL_H
#define TACET_STORAGE_LEDGER_TRAIL_H

#include "storage/db/table.h"
#include "storage/ledger/ledger.h"

#define TRAIL_ACCOUNT   "audit" /* of the leaves of rows */
#define TRAIL_TEXT_SIZE 768     /* bytes of a row's text with its NUL */
#define TRAIL_LETTERS   "0123456789abcdefghijklmnopqrstuvwxyz_" /* of resources and subjects */
#define TRAIL_UNCOVERED "uncovered" /* action: the dataset does not pay for what a job reveals */

struct trail_row {
    int64_t number; /* 1, 2, ... without gaps; trail_append sets it */
    int64_t time_ms;
    char actor[12];       /* "client", "operator" (a command on the server's machine), "service" */
    char client[ID_SIZE]; /* who asked; "" for the operator */
    char role[16];        /* of the client */
    int64_t token;        /* number of the client's token; 0: none */
    char action[96];      /* "POST /v1/datasets/{id}:seal", or the command's or service's own */
    char resource[ID_SIZE];
    char subject[72]; /* the second thing that it is about: a client, a role, ...; "" */
    int64_t status;   /* of HTTP */
    char outcome[40]; /* "ok", or the slug of a problem */
    int64_t count;    /* of the refusals that were alike; otherwise 1 */
    char address[48]; /* of the network, of the first of them; "" */
    char request[40]; /* its id, which the access log has too; "" */
};

/* Writes TIME_MS as rows have it: "2026-11-28T12:00:00.000Z". */
void trail_time(int64_t time_ms, char *out, size_t size);

/* Writes the text of ROW and gives its size: a JSON object of all members in their order. */
size_t trail_text(const struct trail_row *row, char out[TRAIL_TEXT_SIZE]);

/* BLAKE2b-256 of SIZE bytes that are a row's text. */
void trail_hash(const char *text, size_t size, unsigned char out[LEDGER_HASH_SIZE]);

/* Appends *ROW and its leaf in the open transaction, and sets its number. What is not printable in
 * its texts, or would need an escape, becomes a question mark. */
enum db_status trail_append(struct db *db, struct trail_row *row);

struct trail_filter {
    int64_t after;              /* the number before the first one */
    const char *client;         /* who asked; "": any */
    const char *resource;       /* also as the subject; "": any */
    int64_t since_ms, until_ms; /* of the time, without the second; 0: any */
    unsigned limit;
};

/* Shows the rows of FILTER in order, until EACH gives false. */
enum db_status trail_list(struct db *db, const struct trail_filter *filter,
                          bool (*each)(void *context, const struct trail_row *row), void *context);

struct ledger_report;

/* Adds to REPORT what is wrong with the rows or with their leaves. */
enum db_status trail_verify(struct db *db, struct ledger_report *report);

#endif
