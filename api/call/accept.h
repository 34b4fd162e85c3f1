/* Content negotiation by Accept (RFC 9110, section 12.5.1) and the check of origins for CORS. */
#ifndef TACET_API_CALL_ACCEPT_H
#define TACET_API_CALL_ACCEPT_H

#include <stdbool.h>

/* The quality, 0 to 1000, that the Accept header ACCEPT (NULL: none was sent) gives to the media
 * type TYPE/SUBTYPE. The most specific range counts; parameters other than q are ignored. */
int accept_quality(const char *accept, const char *type, const char *subtype);

/* True when HTML is wanted rather than JSON, as by a browser. */
bool accept_prefers_html(const char *accept);

/* True when JSON may be sent: JSON, HTML or anything is acceptable. */
bool accept_allows_json(const char *accept);

/* True when ORIGIN is in the comma-separated LIST. */
bool cors_allows(const char *list, const char *origin);

#endif
