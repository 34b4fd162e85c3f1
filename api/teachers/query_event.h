/* What an entry of the ledger says of a teacher's answers. */
#ifndef TACET_API_TEACHERS_QUERY_EVENT_H
#define TACET_API_TEACHERS_QUERY_EVENT_H

#include <stddef.h>
#include <stdint.h>

#include "api/teachers/teacher_shelf.h"

#define QUERY_EVENT_SIZE 400

/* Writes COUNT answers as an event (event_json.h), which POST /v1/accounting:compose reads.
 * CONCENTRATION is 0 where the mechanism has none. */
void query_event_write(const struct shelved_teacher *teacher, uint32_t count, double concentration,
                       char out[QUERY_EVENT_SIZE]);

#endif
