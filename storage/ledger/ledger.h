/* The ledger: accounts of privacy budget, what was spent from them, and what is held for jobs.
 *
 * An account has a limit, fixed in integer units; spending is one conditional change that either
 * fits or does not happen, together with an entry that is only ever added. Each entry carries the
 * hash of the one before it, and every balance is the sum of its entries' effects:
 * ledger_verify.h's auditor recomputes all of it. README.md numbers the invariants.
 *
 * Every function that writes may run inside the caller's transaction, so that a debit is atomic
 * with the answer that it pays for. They give DB_OK with a verdict: only LEDGER_OK changed
 * anything. Any other db_status: the transaction must be rolled back. */
#ifndef TACET_STORAGE_LEDGER_LEDGER_H
#define TACET_STORAGE_LEDGER_LEDGER_H

#include "storage/db/db.h"
#include "storage/db/id.h"
#include "storage/ledger/amounts.h"

#define LEDGER_HASH_SIZE  32
#define LEDGER_UNIT_SIZE  24
#define LEDGER_CHARGE_MAX 8 /* accounts in one charge */

/* ---- accounts */

enum ledger_kind {
    LEDGER_DATASET,
    LEDGER_TEACHER,
    LEDGER_CLIENT,
    LEDGER_SHARE /* a part of a teacher's or dataset's account that is set aside for one client: the
                    account holds as much under the share's id, and pays at its end what the share
                    has spent */
};

/* "dataset", "teacher", "client" or "share". */
const char *ledger_kind_name(enum ledger_kind kind);

struct ledger_account {
    char id[ID_SIZE]; /* acc_ */
    enum ledger_kind kind;
    char resource[ID_SIZE];      /* the dataset or teacher; of a share, a name of its own */
    char client[ID_SIZE];        /* whose budget it is, for LEDGER_CLIENT and _SHARE; else "" */
    char owner[ID_SIZE];         /* the steward of the resource */
    char unit[LEDGER_UNIT_SIZE]; /* of privacy: "expert", "observation" */
    double renyi_order;          /* 0: basic composition of epsilon; > 1: units are Renyi divergence
                                    at this order, fixed when the account opened */
    double epsilon, delta;       /* the budget as it was declared, for display */
    int64_t limit_units, spent_units, held_units;
    int64_t limit_delta, spent_delta, held_delta; /* of a Renyi account: what is set aside for
                                                     releases with a delta of their own */
    int64_t entries;                              /* their count; the last one's sequence */
    unsigned char head[LEDGER_HASH_SIZE];         /* hash of the last entry */
    int64_t created_ms;
};

/* What opens an account. Texts are borrowed. */
struct ledger_opening {
    enum ledger_kind kind;
    const char *resource, *client, *owner; /* client: NULL or "" unless LEDGER_CLIENT or _SHARE */
    const char *unit;
    double renyi_order, epsilon, delta;
    int64_t limit_units, limit_delta; /* 0..LEDGER_UNITS_MAX */
    const char *event;                /* opaque text for the first entry, e.g. JSON */
    int64_t now_ms;
};

/* Opens an account with its first entry; *OUT receives it. DB_NONE when one exists for that kind,
 * resource and client. */
enum db_status ledger_open_account(struct db *db, const struct ledger_opening *opening,
                                   struct ledger_account *out);

/* The account ID. DB_NONE: unknown. */
enum db_status ledger_find(struct db *db, const char *id, struct ledger_account *out);

/* The account for RESOURCE; CLIENT may be NULL for the kinds without one. DB_NONE: unknown. */
enum db_status ledger_find_for(struct db *db, enum ledger_kind kind, const char *resource,
                               const char *client, struct ledger_account *out);

typedef bool ledger_account_fn(void *context, const struct ledger_account *account);

/* Lists a PAGE of the accounts (listing.h) that are CLIENT's (NULL: of any). */
enum db_status ledger_list(struct db *db, const char *owner, const char *client,
                           const struct listing_page *page, ledger_account_fn *each, void *context);

typedef enum db_status ledger_each_fn(struct db *db, struct ledger_account *account, void *context);

/* Calls EACH, which may change it, for every account of OWNER, or of all owners for NULL. */
enum db_status ledger_each(struct db *db, const char *owner, ledger_each_fn *each, void *context);

/* ---- spending */

enum ledger_verdict {
    LEDGER_OK,
    LEDGER_EXHAUSTED,  /* at least one account cannot pay, holds or not */
    LEDGER_RESERVED,   /* all could pay, were it not for what is held for jobs */
    LEDGER_NO_ACCOUNT, /* at least one account does not exist */
    LEDGER_NO_HOLD,    /* no such hold, or it has ended */
    LEDGER_HOLD_TAKEN, /* a hold with this name exists, or existed */
    LEDGER_OVER_HOLD,  /* more than was held */
    LEDGER_TOO_LOW,    /* the new limit is below what is spent and held */
    LEDGER_STALE,      /* the limit was changed meanwhile */
};

struct ledger_price {
    const char *account;
    int64_t units, delta_units; /* 0..LEDGER_UNITS_MAX */
};

/* What is to be paid, by all accounts or by none. Accounts are distinct. Texts are borrowed. */
struct ledger_charge {
    struct ledger_price prices[LEDGER_CHARGE_MAX];
    unsigned count;
    const char *client;   /* who caused it; NULL of a settlement: who caused the hold */
    const char *resource; /* what for: the query or job */
    const char *event;    /* opaque text without control characters */
    int64_t now_ms;
};

/* One account's part: after the change (LEDGER_OK), else as it stands. */
struct ledger_part {
    struct ledger_account account;
    int64_t requested_units, requested_delta;
    bool violated; /* this account is why it was refused */
};

