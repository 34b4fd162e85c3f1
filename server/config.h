/* The settings of `tacet serve`: one table of name, default, bounds, unit and meaning drives the
 * flags (--max-body 2M), the environment (TACET_MAX_BODY=2M; a flag wins) and --help. */
#ifndef TACET_SERVER_CONFIG_H
#define TACET_SERVER_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define CONFIG_LIST_MAX 64

/* What a flag that may be repeated gives; the environment gives one text, a line for each. */
struct config_list {
    const char *texts[CONFIG_LIST_MAX];
    size_t count;
    bool flagged; /* by flags, which replace what the environment gave */
};

/* Texts are borrowed from the command line, the environment or the table. */
struct config {
    const char *data;
    const char *listen;
    const char *port_file;
    const char *database;
    const char *tls_cert;
    const char *tls_key;
    const char *cors_origins;
    const char *log_level;
    uint64_t access_log;
    uint64_t stay_awake;
    uint64_t workers;
    uint64_t pool_threads;
    uint64_t uploads;
    uint64_t queue;
    uint64_t batch;
    uint64_t event_streams;
    uint64_t connections;
    uint64_t connections_per_ip;
    uint64_t idle_timeout_s;
    uint64_t body_timeout_s;
    uint64_t drain_timeout_s;
    uint64_t max_body_bytes;
    uint64_t max_upload_bytes;
    uint64_t max_policy_bytes;
    uint64_t max_buffered_bytes;
    uint64_t max_states_per_query;
    uint64_t max_experts_per_dataset;
    struct config_list worlds;
    uint64_t world_timeout_s;
    uint64_t world_run_timeout_s;
    uint64_t world_memory_bytes;
};

/* Fills *config from the defaults, then the environment (GETENV, normally getenv), then ARGV from
 * index 0 (flags only: `--name value` or `--name=value`; a switch may stand alone). False: ERROR
 * holds one line that names what was wrong. `--help` or `-h` sets *out_help and stops reading. */
bool config_read(struct config *config, int argc, char **argv,
                 char *(*getenv_function)(const char *), bool *out_help, char *error,
                 size_t error_size);

/* Prints every setting: flag, environment name, default, bounds, unit, meaning. */
void config_print_help(FILE *out);

#endif
