/* Who pays for an answer, and what each pays.
 *
 * Up to three accounts pay for an answer: the client's, the teacher's cap over all clients, and for
 * a teacher of shards the dataset's. Each counts Renyi divergence at an order of its own, so the
 * same answer has a price for each. */
#ifndef TACET_API_TEACHERS_TEACHER_PAYERS_H
#define TACET_API_TEACHERS_TEACHER_PAYERS_H

#include "algos/release/teacher.h"
#include "storage/teachers.h"

enum teacher_payer { PAYER_CLIENT, PAYER_TEACHER, PAYER_DATASET, TEACHER_PAYERS };

/* What one answer or one query costs each payer. */
struct teacher_prices {
    struct filter_price of[TEACHER_PAYERS];
};

/* Finds the orders at which the payers of ROW count; they never change while the accounts are the
 * same. A dataset's account that adds epsilons takes divergence at the clients' order
 * (docs/proofs/shards.md), and so does the dataset of a teacher that has none. */
enum db_status teacher_orders_find(struct db *db, const struct teacher_row *row,
                                   double out[TEACHER_PAYERS]);

/* Sets *OUT to what the dataset of ROW pays with its next answer beside the price: the conversion
 * of divergence to epsilon and its delta, where no answer is known to have paid them, otherwise 0.
 * What a restore has burnt of the teacher's account shows no answer. */
enum db_status teacher_first_price(struct db *db, const struct teacher_row *row,
                                   struct filter_price *out);

/* Computes the price of COUNT answers at CONCENTRATION for each payer. False: a client or the
 * teacher has no finite price. A dataset without one cannot pay: the price is LEDGER_UNITS_MAX. */
bool teacher_prices_at(const struct teacher *teacher, const struct teacher_row *row,
                       const double order[TEACHER_PAYERS], double concentration, int64_t count,
                       struct teacher_prices *out);

/* PRICES times COUNT. False: the product is too large to be counted. */
bool teacher_prices_times(const struct teacher_prices *prices, int64_t count,
                          struct teacher_prices *out);

#endif
