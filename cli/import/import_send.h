/* Where imported trajectories go: a file, or a dataset of a server. */
#ifndef TACET_CLI_IMPORT_IMPORT_SEND_H
#define TACET_CLI_IMPORT_IMPORT_SEND_H

#include "cli/dataset_upload.h"
#include "cli/expert_output.h"
#include "cli/import/import_flags.h"

#define IMPORT_DIGEST_SIZE 32

struct import_send {
    const struct import_options *options;  /* borrowed */
    const struct description *description; /* borrowed */
    const unsigned char *digest;           /* borrowed: of all that will be sent */
    uint32_t longest;                      /* actions of an episode */
    struct expert_output file;             /* handle -1: none */
    char *target, *fresh; /* owned: a file on a disk, and what becomes it at the end; NULL: none */
    struct dataset_upload upload;
    char salt[DATASET_UPLOAD_SALT_SIZE]; /* of all keys, because they are hashes of private data */
    FILE *lines;                         /* of the part in hand */
    char *part;
    size_t part_size;
    uint64_t parts;
    double held;                   /* trajectories of the dataset before; NAN: not told */
    char error[IMPORT_ERROR_SIZE]; /* why the last function failed: one line */
};

/* Opens the output, or makes or finds the dataset; TEXT is the description's text, DIGEST of all
 * trajectories, LONGEST the most actions of one. The caller closes SEND with import_send_close,
 * also after a failure. */
bool import_send_open(struct import_send *send, const struct import_options *options,
                      const struct description *description, const char *text,
                      const unsigned char digest[IMPORT_DIGEST_SIZE], uint32_t longest);

/* Adds a trajectory. */
bool import_send_add(struct import_send *send, const struct trajectory *trajectory,
                     const char *expert);

/* Sends what is left, and seals the dataset where that is asked for. */
bool import_send_finish(struct import_send *send);

/* Closes what is open. */
void import_send_close(struct import_send *send);

#endif
