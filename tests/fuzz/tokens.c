#include "tests/fuzz/tokens.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/books/client_create.h"
#include "server/database.h"
#include "server/os/clock.h"
#include "server/os/data_dir.h"

const char *const fuzz_roles[FUZZ_ROLES] = {"admin", "steward", "contributor", "student",
                                            "agent", "auditor", "monitor"};

int fuzz_token_role(const char *text, size_t size)
{
    for (int i = 0; i < FUZZ_ROLES; i++) {
        size_t length = strlen(fuzz_roles[i]);
        if (size > length && memcmp(text, fuzz_roles[i], length) == 0 && text[length] == '}')
            return i;
    }
    return -1;
}

void fuzz_tokens_make(struct app *app, struct db *db, char token[FUZZ_ROLES][FUZZ_TOKEN_SIZE])
{
    static const struct token_terms terms = {.scopes = SCOPE_ALL};
    for (int i = 0; i < FUZZ_ROLES; i++)
        if (api_client_create(app, db, fuzz_roles[i], fuzz_roles[i], &terms, token[i]))
            abort();
}

void fuzz_tokens_in(const char *directory, char token[FUZZ_ROLES][FUZZ_TOKEN_SIZE])
{
    char error[512] = "";
    struct api_settings settings = {.now_ms = clock_now_ms, .cors_origins = "", .version = "fuzz"};
    struct database *database = NULL;
    struct db *db = NULL;
    struct app *app = NULL;
    const struct database_place place = {.directory = directory};
    if (!data_dir_make(directory, error, sizeof error) ||
        !database_make(&place, error, sizeof error) ||
        !data_dir_signing_seed(directory, settings.signing_seed, error, sizeof error) ||
        !(database = database_open(&place, error, sizeof error)) ||
        !(db = database_connect(database, error, sizeof error)) || !(app = api_open(&settings))) {
        fprintf(stderr, "%s\n", error);
        abort();
    }
    fuzz_tokens_make(app, db, token);
    api_close(app);
    database_close(database);
}
