/* The time that an idempotency key names. */
#ifndef TACET_STORAGE_ANSWERS_KEY_DATE_H
#define TACET_STORAGE_ANSWERS_KEY_DATE_H

#include <stdint.h>

#include "storage/answers/answers.h"

/* The time that KEY names, in milliseconds since 1970; -1: it names none. A time is named by a UUID
 * of version 7 (RFC 9562, section 5.7), by a date and a dash at the key's beginning, for its first
 * moment in UTC ("2026-11-24-..."), and by key_date_name. */
int64_t key_date_ms(const char *key);

/* Writes NAME with the date MS behind it, in a form that no client can send, because of its space.
 * Later dates of one NAME are greater as texts. NAME has a space of its own and at most
 * ANSWER_KEY_SIZE - 21 bytes. */
void key_date_name(const char *name, int64_t ms, char out[ANSWER_KEY_SIZE]);

#endif
