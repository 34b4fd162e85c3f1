#include "tests/unit/faults/faults.h"

#include <criterion/criterion.h>

const struct fault faults[] = {
    {"a call fails", DB_FAILED, false},
    {"all calls fail from then on", DB_FAILED, true},
    {"the disk is full once", DB_FULL, false},
    {"the disk stays full", DB_FULL, true},
    {"another writer is in the way", DB_RETRY, false},
};

const unsigned fault_count = sizeof faults / sizeof faults[0];

struct play *faults_open(void)
{
    static const struct secret someone = {.name = "someone",
                                          .steps = 10,
                                          .first = 0.02,
                                          .further = 0.03,
                                          .reward = 1,
                                          .weight = 0.3,
                                          .question = 0.01,
                                          .gradient = 0.5,
                                          .unprotected_pulse_ms = 1100,
                                          .public_epsilon = 1e6};
    static unsigned answered[256];
    return play_open(&someone, answered, fixture_open_failing);
}

void faults_close(struct play *play)
{
    transcript_free(play_close(play));
}

void faults_arm(const struct fault *fault, unsigned n)
{
    database_failure = fault->status;
    database_stays = fault->stays;
    database_failures = 0;
    database_calls_left = (int)n;
}

bool faults_end(void)
{
    database_calls_left = -1;
    return database_failures > 0;
}

static enum db_status read_count(void *context, const struct db_row *row)
{
    *(double *)context = db_row_real(row, 0);
    return DB_OK;
}

double faults_entries(struct play *play)
{
    double entries = -1;
    cr_assert_eq(db_run(fixture_db(play->f), "SELECT COUNT(*) FROM ledger_entries", NULL, 0,
                        read_count, &entries),
                 DB_OK);
    return entries;
}
