/* Names of flags and of their variables: what is meant by one that is misspelt. */
#ifndef TACET_SERVER_FLAG_NAMES_H
#define TACET_SERVER_FLAG_NAMES_H

#include "server/flags.h"

#define FLAG_NAME_SIZE 64 /* of a flag or its variable */

/* Writes the variable of FLAG: TACET_MAX_BODY of max-body. */
void flag_variable(const struct flag *flag, char out[FLAG_NAME_SIZE]);

/* Writes the flag that the text TACET_NAME or TACET_NAME=VALUE stands for, cut where it is long. */
void flag_of_variable(const char *variable, char out[FLAG_NAME_SIZE]);

/* The flag with exactly the SIZE letters of NAME; NULL: none. */
const struct flag *flag_find(const struct flags *flags, const char *name, size_t size);

/* The flag whose name is nearest to NAME or begins with it; NULL: none is near. */
const struct flag *flag_nearest(const struct flags *flags, const char *name, size_t size);

/* The first TACET_ variable of ENVIRONMENT that neither a row of FLAGS nor FLAGS->others nor an
 * orchestrator of containers has made; NULL: none. */
char *const *flag_unknown_variable(const struct flags *flags, char *const *environment);

#endif
