/* The table of settings. A new setting is one member in config.h and one row here. */
#include "server/config.h"

#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "server/os/log.h"
#include "server/webhooks/webhooks.h"

#define FLAG_OPTIONS struct config
#define ENV          FLAG_ENVIRONMENT
#define KIB          ((uint64_t)1024)
#define MIB          (1024 * KIB)
#define GIB          (1024 * MIB)

/* Of the programs that ask a service. */
static const char *const OTHERS[] = {"TACET_SERVER", "TACET_URL", "TACET_TOKEN",
                                     "TACET_ADMIN_TOKEN", NULL};

static const struct flag SETTINGS[] = {
    {"config", AS_ANY_TEXT(config), NULL, "FILE",
     "file of settings, NAME = VALUE a line, named as the flags are; # begins a comment",
     ENV | FLAG_FILE},
    {"data", AS_ANY_TEXT(data), "./data", "DIR", "directory of the database, made with mode 0700",
     ENV},
    {"listen", AS_ANY_TEXT(listen), "127.0.0.1:8080", "HOST:PORT",
     "address to serve on; port 0 takes a free one, [::1]:8080 for IPv6", ENV},
    {"port-file", AS_ANY_TEXT(port_file), "", "FILE", "file that receives the port when it is open",
     ENV},
    {"metrics-listen", AS_ANY_TEXT(metrics_listen), "", "HOST:PORT",
     "address that gives /metrics to everybody who can reach it, over plain HTTP and without a "
     "token",
     ENV},
    {"database", AS_SECRET(database), NULL, "URL",
     "postgresql://USER@HOST/NAME, or sqlite (the default): a file in data. A password may be in "
     "PGPASSWORD or PGPASSFILE",
     ENV},
    {"key", AS_SECRET(key), NULL, "KEY",
     "64 hexadecimal digits: the key that private data are encrypted under; better in TACET_KEY. "
     "A file that everybody can read must not have it",
     ENV | FLAG_PRIVATE},
    {"keys-dir", AS_ANY_TEXT(keys_dir), "", "DIR",
     "directory of the keys of private data, by default \"keys\" in the data directory; servers "
     "and "
     "workers of one database share one",
     ENV},
    {"data-memory", AS_BYTES(data_memory_bytes, 0, 1024 * GIB), "0", "BYTES",
     "a job whose data take more keeps them in files without a name in columns-dir instead of in "
     "memory: in plain text, so put them on an encrypted disk (docs/operating.md); 0 is no limit",
     ENV},
    {"columns-dir", AS_ANY_TEXT(columns_dir), "", "DIR",
     "directory of those files, by default the data directory", ENV},
    {"marks", AS_ANY_TEXT(marks), "", "DIR",
     "directory, on another machine, that notes ahead how much each account may have spent, so "
     "that "
     "a restored backup spends nothing twice (docs/operating.md)",
     ENV},
    {"key-file", AS_ANY_TEXT(key_file), "", "FILE", "file with that key; mode 0600", ENV},
    {"key-command", AS_ANY_TEXT(key_command), "", "COMMAND",
     "command of the shell that prints that key, run once at the start", ENV},
    {"tls-cert", AS_ANY_TEXT(tls_cert), "", "FILE",
     "PEM file of the certificate chain; needs tls-key", ENV},
    {"tls-key", AS_ANY_TEXT(tls_key), "", "FILE", "PEM file of the private key; needs tls-cert",
     ENV},
    {"tls-client-ca", AS_ANY_TEXT(tls_client_ca), "", "FILE",
     "PEM file of the authorities whose client certificates are good, once an admin has bound them "
     "to clients; needs tls-cert",
     ENV},
    {"tls-priorities", AS_TEXT(tls_priorities), "NORMAL:%SERVER_PRECEDENCE", "LIST",
     "versions and ciphers as GnuTLS writes them; TLS 1.0 and 1.1 are left out of any list", ENV},
    {"oidc-issuer", AS_ANY_TEXT(oidc_issuer), "", "URL",
     "tokens (JWT) of this issuer are good, too (docs/operating.md); needs oidc-audience and "
     "oidc-jwks",
     ENV},
    {"oidc-audience", AS_ANY_TEXT(oidc_audience), "", "NAME",
     "the audience that the issuer's tokens must name", ENV},
    {"oidc-jwks", AS_ANY_TEXT(oidc_jwks), "", "FILE|URL",
     "the issuer's public keys: a file, read again when it changes, or https://..., fetched every "
     "five minutes and when a token names an unknown key",
     ENV},
    {"oidc-roles-claim", AS_TEXT(oidc_roles_claim), "roles", "NAME",
     "the claim with the caller's roles; dots lead into objects (realm_access.roles)", ENV},
    {"oidc-role-map", AS_LIST(oidc_role_map, FLAG_LIST_MAX), "", "THEIRS=OURS",
     "a role of the issuer that means one of this service; with one or more, no other counts; may "
     "be repeated, and the variable holds one a line",
     ENV},
    {"oidc-admin", AS_ON_OFF(oidc_admin), "off", "[on|off]", "the issuer may name administrators",
     ENV},
    {"workers", AS_COUNT(workers, 0, 64), NULL, "THREADS",
     "threads that run jobs; without this flag one less than the cores, at least 1; 0 leaves them "
     "to `tacet work` and needs database",
     ENV},
    {"pool-threads", AS_COUNT(pool_threads, 1, 64), "8", "THREADS",
     "threads for calls that read much or compute a little", ENV},
    {"planners", AS_COUNT(planners, 1, 64), "2", "THREADS",
     "threads for calls that price, plan or forecast", ENV},
    {"uploads", AS_COUNT(uploads, 1, 64), "4", "UPLOADS",
     "uploads at once; the next one is told to come again", ENV},
    {"queue", AS_COUNT(queue, 1, 65536), "4096", "REQUESTS",
     "requests that may wait for a commit, and for the pool", ENV},
    {"batch", AS_COUNT(batch, 1, 4096), "64", "REQUESTS",
     "requests in one commit at most; half a KiB of a body counts as one more", ENV},
    {"event-streams", AS_COUNT(event_streams, 1, 4096), "64", "STREAMS",
     "watchers of events at once", ENV},
    {"connections", AS_COUNT(connections, 4, 60000), "1024", "SOCKETS", "open connections at most",
     ENV},
    {"connections-per-ip", AS_COUNT(connections_per_ip, 0, 60000), "512", "SOCKETS",
     "connections of one address at most; 0 is no limit of its own", ENV},
    {"connections-per-client", AS_COUNT(connections_per_client, 1, 60000), "256", "SOCKETS",
     "connections over which one client's token came at most", ENV},
    {"client-rate", AS_COUNT(client_rate, 0, 1000000), "5000", "REQUESTS",
     "requests a second of one client at most; 0 is no limit", ENV},
    {"address-rate", AS_COUNT(address_rate, 0, 1000000), "1000", "REQUESTS",
     "requests a second of one address at most that carry no valid token; 0 is no limit", ENV},
    {"header-timeout", AS_COUNT(head_timeout_s, 1, 3600), "15", "SECONDS",
     "time for the whole head of a request, from when a connection is opened or may be silent no "
     "longer",
     ENV},
    {"idle-timeout", AS_COUNT(idle_timeout_s, 1, 3600), "30", "SECONDS",
     "a connection that is silent for so long is closed", ENV},
    {"body-timeout", AS_COUNT(body_timeout_s, 1, 3600), "30", "SECONDS",
     "time for a body or an answer of any size, beside what least-rate allows", ENV},
    {"least-rate", AS_BYTES(least_rate, 1, GIB), "8K", "BYTES",
     "bytes a second at which a body must come and an answer must be taken", ENV},
    {"body-deadline", AS_COUNT(body_deadline_s, 1, 86400), "600", "SECONDS",
     "time for a whole body but an upload's, whatever its size", ENV},
    {"upload-deadline", AS_COUNT(upload_deadline_s, 1, 604800), "14400", "SECONDS",
     "time for a whole upload, without the time in which the server made it wait", ENV},
    {"drain-timeout", AS_COUNT(drain_timeout_s, 1, 3600), "30", "SECONDS",
     "what is still running so long after SIGTERM is cut off", ENV},
    {"max-body", AS_BYTES(max_body_bytes, KIB, GIB), "1M", "BYTES", "largest JSON body", ENV},
    {"max-upload", AS_BYTES(max_upload_bytes, KIB, 1024 * GIB), "4G", "BYTES",
     "largest upload of trajectories, as sent and as decoded", ENV},
    {"max-policy", AS_BYTES(max_policy_bytes, KIB, GIB), "16M", "BYTES", "largest network uploaded",
     ENV},
    {"client-disk", AS_BYTES(client_disk_bytes, 0, 1024 * 1024 * GIB), "256G", "BYTES",
     "trajectories and experts' networks that one client may store, of all datasets; 0 is no limit",
     ENV},
    {"max-buffered", AS_BYTES(max_buffered_bytes, MIB, 64 * GIB), "512M", "BYTES",
     "bodies held in memory, all requests together", ENV},
    {"max-states", AS_COUNT(max_states_per_query, 1, 65536), "1024", "STATES",
     "states in one query", ENV},
    {"max-experts", AS_COUNT(max_experts_per_dataset, 1, 10000000), "100000", "EXPERTS",
     "experts of one client in one dataset", ENV},
    {"keep-answers", AS_COUNT(keep_answers_days, 0, 36500), "0", "DAYS",
     "a teacher's answers are kept so long, and their keys, which must name their time, are then "
     "refused (docs/operating.md); 0 keeps answers for ever",
     ENV},
    {"keep-entries", AS_COUNT(keep_entries_days, 0, 36500), "0", "DAYS",
     "debits of the ledger that are older are added up, and no longer stand one by one "
     "(docs/operating.md); 0 keeps them for ever",
     ENV},
    {"webhook", AS_LIST(webhooks, WEBHOOKS_MOST), "", "PROJECT ADDRESS KEYFILE",
     "tell this address when a job of the project (its id, or all) has ended, when a budget is low "
     "and when more is asked for, signed with the key in the file (docs/operating.md); may be "
     "repeated",
     ENV},
    {"world", AS_LIST(worlds, FLAG_LIST_MAX), "", "NAME=COMMAND",
     "a world that is a program (docs/worlds.md); may be repeated, and the variable holds one a "
     "line",
     ENV},
    {"world-runner", AS_LIST(world_runners, FLAG_LIST_MAX), "", "NAME=COMMAND",
     "what may run, sealed, the programs of worlds that stewards register (docs/worlds.md), such "
     "as "
     "python=python3 -I; may be repeated, and the variable holds one a line",
     ENV},
    {"world-timeout", AS_COUNT(world_timeout_s, 1, 3600), "10", "SECONDS",
     "time for one answer of a world's program", ENV},
    {"world-run-timeout", AS_COUNT(world_run_timeout_s, 1, 604800), "3600", "SECONDS",
     "time for all that one job asks a world's program", ENV},
    {"world-memory", AS_BYTES(world_memory_bytes, 0, 1024 * GIB), "8G", "BYTES",
     "address space of each process of a world's program; 0 is no limit", ENV},
    {"world-file-size", AS_BYTES(world_file_bytes, 0, 1024 * GIB), "64M", "BYTES",
     "length of a file that a world's program writes; 0 is no limit", ENV},
    {"world-processes", AS_COUNT(world_processes, 0, 100000), "256", "PROCESSES",
     "processes and threads of a world's program at once; more end it; 0 is no limit", ENV},
    {"world-network", AS_ON_OFF(world_network), "off", "[on|off]",
     "programs of worlds may open sockets", ENV},
    {"cors-origins", AS_ANY_TEXT(cors_origins), "", "ORIGINS",
     "web origins that may call, comma-separated", ENV},
    {"log-origin", AS_ANY_TEXT(log_origin), "", "NAME",
     "name of the ledger's log in its checkpoints, such as tacet.example.com/ledger; by default it "
     "is made from the signing key; a witness takes another name for another log",
     ENV},
    {"log-level", AS_CHOICE(log_level, log_level_names), "info", "LEVEL", "error, warn or info",
     ENV},
    {"log-format", AS_CHOICE(log_format, log_format_names), "text", "FORMAT",
     "text (name=value) or json (an object a line)", ENV},
    {"access-log", AS_ON_OFF(access_log), "off", "[on|off]",
     "a log line for every request; off: for those that were refused or failed", ENV},
    {"confine", AS_ON_OFF(confine), "on", "[on|off]",
     "give up, before clients are heard, all files but the data directory and all system calls but "
     "those of a service; off is for debuggers",
     ENV},
};

