/* Opaque names of things: a prefix and 26 random base32 characters (130 bits). */
#ifndef TACET_STORAGE_ID_H
#define TACET_STORAGE_ID_H

#define ID_SIZE 32 /* with the NUL */

/* Fills ID with PREFIX ("cli_", "ds_", ... at most 4 characters) and fresh random characters. */
void id_new(char id[ID_SIZE], const char *prefix);

#endif
