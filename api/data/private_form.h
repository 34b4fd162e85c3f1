/* What the writer and the reader of experts' data share. */
#ifndef TACET_API_DATA_PRIVATE_FORM_H
#define TACET_API_DATA_PRIVATE_FORM_H

#include <stddef.h>
#include <stdint.h>

#include "storage/db/db.h"
#include "storage/keys/key_box.h"
#include "storage/keys/keyring.h"

#define PRIVATE_POLICY    "TACETEP1" /* the first bytes of an encrypted network */
#define PRIVATE_NAME_SIZE 96

/* The nonce of the record at AT of chunk SEQUENCE. */
void private_nonce(uint32_t sequence, size_t at, unsigned char nonce[KEY_BOX_NONCE]);

/* The name under which the key of the upload's EXPERT is encrypted. */
void private_key_name(const char *upload, uint32_t expert, char out[PRIVATE_NAME_SIZE]);

/* The name under which the network of expert NUMBER is encrypted. */
void private_policy_name(const char *dataset, uint32_t number, char out[PRIVATE_NAME_SIZE]);

/* STATUS for a caller who writes. */
enum db_status private_status(enum keyring_status status);

#endif
