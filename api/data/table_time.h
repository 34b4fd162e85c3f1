/* The order of an episode's rows: numbers, or dates of ISO 8601 that are all written alike. */
#ifndef TACET_API_DATA_TABLE_TIME_H
#define TACET_API_DATA_TABLE_TIME_H

#include <stdbool.h>

#define TABLE_TIME_TEXT 40

/* Begin with {0}. */
struct table_time {
    bool begun, is_date;
    double number;
    char date[TABLE_TIME_TEXT];
};

/* Reads TEXT, the time of the next row. NULL, or a sentence: it is no time, or not after the one
 * before. */
const char *table_time_next(struct table_time *time, const char *text);

#endif