const struct flags config_flags = {
    .program = "tacet serve",
    .usage =
        "usage: tacet serve [flags]\n\n"
        "Runs the service. Each flag may also be set in the environment, under the name below\n"
        "it, or in the file of --config. A flag wins over the environment, and that over the\n"
        "file. The address is printed when the service is ready.\n\n",
    FLAG_TABLE(SETTINGS),
    .others = OTHERS,
};

const struct flags config_work_flags = {
    .program = "tacet work",
    .usage =
        "usage: tacet work --database postgresql://... [flags]\n\n"
        "Runs jobs that the servers of a PostgreSQL database accept, on this machine. It needs a\n"
        "directory with the servers' signing key (tacet key import) and their worlds. It takes "
        "the\n"
        "flags of \"tacet serve\"; those about clients have no effect.\n\n",
    FLAG_TABLE(SETTINGS),
    .others = OTHERS,
};

bool config_read(struct config *config, int argc, char **argv, struct flags_found *found)
{
    return config_read_text(config, argc, argv, NULL, found);
}

bool config_read_text(struct config *config, int argc, char **argv, const char *text,
                      struct flags_found *found)
{
    struct flags flags = config_flags;
    flags.text = text;
    *config = (struct config){.workers = CONFIG_AUTO};
    if (!flags_read(&flags, argc, argv, config, found))
        return false;
    if (found->help)
        return true;
    bool issuer = config->oidc_issuer[0] != '\0', audience = config->oidc_audience[0] != '\0';
    const char *wrong = NULL;
    unsigned keys =
        (config->key[0] != '\0') + (config->key_file[0] != '\0') + (config->key_command[0] != '\0');
    if (keys > 1)
        wrong = "give one of --key, --key-file and --key-command";
    else if ((config->tls_cert[0] != '\0') != (config->tls_key[0] != '\0'))
        wrong = "--tls-cert and --tls-key go together";
    else if (config->tls_client_ca[0] != '\0' && config->tls_cert[0] == '\0')
        wrong = "--tls-client-ca needs --tls-cert";
    else if (issuer != audience || issuer != (config->oidc_jwks[0] != '\0'))
        wrong = "--oidc-issuer, --oidc-audience and --oidc-jwks go together";
    else if (config->workers == 0 &&
             (config->database[0] == '\0' || strcmp(config->database, "sqlite") == 0))
        wrong = "--workers 0 needs --database postgresql://...: nothing else would run the jobs";
    else if (config->log_origin[0] != '\0' && !api_log_origin_good(config->log_origin))
        wrong = "--log-origin is at most 95 printable ASCII characters without spaces and +";
    if (!wrong)
        return true;
    snprintf(found->error, sizeof found->error, "%s", wrong);
    free(found->file);
    found->file = NULL;
    return false;
}
