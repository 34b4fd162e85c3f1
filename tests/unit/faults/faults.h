/* A whole service in which the n-th call of the database fails, or the n-th allocation of a size
 * that a user chooses, for every n. */
#ifndef TACET_TESTS_UNIT_FAULTS_FAULTS_H
#define TACET_TESTS_UNIT_FAULTS_FAULTS_H

#include "tests/unit/api/failing_database.h"
#include "tests/unit/noninterference/play.h"

/* What fails, and how. */
struct fault {
    const char *name;
    bool memory;           /* an allocation; else a call of the database */
    enum db_status status; /* of the call */
    bool stays;            /* every later one fails too */
};

extern const struct fault faults[];
extern const unsigned fault_count;

/* A service with people, data and teachers, in which nothing fails yet. */
struct play *faults_open(void);
void faults_close(struct play *play);

/* The N-th call or allocation from now on fails as FAULT says. */
void faults_arm(const struct fault *fault, unsigned n);

/* Nothing fails from now on. True: something has failed since faults_arm. */
bool faults_end(void);

/* Counts the calls and allocations from now on, of which none fails. */
void faults_watch(void);

/* Ends the count. OUT: of the database, and of allocations. */
void faults_watched(unsigned out[2]);

/* Asks while something may fail. NULL: the process ended, and the service was opened again. */
struct response *faults_ask(struct play *play, const struct ask *ask);

/* One turn of a worker, during which something may fail; it waits for the database and for memory,
 * and ends with the process. */
void faults_turn(struct play *play);

/* Another process on the same database: what was read before is read again. */
void faults_restart(struct play *play);

/* The number of entries in all ledgers. */
double faults_entries(struct play *play);

/* Rows of the audit trail. */
double faults_rows(struct play *play);

/* What all accounts have spent or hold, in units. */
double faults_spent(struct play *play);

#endif
