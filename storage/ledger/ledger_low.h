/* Which accounts are low, in SQL. */
#ifndef TACET_STORAGE_LEDGER_LEDGER_LOW_H
#define TACET_STORAGE_LEDGER_LEDGER_LOW_H

/* The condition that less than a tenth is left of an account of ledger_accounts AS a: of its units
 * or, where epsilons and deltas add up, of its delta. An account whose teacher has ended, or which
 * another account continues, has nothing left on purpose, and is not low. */
#define LEDGER_LOW                                                                                 \
    " (a.limit_units - a.spent_units - a.held_units < a.limit_units / 10"                          \
    " OR (a.renyi_order <= 1"                                                                      \
    " AND a.limit_delta - a.spent_delta - a.held_delta < a.limit_delta / 10))"                     \
    " AND NOT EXISTS (SELECT 1 FROM endings AS ended WHERE ended.resource = a.resource)"           \
    " AND NOT EXISTS (SELECT 1 FROM ledger_accounts AS newer WHERE newer.kind = 'dataset'"         \
    " AND newer.resource = a.id AND newer.client = '') "

#endif
