/* What the flags of `tacet experts` mean together. */
#ifndef TACET_CLI_EXPERT_FLAGS_CHECK_H
#define TACET_CLI_EXPERT_FLAGS_CHECK_H

#include "cli/expert_flags.h"

/* Refuses flags that do not go together, finds the encoding and the token. 0, or an exit code after
 * one line on standard error. */
int expert_flags_check(struct expert_options *options);

#endif
