/* `tacet import` with one more kind of file, for a program that reads that. */
#ifndef TACET_CLI_IMPORT_CLI_IMPORT_H
#define TACET_CLI_IMPORT_CLI_IMPORT_H

#include "cli/import/import_source.h"

/* Runs the subcommand on its arguments; MORE may be NULL. Gives the exit code. */
int import_with(int argc, char **argv, const struct import_kind *more);

#endif
