/* Checks the head of a request against RFC 9112 where libmicrohttpd is lenient.
 *
 * The library gives texts that end at the first NUL, so a NUL and what follows it in a line would
 * go unseen, and it joins folded lines. Both change where the pieces of the head lie: the library
 * parses it in place, and writes NUL over the CRLF behind each line. The check therefore asks that
 * every piece begins right where the one before it ended. A library of another version may lay the
 * head out otherwise; then only the texts are checked. */
#ifndef TACET_SERVER_HEAD_CHECK_H
#define TACET_SERVER_HEAD_CHECK_H

#include <stdbool.h>
#include <stddef.h>

struct head_check {
    bool in_place;   /* the places of the pieces mean something */
    bool bad;        /* something was wrong */
    bool old;        /* HTTP/1.0 */
    unsigned hosts;  /* fields named Host */
    const char *end; /* of the last piece */
};

/* Begins with the request line: the method, where the target begins and ends, the version. */
void head_check_begin(struct head_check *check, bool in_place, const char *const line[4]);

/* One field, in the order in which they came. */
void head_check_field(struct head_check *check, const char *name, const char *value);

/* True when TEXT, a part of the request's target, has neither spaces nor control characters. */
bool head_is_target(const char *text);

/* True when all of the head, which ends before END, is what RFC 9112 allows. */
bool head_check_end(const struct head_check *check, const char *end);

#endif
