/* Certificates that are stored in the row of what they certify: a Q-release or a teacher. */
#ifndef TACET_STORAGE_CERTIFICATE_TEXT_H
#define TACET_STORAGE_CERTIFICATE_TEXT_H

#include "storage/db/id.h"
#include "storage/db/table.h"

struct certificate_text {
    char certificate[ID_SIZE], owner[ID_SIZE];
    char *certificate_text;
};

extern const struct column certificate_text_columns[3];

/* A TABLE whose rows have a certificate. */
#define CERTIFICATE_TABLE(name)                                                                    \
    {                                                                                              \
        name, certificate_text_columns, 3, 0, sizeof(struct certificate_text), NULL, 0, 0          \
    }

/* The certificate in the row of TABLE that the literal TAIL finds by $1 = ID: its id, whose it is,
 * and its text, which the caller frees (NULL unless DB_OK). DB_NONE: there is none. */
enum db_status certificate_text_find(struct db *db, const struct table *table, const char *tail,
                                     const char *id, char out_id[ID_SIZE], char out_owner[ID_SIZE],
                                     char **out_text);

/* What a certificate is about. */
enum certificate_kind { CERTIFICATE_POLICY, CERTIFICATE_RELEASE, CERTIFICATE_TEACHER };

struct certificate_any {
    char id[ID_SIZE], owner[ID_SIZE];
    char policy[ID_SIZE]; /* "" unless CERTIFICATE_POLICY */
    enum certificate_kind kind;
    char *text; /* malloc'ed by certificate_any_find */
};

/* Finds the certificate ID in whichever table has it, by one statement. DB_NONE: unknown. */
enum db_status certificate_any_find(struct db *db, const char *id, struct certificate_any *out);

typedef bool certificate_any_fn(void *context, const struct certificate_any *certificate);

/* Shows all certificates in order of their ids, until EACH gives false. Texts are borrowed. */
enum db_status certificate_any_list(struct db *db, certificate_any_fn *each, void *context);

#endif
