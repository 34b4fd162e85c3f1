/* Uploads a population of experts to a Tacet server, setting by setting.
 *
 * The keys of its calls (dataset_upload.h) are functions of the dataset, the population's
 * parameters and the setting. */
#ifndef TACET_CLI_EXPERT_UPLOAD_H
#define TACET_CLI_EXPERT_UPLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/dataset_upload.h"
#include "cli/expert_crew.h"

struct expert_upload_settings {
    struct http_out_settings server;
    const char *dataset; /* its id; NULL: it is made */
    const char *name;    /* of one to be made, as are the next two */
    double epsilon, delta;
    const struct expert_request *request; /* borrowed */
};

struct expert_upload {
    struct expert_upload_settings settings;
    struct dataset_upload to; /* its error says why the last function failed */
};

/* Checks the settings and copies them; sends nothing. The caller closes UPLOAD with
 * expert_upload_close, also after a failure. */
bool expert_upload_open(struct expert_upload *upload,
                        const struct expert_upload_settings *settings);

/* Makes the dataset, or reads the named one, and checks that it takes data. KNOWN is the id that an
 * earlier run noted, or "". COMPLETE: nothing is left to send, so the dataset may be sealed
 * already. */
bool expert_upload_begin(struct expert_upload *upload, const char *known, bool complete);

/* Sends the experts of SETTING: trajectories, then policies where TEXT has them. */
bool expert_upload_setting(struct expert_upload *upload, uint64_t setting,
                           const struct expert_text *text);

/* Seals the dataset. */
bool expert_upload_seal(struct expert_upload *upload);

/* Closes the connection; NULL parts are fine. */
void expert_upload_close(struct expert_upload *upload);

#endif
