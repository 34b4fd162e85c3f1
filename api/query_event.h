/* What an entry of the ledger says of a teacher's answers. */
#ifndef TACET_API_QUERY_EVENT_H
#define TACET_API_QUERY_EVENT_H

#include <stddef.h>
#include <stdint.h>

#include "algos/privacy/filter.h"
#include "api/teacher_shelf.h"

#define QUERY_EVENT_SIZE 400

/* The mechanism's settings and, as the accounts counted it, the PRICE of all COUNT answers, as
 * JSON. CONCENTRATION: 0 where the mechanism has none. */
void query_event_write(const struct shelved_teacher *teacher, uint32_t count, double concentration,
                       const struct filter_price *price, char out[QUERY_EVENT_SIZE]);

#endif
