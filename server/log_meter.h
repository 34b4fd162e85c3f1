/* How many log lines of one kind a second may bring: a flood of refusals must not fill the disk.
 * Windows of one second, counted from the first line in each; no lock, so one thread's own. */
#ifndef TACET_SERVER_LOG_METER_H
#define TACET_SERVER_LOG_METER_H

#include <stdbool.h>
#include <stdint.h>

#define LOG_METER_LINES 50 /* in one second, at most */

/* All zero is ready to use. */
struct log_meter {
    int64_t begun_us; /* of the window, on the caller's monotonic clock */
    unsigned written; /* lines of the window; 0: there is none */
    uint64_t left_out;
};

/* Ends a window that is a second old by NOW_US. Gives how many lines it left out, which the caller
 * then says in one line of its own; 0: nothing to be said. To be called at every occasion. */
uint64_t log_meter_turn(struct log_meter *meter, int64_t now_us);

/* True: a line may be written now. False: it is counted as left out. */
bool log_meter_admit(struct log_meter *meter, int64_t now_us);

/* Ends the window whatever its age, as log_meter_turn does: for the end of the process. */
uint64_t log_meter_end(struct log_meter *meter);

#endif
