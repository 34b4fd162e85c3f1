/* What the server tells the api at its start. */
#ifndef TACET_API_CALL_SETTINGS_H
#define TACET_API_CALL_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct worlds;
struct keyring;
struct identity;

/* The settings that the server gives the api once. Texts are borrowed for the life of the app. */
struct api_settings {
    int64_t (*now_ms)(void);          /* wall clock, milliseconds since the epoch */
    unsigned char signing_seed[32];   /* Ed25519, for certificates */
    uint64_t max_body_bytes;          /* of a JSON request; default 1 MiB */
    uint64_t max_upload_bytes;        /* of an upload as sent; default 4 GiB */
    uint64_t data_memory_bytes;       /* a job's larger data are in files of columns_dir; 0: no
                                       * limit */
    const char *columns_dir;          /* needed with data_memory_bytes */
    uint64_t max_policy_bytes;        /* of an uploaded network; default 16 MiB */
    uint64_t client_disk_bytes;       /* of all uploads and networks of a client; 0: no limit */
    uint32_t max_states_per_query;    /* default 1024 */
    uint32_t max_experts_per_dataset; /* default 100000 */
    uint32_t keep_answers_days;       /* 0: for ever */
    uint32_t keep_entries_days;       /* 0: for ever */
    int64_t answers_from_ms;          /* what answers_kept_from says of the database */
    int64_t answered_ms; /* keys up to this time may have been answered before a restore; 0: none */
    int64_t life;        /* 1, and one more after each restore (storage/recovery.h) */
    const char *life_id; /* of the life; needed while api_open runs, if the service was restored */
    const char *cors_origins; /* comma-separated allow-list, "" for none */
    const char *version;
    struct keyring *keys;   /* of keyring.h; outlives the app. NULL: nothing private is stored */
    const char *log_origin; /* of the ledger's log (tlog.h); NULL or "": tacet/ and the key's id */
    const struct worlds *worlds; /* of worlds.h; outlives the app. NULL: those built in alone */
    struct identity *identity;   /* of identity.h; outlives the app. NULL: own tokens alone */
    /* Writes Prometheus text of the server's own counters to BUFFER; NULL for none. */
    size_t (*metrics)(void *context, char *buffer, size_t size);
    void *metrics_context;
    bool (*ready)(void *context,
                  const char **why_not); /* workers up, disk writable, not draining; NULL: always */
    void *ready_context;
};

#endif
