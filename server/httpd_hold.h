/* Requests over their rate: held for a second before they are refused, so that who asks again and
 * again asks seldom. Used by the socket thread alone. */
#ifndef TACET_SERVER_HTTPD_HOLD_H
#define TACET_SERVER_HTTPD_HOLD_H

#include "server/httpd_reply.h"

/* Counts the request, whose caller is known or is not, against the rate of its client or else of
 * its address. False: it is over that. */
bool httpd_within_rate(struct httpd *httpd, struct exchange *exchange);

/* Suspends the request for a second. False: as many as may be are held, and it is not. */
bool httpd_hold(struct httpd *httpd, struct exchange *exchange);

/* Resumes the requests whose time is over; ALL: every one. */
void httpd_hold_end(struct httpd *httpd, bool all);

/* Milliseconds until httpd_hold_end has something to do; -1: nothing is held. */
int httpd_hold_ms(const struct httpd *httpd);

#endif
