/* Bindings of certificates. */
#include "storage/client_certificates.h"

#include "storage/db/listing.h"
#include "storage/db/table.h"
#include "storage/digests.h"

static const struct column certificate_columns[] = {
    COLUMN(client_certificate, client, TEXT),
    COLUMN(client_certificate, created_ms, INTEGER),
    COLUMN(client_certificate, hash, BYTES),
};

const struct table client_certificates_table =
    TABLE_DIGESTED("client_certificates", client_certificate, certificate_columns,
                   TABLE_ALL(certificate_columns), "digest", 3, 0);

enum db_status client_certificates_insert(struct db *db,
                                          const struct client_certificate *certificate)
{
    return table_insert(db, &client_certificates_table, certificate, NULL, 0);
}

enum db_status client_certificates_find(struct db *db,
                                        const unsigned char hash[CERTIFICATE_HASH_SIZE],
                                        struct client_certificate *out)
{
    return table_find(db, &client_certificates_table, "WHERE hash = $1",
                      DB_VALUES(db_bytes(hash, CERTIFICATE_HASH_SIZE)), out);
}

enum db_status client_certificates_remove(struct db *db, const char *client,
                                          const unsigned char hash[CERTIFICATE_HASH_SIZE])
{
    return db_change(db, "DELETE FROM client_certificates WHERE client = $1 AND hash = $2",
                     DB_VALUES(db_text(client), db_bytes(hash, CERTIFICATE_HASH_SIZE)));
}

TABLE_SHOW(show_certificate, client_certificate);

enum db_status client_certificates_list(struct db *db, const char *client,
                                        client_certificate_fn *each, void *context)
{
    struct show_certificate list = {each, context};
    return table_list_sound(db, &client_certificates_table,
                            "WHERE client = $1 ORDER BY created_ms, hash",
                            DB_VALUES(db_text(client)), show_certificate, &list);
}

enum db_status client_certificates_count(struct db *db, const char *client, int64_t *out_count)
{
    return db_one(db, "SELECT count(*) FROM client_certificates WHERE client = $1",
                  DB_VALUES(db_text(client)), listing_integer, out_count);
}
