/* What a service does to its database, step by step from a seed, and what the database then holds.
 * Each step is one commit or none. */
#ifndef TACET_TESTS_UNIT_STORAGE_POWER_WORK_H
#define TACET_TESTS_UNIT_STORAGE_POWER_WORK_H

#include "storage/ledger/ledger.h"
#include "tests/unit/storage/power_disk.h"

#define POWER_DUMP_BYTES 32

struct power_work {
    bool not_durable;       /* a setting: as in db_settings */
    const char *after_open; /* likewise: SQL for each new connection; NULL: none */
    char folder[64], path[96];
    struct db_store *store; /* NULL: closed */
    struct db *db[2];       /* two connections that take turns */
    uint64_t random;        /* where chance stands */
    int64_t steps;          /* that were made */
    char accounts[6][ID_SIZE];
    unsigned account_count;
    int64_t answers, policies, jobs, open_hold; /* so many; the hold that is open, 0: none */
};

/* A new folder with nothing in it; the disk is that folder. Chance begins at SEED, also that of
 * libsodium. Kept of *WORK are its settings. */
void power_work_begin(struct power_work *work, uint64_t seed);

/* Opens or makes the database, as a start does. */
void power_work_open(struct power_work *work);
void power_work_close(struct power_work *work);

/* The next step. When it returns, the caller of a service would have its answer. */
void power_work_step(struct power_work *work);

/* A step that answers a few queries, each at a price, in one commit. */
void power_work_answer(struct power_work *work);

/* Closes, and removes the folder. */
void power_work_end(struct power_work *work);

/* Removes FOLDER and its files. */
void power_remove(const char *folder);

/* Hashes all rows of the tables whose names are LIKE (in SQL: "%" is all). DB_FAILED: they cannot
 * be read. */
enum db_status power_dump(struct db *db, const char *like, unsigned char out[POWER_DUMP_BYTES]);

#endif
