/* What the rest of a budget buys in things that people want. */
#ifndef TACET_API_BOOKS_BUYS_H
#define TACET_API_BOOKS_BUYS_H

#include "api/call/call.h"
#include "storage/ledger/ledger.h"

/* Adds "buys" to BUDGET: {"jobs_like_the_last","answers","labels"} (teachers.h). Labels are those
 * of jobs like the last one, where that one asked for labels. */
enum db_status buys_add(struct call *call, const struct ledger_account *account, json_t *budget);

#endif
