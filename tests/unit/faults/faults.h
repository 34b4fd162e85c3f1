/* A whole service whose database fails at its n-th call, for every n. */
#ifndef TACET_TESTS_UNIT_FAULTS_FAULTS_H
#define TACET_TESTS_UNIT_FAULTS_FAULTS_H

#include "tests/unit/api/failing_database.h"
#include "tests/unit/noninterference/play.h"

/* How the database fails. */
struct fault {
    const char *name;
    enum db_status status;
    bool stays; /* every later call fails too */
};

extern const struct fault faults[];
extern const unsigned fault_count;

/* A service with people, data and teachers, in which nothing fails yet. */
struct play *faults_open(void);
void faults_close(struct play *play);

/* The N-th call of the database from now on fails as FAULT says. */
void faults_arm(const struct fault *fault, unsigned n);

/* Nothing fails from now on. True: something has failed since faults_arm. */
bool faults_end(void);

/* The number of entries in all ledgers. */
double faults_entries(struct play *play);

#endif
