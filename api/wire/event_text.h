/* Reads trees of events from JSON text, for callers without a JSON library. The form is that of
 * event_json.h. */
#ifndef TACET_API_WIRE_EVENT_TEXT_H
#define TACET_API_WIRE_EVENT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "algos/privacy/accounting/event.h"

#define EVENT_TEXT_FAULT_SIZE 800

/* Reads a tree, or an array of trees, from SIZE bytes. *out is the caller's to clear. False: FAULT
 * holds a sentence that begins with the JSON pointer of the first thing that is wrong. */
bool event_text_read(const char *bytes, size_t size, struct event *out,
                     char fault[EVENT_TEXT_FAULT_SIZE]);

#endif
