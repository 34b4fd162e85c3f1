/* Released Q-functions. Each has public terms and one sealed text (encrypted before it reaches
 * storage) from which the values are computed. A release never changes; it can only be ended, which
 * erases the text. */
#ifndef TACET_STORAGE_Q_RELEASES_H
#define TACET_STORAGE_Q_RELEASES_H

#include "storage/db/db.h"
#include "storage/db/id.h"

struct q_release_row {
    char id[ID_SIZE]; /* qre_ */
    char owner[ID_SIZE];
    char name[NAME_SIZE];
    char environment[64];  /* "" for none */
    char dataset[ID_SIZE]; /* "" for none */
    char job[ID_SIZE];
    char certificate[ID_SIZE]; /* crt_ */
    char *terms;               /* JSON; malloc'ed by the functions that fill a row */
    int64_t created_ms;
    int64_t ended_ms; /* 0: the release has not ended */
};

/* Frees terms; zeroed rows are allowed. */
void q_release_row_done(struct q_release_row *row);

/* Stores a release. DB_NONE: the id exists. */
enum db_status q_releases_insert(struct db *db, const struct q_release_row *row, const void *sealed,
                                 size_t size, const char *certificate_text);

/* Finds a release; free with q_release_row_done. DB_NONE: unknown. */
enum db_status q_releases_find(struct db *db, const char *id, struct q_release_row *out);

/* Whether it answers. DB_NONE: unknown, or ended. */
enum db_status q_releases_answers(struct db *db, const char *id);

/* The sealed text; malloc'ed. DB_NONE: unknown, or ended. */
enum db_status q_releases_sealed(struct db *db, const char *id, void **out, size_t *out_size);

typedef bool q_release_fn(void *context, const struct q_release_row *row);

/* Lists a PAGE of the releases (listing.h); for a CLIENT only those that answer. */
enum db_status q_releases_list(struct db *db, const char *owner, const char *client,
                               const struct listing_page *page, q_release_fn *each, void *context);

/* Erases the sealed text for ever; what was answered stays answered. DB_NONE: unknown, or ended. */
enum db_status q_releases_end(struct db *db, const char *id, int64_t now_ms);

/* The certificate's text, by its id or the release's; malloc'ed. *out_id and *out_owner [ID_SIZE]
 * receive the certificate's id and whose it is. DB_NONE: unknown. */
enum db_status q_releases_certificate(struct db *db, const char *certificate_or_release,
                                      char *out_id, char *out_owner, char **out_text);

#endif
