/* Opaque identifiers: a prefix that names the kind ("job_") and 100 random bits in base 32. */
#ifndef TACET_STORAGE_DB_ID_H
#define TACET_STORAGE_DB_ID_H

#define ID_SIZE   32  /* bytes of any id, its NUL included */
#define ID_RANDOM 20  /* characters behind the prefix, of 5 bits each */
#define NAME_SIZE 201 /* bytes of a short text: names of at most 200 bytes */

/* Kinds in use: cli_ clients, ds_ datasets, upl_ uploads, job_ jobs, pol_ policies, tch_ teachers,
 * acc_ ledger accounts, crt_ certificates, qry_ queries, agg_ aggregations, qre_ released
 * Q-functions, prj_ projects, env_ registered worlds. */

/* PREFIX (with its underscore, at most 8 bytes) and 20 characters of Crockford's base 32, drawn
 * from the system's generator (libsodium, which the program has initialised). */
void id_new(const char *prefix, char out[ID_SIZE]);

/* The same without drawing: of each byte of BITS the lowest five bits. */
void id_from(const char *prefix, const unsigned char bits[ID_RANDOM], char out[ID_SIZE]);

#endif
