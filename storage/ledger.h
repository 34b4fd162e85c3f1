/* The ledger: accounts with a limit, entries that are only ever added, holds that end once. Integers only; every
 * rounding goes against the spender. README.md numbers the invariants.
 *
 * Units are 1e-9 of epsilon (renyi_order 0: basic composition) or of Renyi divergence at the account's one order; delta
 * units are 1e-18. All functions that change something run inside the caller's transaction (db_transact). */
#ifndef TACET_STORAGE_LEDGER_H
#define TACET_STORAGE_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "storage/db.h"
#include "storage/id.h"

#define LEDGER_UNITS_PER_ONE 1000000000                       /* 1e9 */
#define LEDGER_DELTA_UNITS_PER_ONE INT64_C(1000000000000000000) /* 1e18 */
#define LEDGER_MAX_UNITS INT64_C(4000000000000000000)         /* sums of two stay within int64 */
#define LEDGER_HASH_SIZE 32
#define LEDGER_CHARGE_MAX 4

struct ledger_account {
    char id[ID_SIZE];       /* acc_... */
    char kind[16];          /* "dataset", "teacher", "client" */
    char resource[ID_SIZE]; /* ds_... or tch_... */
    char client[ID_SIZE];   /* of kind "client"; else "" */
    char owner[ID_SIZE];    /* the steward of the resource */
    char unit[16];          /* privacy unit: "expert", "observation" */
    double renyi_order;     /* 0: basic composition of epsilon and delta */
    double epsilon, delta;  /* the limit, as it was declared */
    int64_t limit_units, spent_units, held_units;
    int64_t limit_delta, spent_delta, held_delta; /* all 0 with a Renyi order: the conversion uses delta once */
    int64_t entries;
    unsigned char head[LEDGER_HASH_SIZE]; /* hash of the last entry */
    int64_t revision; /* grows with every change of the limit, for ETag and If-Match */
    int64_t created_ms;
};

struct ledger_entry {
    char account[ID_SIZE];
    int64_t sequence; /* 1, 2, ... within the account */
    int64_t time_ms;
    char kind[8];       /* "open", "limit", "debit", "hold", "settle" */
    int64_t units, delta_units;         /* change of what is spent; for open and limit: the new limit */
    int64_t held_units, held_delta;     /* change of what is held */
    char client[ID_SIZE];   /* who caused it */
    char resource[ID_SIZE]; /* the query, job or grant that it belongs to */
    char event[512];        /* what happened, JSON text of the caller's; opaque here */
    unsigned char previous_hash[LEDGER_HASH_SIZE], hash[LEDGER_HASH_SIZE];
};

enum ledger_verdict {
    LEDGER_OK,
    LEDGER_EXHAUSTED,   /* an account cannot pay */
    LEDGER_RESERVED,    /* it could, were it not for what running jobs hold */
    LEDGER_NO_ACCOUNT,
    LEDGER_NO_HOLD,     /* the hold does not exist or has ended */
    LEDGER_BELOW_SPENT, /* a limit cannot go below what is spent and held */
    LEDGER_BAD_AMOUNT,  /* negative, or too large to count */
};

/* ---- amounts */

/* A price in units: rounded up, where a number that is the double nearest to k units counts as exactly k. Negative or
 * not finite or too large: -1. */
int64_t ledger_price_units(double amount);
int64_t ledger_price_delta(double delta);
/* A limit in units: rounded down, with the same rule. */
int64_t ledger_limit_units(double amount);
int64_t ledger_limit_delta(double delta);

/* ---- accounts */

/* Opens ACCOUNT (id, kind, resource, client, owner, unit, order, epsilon, delta, limits, created_ms set; the rest is
 * filled in) and writes its first entry on behalf of BY. DB_NONE: (kind, resource, client) has an account already. */
enum db_status ledger_open_account(struct db *db, struct ledger_account *account, const char *by);
enum db_status ledger_find(struct db *db, const char *id, struct ledger_account *out);
/* CLIENT is "" but for kind "client". */
enum db_status ledger_find_for(struct db *db, const char *kind, const char *resource, const char *client,
                               struct ledger_account *out);
/* Accounts in order of id after AFTER ("" from the start). OWNER and CLIENT restrict when not NULL: accounts whose
 * resource OWNER owns, or that belong to CLIENT (either, when both are given). */
enum db_status ledger_list(struct db *db, const char *owner, const char *client, const char *after, unsigned limit,
                           struct ledger_account *out, unsigned *out_count);
/* Entries after sequence AFTER, in order. */
enum db_status ledger_entries(struct db *db, const char *account, int64_t after, unsigned limit,
                              struct ledger_entry *out, unsigned *out_count);
/* A new limit (units and delta units; the doubles are for display), recorded with WHY. */
enum db_status ledger_set_limit(struct db *db, const char *account, double epsilon, double delta, int64_t limit_units,
                                int64_t limit_delta, const char *by, const char *why_event, int64_t now_ms,
                                enum ledger_verdict *out_verdict);

/* ---- spending */

struct ledger_charge {
    unsigned count; /* of accounts, at most LEDGER_CHARGE_MAX */
    struct {
        char account[ID_SIZE];
        int64_t units, delta_units; /* >= 0 */
    } item[LEDGER_CHARGE_MAX];
    const char *client;   /* who */
    const char *resource; /* for what: the query or job */
    const char *event;    /* JSON text, at most 511 bytes */
    int64_t now_ms;
};

/* Filled when the verdict is EXHAUSTED or RESERVED: the accounts that cannot pay, as they are. */
struct ledger_violations {
    unsigned count;
    struct {
        struct ledger_account account;
        int64_t requested_units, requested_delta;
    } item[LEDGER_CHARGE_MAX];
};

/* Debits all accounts of CHARGE or none: with a verdict other than LEDGER_OK the status is DB_NONE and the caller's
 * transaction must be rolled back (db_transact does on DB_NONE). *out_accounts (NULL, or room for count) receives the
 * accounts as they are afterwards. */
enum db_status ledger_debit(struct db *db, const struct ledger_charge *charge, enum ledger_verdict *out_verdict,
                            struct ledger_violations *out_violations, struct ledger_account *out_accounts);

/* The same amounts set aside under the name HOLD (a job's id), until ledger_settle. */
enum db_status ledger_hold(struct db *db, const struct ledger_charge *charge, const char *hold,
                           enum ledger_verdict *out_verdict, struct ledger_violations *out_violations);

/* Ends HOLD: on each of its accounts at most what was held becomes spent (UNITS and DELTA_UNITS, cut to the held
 * amount), the rest is free again. A hold ends once: LEDGER_NO_HOLD and DB_NONE afterwards. */
enum db_status ledger_settle(struct db *db, const char *hold, int64_t units, int64_t delta_units, const char *by,
                             const char *event, int64_t now_ms, enum ledger_verdict *out_verdict);

/* ---- checking */

struct ledger_report {
    int64_t accounts, entries;
    int64_t faults;       /* 0: balances equal sums, chains hold, no limit was ever passed */
    char first_fault[160]; /* account, sequence and what is wrong */
};

/* Recomputes everything from the entries, in constant memory and from one snapshot. */
enum db_status ledger_verify(struct db *db, struct ledger_report *out);

#endif
