/* A database of its own on the PostgreSQL server that POSTGRES_TEST_DATABASE names
 * (scripts/with-postgres sets it): the part of a URL behind "?". */
#ifndef TACET_TESTS_STORAGE_POSTGRES_PLACE_H
#define TACET_TESTS_STORAGE_POSTGRES_PLACE_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the tests run over PostgreSQL. */
bool postgres_place_wanted(void);

/* Makes an empty database and writes its URL. Fails the test when it cannot. */
void postgres_place_make(char *url, size_t size);

/* Removes it. */
void postgres_place_drop(const char *url);

/* Runs SQL on the database of URL, or on the server's own when URL is NULL. */
void postgres_place_run(const char *url, const char *sql);

#endif
