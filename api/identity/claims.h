/* What a JWT says, once its signature is known to be right. */
#ifndef TACET_API_IDENTITY_CLAIMS_H
#define TACET_API_IDENTITY_CLAIMS_H

#include <jansson.h>

#include "api/identity/identity.h"

/* Checks CLAIMS against SETTINGS at NOW; statuses and outputs as of identity_check. */
enum identity_status claims_check(const json_t *claims, const struct identity_settings *settings,
                                  int64_t now_ms, struct identity_caller *out, const char **why);

#endif
