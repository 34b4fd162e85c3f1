/* Small texts that are put together by hand. */
#ifndef TACET_API_JSON_TEXT_H
#define TACET_API_JSON_TEXT_H

#include <stddef.h>

/* TEXT, or "" where it is NULL. */
const char *text_or_empty(const char *text);

/* Adds WORD to the end of LIST, a text in SIZE bytes, behind SEPARATOR where LIST has words. What
 * does not fit is left out. */
void text_list_add(char *list, size_t size, const char *separator, const char *word);

/* C as a JSON pointer has it (RFC 6901): writes one or two bytes to OUT and gives their number. */
size_t text_pointer_put(char *out, char c);

/* Puts INSTEAD for each control character of TEXT, which somebody else wrote and a terminal shows:
 * also for both bytes of a C1 control (C2 80 .. C2 9F in UTF-8). */
void text_clean(char *text, char instead);

#endif
