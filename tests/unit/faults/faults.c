#include "tests/unit/faults/faults.h"

#include <criterion/criterion.h>

#include "tests/unit/faults/memory_faults.h"
#include "tests/unit/noninterference/prices.h"

const struct fault faults[] = {
    {"a call fails", false, DB_FAILED, false},
    {"all calls fail from then on", false, DB_FAILED, true},
    {"the disk is full once", false, DB_FULL, false},
    {"the disk stays full", false, DB_FULL, true},
    {"another writer is in the way", false, DB_RETRY, false},
    {"memory is short once", true, DB_OK, false},
    {"memory stays short", true, DB_OK, true},
};

static bool memory_armed;

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
    prices_count(&memory_calls_left);
    return play_open(&someone, answered, fixture_open_failing);
}

void faults_close(struct play *play)
{
    transcript_free(play_close(play));
}

/* AddressSanitizer's, where there is one: what a process that ended had is no leak. */
void __lsan_disable(void) __attribute__((weak));
void __lsan_enable(void) __attribute__((weak));

void faults_arm(const struct fault *fault, unsigned n)
{
    if (fault->memory && __lsan_disable)
        __lsan_disable();
    database_failure = fault->status;
    database_stays = memory_stays = fault->stays;
    database_failures = memory_failures = 0;
    database_calls_left = fault->memory ? -1 : (int)n;
    memory_calls_left = fault->memory ? (int)n : -1;
    memory_armed = fault->memory;
}

bool faults_end(void)
{
    if (memory_armed && __lsan_enable)
        __lsan_enable();
    memory_armed = false;
    database_calls_left = memory_calls_left = -1;
    return database_failures + memory_failures > 0;
}

enum { NEVER = 1000000 };

void faults_watch(void)
{
    database_failures = memory_failures = 0;
    database_calls_left = memory_calls_left = NEVER;
}

void faults_watched(unsigned out[2])
{
    out[0] = (unsigned)(NEVER - database_calls_left);
    out[1] = (unsigned)(NEVER - memory_calls_left);
    (void)faults_end();
}

static void settings_keep(struct api_settings *settings)
{
    (void)settings;
}

void faults_restart(struct play *play)
{
    fixture_restart(play->f, settings_keep);
}

struct response *faults_ask(struct play *play, const struct ask *ask)
{
    if (setjmp(memory_process_end) == 0)
        return fixture_ask(play->f, ask);
    faults_restart(play);
    return NULL;
}

/* After some waits everything works again. */
static void wait_out(void *context, int64_t ms)
{
    enum { WAITS_MOST = 10 };
    unsigned *waits = context;
    fixture_advance(ms);
    if (++*waits >= WAITS_MOST)
        database_calls_left = memory_calls_left = -1;
}

void faults_turn(struct play *play)
{
    unsigned waits = 0;
    char note[256];
    const struct api_job_control control = {.worker = "w", .context = &waits, .wait = wait_out};
    if (setjmp(memory_process_end) == 0)
        (void)api_job_turn(fixture_app(play->f), fixture_db(play->f), &control, note);
    else
        faults_restart(play);
}

static enum db_status read_number(void *context, const struct db_row *row)
{
    *(double *)context = (double)db_row_integer(row, 0);
    return DB_OK;
}

static double ask_number(struct play *play, const char *sql)
{
    double number = -1;
    cr_assert_eq(db_run(fixture_db(play->f), sql, NULL, 0, read_number, &number), DB_OK);
    return number;
}

double faults_entries(struct play *play)
{
    return ask_number(play, "SELECT COUNT(*) FROM ledger_entries");
}

double faults_rows(struct play *play)
{
    return ask_number(play, "SELECT COUNT(*) FROM audit_trail");
}

double faults_spent(struct play *play)
{
    return ask_number(play, "SELECT SUM(spent_units + held_units) FROM ledger_accounts");
}
