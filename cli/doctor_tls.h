/* What tacet doctor finds of a TLS certificate and its key. */
#ifndef TACET_CLI_DOCTOR_TLS_H
#define TACET_CLI_DOCTOR_TLS_H

#include <stdbool.h>
#include <stddef.h>

/* Reads the first certificate of CERT and the private key of KEY, PEM files. *OUT_DAYS: how long
 * the certificate is good; negative: it has ended. False: TEXT says what is wrong with them. */
bool doctor_tls(const char *cert, const char *key, int *out_days, char *text, size_t size);

#endif
