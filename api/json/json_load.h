/* jansson's parser, asked so that want of memory is told from bad text.
 *
 * By itself jansson calls a text that met short memory an invalid token, and where the buffer of a
 * long token cannot grow it goes on with what is in it, which may be another number, or looks for a
 * text's end beyond it. */
#ifndef TACET_API_JSON_JSON_LOAD_H
#define TACET_API_JSON_JSON_LOAD_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Has jansson take its memory from ALLOCATE, whose bytes free() takes back: malloc, or in tests one
 * that fails. Before any thread uses JSON; without it, it is malloc from the first json_load on. */
void json_load_guard(void *(*allocate)(size_t size));

/* What ERROR says of a number of more than JSON_NUMBER_MAX characters (then its code is
 * json_error_numeric_overflow), and of what is as long and no JSON. */
#define JSON_LOAD_TOO_LONG "a token is too long"

/* json_loadb; such a token is refused. NULL with *out_starved: memory was short, and nothing is
 * said of the text; once one allocation has failed, none of that text is granted any more. ERROR
 * may be NULL. */
json_t *json_load(const char *bytes, size_t size, size_t flags, json_error_t *error,
                  bool *out_starved);

/* A text that we wrote and stored, of any value. NULL: memory is short, or it was damaged. */
json_t *json_load_stored(const char *text);

#endif
