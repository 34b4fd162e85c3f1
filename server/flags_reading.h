/* A command line that is being read. Within server/flags*. */
#ifndef TACET_SERVER_FLAGS_READING_H
#define TACET_SERVER_FLAGS_READING_H

#include "server/flags.h"

#define FLAGS_WHERE_SIZE 320

/* The layers are read from the strongest to the weakest, and each sets the rows that are left. */
struct flags_reading {
    const struct flags *flags;
    void *options;
    struct flags_found *found;
    char where[FLAGS_WHERE_SIZE]; /* as the user spelled it: "--workers", "TACET_WORKERS" */
    bool above[FLAG_ROWS_MOST];   /* rows that an earlier layer has set */
    bool here[FLAG_ROWS_MOST];    /* rows that this layer has set */
};

/* Sets the error: the flag as it was spelled, then the formatted text. */
bool flags_refuse(struct flags_reading *reading, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Reads TEXT as the value of FLAG into the options, and wipes it where it is a secret. False: the
 * error says what is wrong. */
bool flag_read(struct flags_reading *reading, const struct flag *flag, char *text);

#endif
