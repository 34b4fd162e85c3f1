/* Counts lines in windows of a second. A window begins with a line, so that silence costs nothing
 * and at most LOG_METER_LINES follow one another within a second of the first. */
#include "server/log_meter.h"

#define WINDOW_US 1000000

uint64_t log_meter_end(struct log_meter *meter)
{
    uint64_t left_out = meter->left_out;
    *meter = (struct log_meter){0};
    return left_out;
}

uint64_t log_meter_turn(struct log_meter *meter, int64_t now_us)
{
    if (meter->written == 0 || now_us - meter->begun_us < WINDOW_US)
        return 0;
    return log_meter_end(meter);
}

bool log_meter_admit(struct log_meter *meter, int64_t now_us)
{
    if (meter->written == 0)
        meter->begun_us = now_us;
    if (meter->written == LOG_METER_LINES) {
        meter->left_out++;
        return false;
    }
    meter->written++;
    return true;
}
