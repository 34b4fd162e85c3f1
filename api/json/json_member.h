/* Members of a JSON object that need not be there or be of the type that is asked for. */
#ifndef TACET_API_JSON_JSON_MEMBER_H
#define TACET_API_JSON_JSON_MEMBER_H

#include <jansson.h>

/* The text of OBJECT's member NAME, borrowed; "" when it is no text. */
const char *json_member_text(const json_t *object, const char *name);

/* OBJECT's member NAME as a number; NAN when it is none. */
double json_member_number(const json_t *object, const char *name);

/* VALUE as a number; NAN when it is none. */
double json_number_or_nan(const json_t *value);

/* VALUE, or null where it is NULL. The reference is passed on. */
json_t *json_or_null(json_t *value);

#endif
