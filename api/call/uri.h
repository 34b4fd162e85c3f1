/* Paths and query strings: percent-escapes and parameters (RFC 3986). */
#ifndef TACET_API_CALL_URI_H
#define TACET_API_CALL_URI_H

#include <stdbool.h>
#include <stddef.h>

struct arena;

/* Decodes SIZE bytes of TEXT; PLUS: '+' is a space, as in a query. NULL when an escape is broken,
 * stands for NUL or gives bytes that are not UTF-8. In ARENA. */
char *uri_decode(const char *text, size_t size, bool plus, struct arena *arena);

/* The decoded value of the query parameter NAME: "" for one without a value, NULL when it is
 * absent. QUERY has passed uri_query_check. */
const char *uri_query_value(const char *query, const char *name, struct arena *arena);

enum uri_query_fault {
    URI_QUERY_GOOD,
    URI_QUERY_MALFORMED,
    URI_QUERY_UNKNOWN, /* a name that is not in KNOWN */
    URI_QUERY_TWICE,
};

/* Checks every parameter of QUERY against KNOWN ("page_size page_token"). *out_name receives the
 * decoded name of the first bad one, in ARENA; NULL when it cannot be shown. */
enum uri_query_fault uri_query_check(const char *query, const char *known, struct arena *arena,
                                     const char **out_name);

#endif
