/* The tables, in PostgreSQL's types. */
#ifndef TACET_STORAGE_DB_SCHEMA_POSTGRES_H
#define TACET_STORAGE_DB_SCHEMA_POSTGRES_H

#include "storage/db/db.h"

extern const struct db_schema schema_postgres;

#endif
