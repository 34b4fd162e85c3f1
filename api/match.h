/* How a path finds its row of the table of endpoints. */
#ifndef TACET_API_MATCH_H
#define TACET_API_MATCH_H

#include <stddef.h>

#include "api/call/route.h"

/* All rows, as route.c holds them; *out_count receives their number. */
const struct route *route_all(unsigned *out_count);

/* Finds the row for METHOD (HEAD finds GET) and PATH as received. With ARENA NULL values are not
 * decoded: that is for asking lane and limits. */
void route_match(const char *method, const char *path, struct arena *arena,
                 struct route_match *out);

/* Does the same when ROW is known to fit: route_match found it for the same path before. */
void route_match_row(const struct route *row, const char *path, struct arena *arena,
                     struct route_match *out);

/* Writes the methods that PATH knows, "GET, HEAD, POST, OPTIONS", for Allow; "" for no such path.
 */
void route_allowed(const char *path, char *out, size_t size);

#define ROUTE_NEAR_SIZE 60

/* The beginning of a path ("/v1/datasets") that PATH, which has no row, may be meant for; "": none.
 */
const char *route_near(const char *path, char out[ROUTE_NEAR_SIZE]);

#endif
