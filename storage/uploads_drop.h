/* Removing uploads in small steps; between the two files of uploads. */
#ifndef TACET_STORAGE_UPLOADS_DROP_H
#define TACET_STORAGE_UPLOADS_DROP_H

#include "storage/uploads.h"

#define UPLOADS_DROP_CHUNKS 4 /* removed in one transaction: about 4 MiB */

/* Removes a few chunks of UPLOAD, or its row when none is left; *OUT_MORE: call again. */
enum db_status uploads_drop_some(struct db *db, const char *upload, bool *out_more);

#endif
