/* One setting of a cell, as the command line and the table of tuned settings write it. */
#ifndef TACET_BENCH_OFFLINE_SETTING_H
#define TACET_BENCH_OFFLINE_SETTING_H

#include "algos/parameters.h"

#define CELL_SETTING_NAME 32

struct cell_setting {
    char name[CELL_SETTING_NAME];
    struct parameter_value value;
};

/* Reads "NAME=VALUE", or "NAME=VALUE:VALUE:..." for a list, up to a space or the end of TEXT. Gives
 * where it ended, or NULL: it is neither. */
const char *cell_setting_read(const char *text, struct cell_setting *out);

#endif
