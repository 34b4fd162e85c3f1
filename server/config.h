/* The settings of `tacet serve`: flags (--max-body 2M), variables (TACET_MAX_BODY=2M), a file
 * (max-body = 2M) and --help from one table (flags.h). */
#ifndef TACET_SERVER_CONFIG_H
#define TACET_SERVER_CONFIG_H

#include "server/flags.h"

#define CONFIG_AUTO UINT64_MAX

/* Texts are borrowed from the command line, the environment, the file or the table. */
struct config {
    const char *config; /* the file; NULL or "": none */
    const char *data;
    const char *listen;
    const char *port_file;
    struct flag_list webhooks;       /* PROJECT ADDRESS KEYFILE */
    const char *metrics_listen;      /* "": /metrics of the service alone */
    char database[FLAG_SECRET_SIZE]; /* "" or "sqlite": a file in DATA */
    char key[FLAG_SECRET_SIZE]; /* "", as the next two: where the master key is given (keys.h) */
    const char *keys_dir;       /* "": DATA/keys */
    uint64_t data_memory_bytes; /* 0: no limit */
    const char *columns_dir;    /* "": DATA */
    const char *marks;          /* "": none (storage/marks/marks.h) */
    const char *key_file;
    const char *key_command;
    const char *tls_cert;
    const char *tls_key;
    const char *tls_client_ca;
    const char *tls_priorities;
    const char *oidc_issuer; /* "": own tokens alone */
    const char *oidc_audience;
    const char *oidc_jwks;
    const char *oidc_roles_claim;
    struct flag_list oidc_role_map; /* THEIRS=OURS; TACET_OIDC_ROLE_MAP has one in each line */
    bool oidc_admin;
    const char *cors_origins;
    const char *log_origin; /* "": from the key */
    int log_level;          /* enum log_level */
    int log_format;         /* enum log_format */
    bool access_log;
    bool confine;
    bool works;       /* `tacet work`: runs jobs, and hears no clients */
    uint64_t workers; /* CONFIG_AUTO: one less than the cores, at least 1 */
    uint64_t pool_threads;
    uint64_t planners;
    uint64_t uploads;
    uint64_t queue;
    uint64_t batch;
    uint64_t event_streams;
    uint64_t connections;
    uint64_t connections_per_ip;
    uint64_t connections_per_client;
    uint64_t client_rate;
    uint64_t address_rate;
    uint64_t head_timeout_s;
    uint64_t idle_timeout_s;
    uint64_t body_timeout_s;
    uint64_t least_rate;
    uint64_t body_deadline_s;
    uint64_t upload_deadline_s;
    uint64_t drain_timeout_s;
    uint64_t max_body_bytes;
    uint64_t max_upload_bytes;
    uint64_t max_policy_bytes;
    uint64_t client_disk_bytes; /* 0: no limit */
    uint64_t max_buffered_bytes;
    uint64_t max_states_per_query;
    uint64_t max_experts_per_dataset;
    uint64_t keep_answers_days;     /* 0: for ever */
    uint64_t keep_entries_days;     /* 0: for ever */
    struct flag_list worlds;        /* NAME=COMMAND; TACET_WORLD has one in each line */
    struct flag_list world_runners; /* NAME=COMMAND, as worlds */
    uint64_t world_timeout_s;
    uint64_t world_run_timeout_s;
    uint64_t world_memory_bytes;
    uint64_t world_file_bytes;
    uint64_t world_processes;
    bool world_network;
};

/* Program, help and table of the settings. */
extern const struct flags config_flags;

/* The same table for `tacet work`. */
extern const struct flags config_work_flags;

/* Fills *config from ARGV from index 0, the environment, the file and the defaults, and checks
 * conditions between several settings. False: FOUND->error says what was wrong, and FOUND->file is
 * NULL. After FOUND->help nothing is checked. */
bool config_read(struct config *config, int argc, char **argv, struct flags_found *found);

/* The same with TEXT for what the file holds, for who cannot open it; NULL: it is opened. Secrets
 * that were read from ARGV or the environment before are not there any more. */
bool config_read_text(struct config *config, int argc, char **argv, const char *text,
                      struct flags_found *found);

#endif
