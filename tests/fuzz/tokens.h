/* A client of each role, for fuzzers that have a whole service. */
#ifndef TACET_TESTS_FUZZ_TOKENS_H
#define TACET_TESTS_FUZZ_TOKENS_H

#include <stddef.h>

#include "api/api.h"
#include "storage/db/db.h"

#define FUZZ_ROLES      7
#define FUZZ_TOKEN_SIZE 160

/* "admin", "steward", "contributor", "student", "agent", "auditor", "monitor". */
extern const char *const fuzz_roles[FUZZ_ROLES];

/* The role that TEXT[size] begins with, when "}" follows; -1: none. */
int fuzz_token_role(const char *text, size_t size);

/* Makes the clients; TOKEN gets their tokens. */
void fuzz_tokens_make(struct app *app, struct db *db, char token[FUZZ_ROLES][FUZZ_TOKEN_SIZE]);

/* Makes an empty data directory of a server, with the clients in it. */
void fuzz_tokens_in(const char *directory, char token[FUZZ_ROLES][FUZZ_TOKEN_SIZE]);

#endif