struct ledger_outcome {
    enum ledger_verdict verdict;
    unsigned count; /* parts filled, in the order of the prices; 0 for LEDGER_NO_ACCOUNT */
    struct ledger_part parts[LEDGER_CHARGE_MAX];
};

/* Spends at once: one entry "debit" per account. Must be inside a transaction. Verdicts: OK,
 * EXHAUSTED, RESERVED, NO_ACCOUNT. */
enum db_status ledger_debit(struct db *db, const struct ledger_charge *charge,
                            struct ledger_outcome *out);

/* Reserves charge->prices for the job charge->resource; the job's id becomes the hold's id. Must be
 * inside a transaction. Verdicts: OK, EXHAUSTED, RESERVED, NO_ACCOUNT, HOLD_TAKEN. */
enum db_status ledger_hold(struct db *db, const struct ledger_charge *charge,
                           struct ledger_outcome *out);

struct table;
extern const struct table ledger_holds_table; /* for digests.c */

/* What ACCOUNT, which *OUT borrows, holds under the open HOLD. DB_NONE: nothing. */
enum db_status ledger_held(struct db *db, const char *hold, const char *account,
                           struct ledger_price *out);

/* Ends the hold charge->resource: each named account pays its price, which is at most what it
 * holds; what remains, and the accounts not named, are free again. A hold ends once. Release only
 * what provably was not run. Must be inside a transaction. Verdicts: OK, NO_HOLD, OVER_HOLD,
 * NO_ACCOUNT (a price for an account that the hold does not have). Parts: all accounts of the hold,
 * requested_* being what each paid. */
enum db_status ledger_settle(struct db *db, const struct ledger_charge *charge,
                             struct ledger_outcome *out);

/* Ends the hold HOLD of a job that nobody can read any more: each of its accounts pays all that it
 * holds, under the event of the hold. DB_OK also where there is no open hold. */
enum db_status ledger_settle_whole(struct db *db, const char *hold, int64_t now_ms);

/* ---- limits (ledger_limit.c) */

/* The limits that an account has had. */
struct ledger_limits {
    int64_t revision;                        /* how many: 1 for an account as it was opened */
    double greatest_epsilon, greatest_delta; /* that ever stood; each for itself */
    double first_epsilon, first_delta;       /* with which it was opened */
    int64_t first_limit_delta;               /* the same in units */
};

/* Reads the limits that ACCOUNT has had, as declared. DB_NONE: it is unknown. */
enum db_status ledger_limits(struct db *db, const char *account, struct ledger_limits *out);

/* A new limit. Texts are borrowed. */
struct ledger_limit {
    const char *account;
    int64_t revision;      /* that it changes: ledger_limits; 0: whichever it is */
    double epsilon, delta; /* as declared */
    int64_t limit_units, limit_delta;
    const char *client; /* who changed it */
    const char *event;
    int64_t now_ms;
};

/* Changes the limit, up or down but never below spent + held, with an entry "limit". Verdicts: OK,
 * STALE, TOO_LOW, NO_ACCOUNT; *OUT (may be NULL) receives the account as it then stands. */
enum db_status ledger_set_limit(struct db *db, const struct ledger_limit *limit,
                                enum ledger_verdict *out_verdict, struct ledger_account *out);

/* Notes in every account of the project OWNER that CLIENT handed it over: an entry "handover" of
 * EVENT without amounts. Must be inside a transaction. */
enum db_status ledger_hand_over(struct db *db, const char *owner, const char *client,
                                const char *event, int64_t now_ms);

/* ---- entries */

enum ledger_entry_kind {
    LEDGER_ENTRY_OPEN,
    LEDGER_ENTRY_LIMIT,
    LEDGER_ENTRY_DEBIT,
    LEDGER_ENTRY_HOLD,
    LEDGER_ENTRY_SETTLE,
    LEDGER_ENTRY_FOLDED,   /* many debits (ledger_fold.h) */
    LEDGER_ENTRY_HANDOVER, /* of the account's project to another steward: it moves no balance */
    LEDGER_ENTRY_RESTORED  /* what may have been spent after the backup (ledger_restore.h) */
};

/* "open", "limit", "debit", "hold", "settle", "folded", "handover" or "restored". */
const char *ledger_entry_kind_name(enum ledger_entry_kind kind);

/* Finds the kind NAME of a ledger entry. False: there is none. */
bool ledger_entry_kind_find(const char *name, enum ledger_entry_kind *out);

/* One entry; the six effects are signed and add up to the account's balances. */
struct ledger_entry {
    const char *account; /* texts are borrowed, for the callback */
    int64_t sequence;    /* 1, 2, ... without gaps; of a fold, the last that it counts */
    int64_t time_ms;
    enum ledger_entry_kind kind;
    int64_t limit_units, spent_units, held_units;
    int64_t limit_delta, spent_delta, held_delta;
    double epsilon, delta; /* the declared budget, of "open" and "limit"; else 0 */
    const char *client;    /* "" for none */
    const char *resource;
    const char *event;
    unsigned char previous_hash[LEDGER_HASH_SIZE];
    unsigned char hash[LEDGER_HASH_SIZE];
};

/* Sets *OUT to whether ACCOUNT has paid for more than jobs: by an entry "debit" or "restored", or
 * for a share. */
enum db_status ledger_has_debits(struct db *db, const char *account, bool *out);

typedef bool ledger_entry_fn(void *context, const struct ledger_entry *entry);

/* Shows the entries of ACCOUNT from after SEQUENCE (0: the first), in order, at least LIMIT if
 * there are so many. A fold that counts SEQUENCE is shown too. */
enum db_status ledger_entries(struct db *db, const char *account, int64_t sequence, unsigned limit,
                              ledger_entry_fn *each, void *context);

#endif
