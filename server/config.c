/* The table of settings and its readers. A new setting is one member in config.h and one row here.
 */
#include "server/config.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum kind { KIND_TEXT, KIND_COUNT, KIND_BYTES, KIND_SWITCH, KIND_LIST };

struct setting {
    const char *name;
    enum kind kind;
    size_t offset;
    const char *fallback;
    uint64_t least, most; /* of a number */
    const char *unit;
    const char *meaning;
};

#define TEXT(member)   KIND_TEXT, offsetof(struct config, member)
#define COUNT(member)  KIND_COUNT, offsetof(struct config, member)
#define BYTES(member)  KIND_BYTES, offsetof(struct config, member)
#define SWITCH(member) KIND_SWITCH, offsetof(struct config, member)
#define LIST(member)   KIND_LIST, offsetof(struct config, member)
#define KIB            ((uint64_t)1024)
#define MIB            (1024 * KIB)
#define GIB            (1024 * MIB)

static const struct setting SETTINGS[] = {
    {"data", TEXT(data), "./data", 0, 0, "", "directory of the database, made with mode 0700"},
    {"listen", TEXT(listen), "127.0.0.1:8080", 0, 0, "HOST:PORT",
     "address to serve on; port 0 takes a free one, [::1]:8080 for IPv6"},
    {"port-file", TEXT(port_file), "", 0, 0, "", "file that receives the port when it is open"},
    {"database", TEXT(database), "sqlite", 0, 0, "", "kind of database; sqlite is the only one"},
    {"tls-cert", TEXT(tls_cert), "", 0, 0, "", "PEM file of the certificate chain; needs tls-key"},
    {"tls-key", TEXT(tls_key), "", 0, 0, "", "PEM file of the private key; needs tls-cert"},
    {"workers", COUNT(workers), "0", 0, 64, "threads",
     "threads that run jobs; 0 is one less than the cores, at least 1"},
    {"pool-threads", COUNT(pool_threads), "8", 1, 64, "threads",
     "threads for calls that compute or receive uploads"},
    {"uploads", COUNT(uploads), "4", 1, 64, "uploads",
     "uploads at once; the next one is told to come again"},
    {"queue", COUNT(queue), "4096", 1, 65536, "requests",
     "requests that may wait for a commit, and for the pool"},
    {"batch", COUNT(batch), "256", 1, 4096, "requests", "requests in one commit at most"},
    {"event-streams", COUNT(event_streams), "64", 1, 4096, "streams", "watchers of events at once"},
    {"connections", COUNT(connections), "1024", 4, 60000, "sockets", "open connections at most"},
    {"connections-per-ip", COUNT(connections_per_ip), "512", 0, 60000, "sockets",
     "of one address; 0 is no limit of its own"},
    {"idle-timeout", COUNT(idle_timeout_s), "30", 1, 3600, "s",
     "a connection that is silent for so long is closed"},
    {"body-timeout", COUNT(body_timeout_s), "30", 1, 3600, "s",
     "time for a body, and one second more for each KiB of it"},
    {"drain-timeout", COUNT(drain_timeout_s), "30", 1, 3600, "s",
     "what is still running so long after SIGTERM is cut off"},
    {"max-body", BYTES(max_body_bytes), "1M", KIB, GIB, "bytes", "largest JSON body"},
    {"max-upload", BYTES(max_upload_bytes), "4G", KIB, 1024 * GIB, "bytes",
     "largest upload of trajectories, as sent and as decoded"},
    {"max-policy", BYTES(max_policy_bytes), "16M", KIB, GIB, "bytes", "largest network uploaded"},
    {"max-buffered", BYTES(max_buffered_bytes), "512M", MIB, 64 * GIB, "bytes",
     "bodies held in memory, all requests together"},
    {"max-states", COUNT(max_states_per_query), "1024", 1, 65536, "states", "states in one query"},
    {"max-experts", COUNT(max_experts_per_dataset), "100000", 1, 10000000, "experts",
     "experts in one dataset"},
    {"world", LIST(worlds), "", 0, 0, "NAME=COMMAND",
     "a world that is a program (docs/worlds.md); may be repeated, and the variable holds one a "
     "line"},
    {"world-timeout", COUNT(world_timeout_s), "10", 1, 3600, "s",
     "time for one answer of a world's program"},
    {"world-run-timeout", COUNT(world_run_timeout_s), "3600", 1, 604800, "s",
     "time for all that one job asks a world's program"},
    {"world-memory", BYTES(world_memory_bytes), "0", 0, 1024 * GIB, "bytes",
     "address space of a world's program; 0 is no limit"},
    {"cors-origins", TEXT(cors_origins), "", 0, 0, "",
     "web origins that may call, comma-separated"},
    {"log-level", TEXT(log_level), "info", 0, 0, "", "error, warn, info or debug"},
    {"access-log", SWITCH(access_log), "off", 0, 1, "",
     "a log line for every request; off: for those that were refused or failed"},
    {"stay-awake", SWITCH(stay_awake), "off", 0, 1, "",
     "while answers are many, no processor of the machine sleeps (docs/performance.md)"},
};
#define SETTING_COUNT (sizeof SETTINGS / sizeof SETTINGS[0])

static const struct setting *find_setting(const char *name, size_t length)
{
    for (size_t i = 0; i < SETTING_COUNT; i++)
        if (strlen(SETTINGS[i].name) == length && memcmp(SETTINGS[i].name, name, length) == 0)
            return &SETTINGS[i];
    return NULL;
}

/* "512", "64K", "1M", "4G": false when it is no such number or does not fit. */
static bool read_number(const char *text, bool with_suffix, uint64_t *out)
{
    if (!isdigit((unsigned char)text[0]))
        return false;
    char *end = NULL;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    uint64_t factor = 1;
    if (with_suffix && *end != '\0') {
        factor = *end == 'K' ? KIB : *end == 'M' ? MIB : *end == 'G' ? GIB : 0;
        end++;
    }
    if (errno != 0 || *end != '\0' || factor == 0 || number > UINT64_MAX / factor)
        return false;
    *out = number * factor;
    return true;
}

static bool read_switch(const char *text, uint64_t *out)
{
    if (strcmp(text, "on") == 0 || strcmp(text, "1") == 0 || strcmp(text, "true") == 0)
        *out = 1;
    else if (strcmp(text, "off") == 0 || strcmp(text, "0") == 0 || strcmp(text, "false") == 0)
        *out = 0;
    else
        return false;
    return true;
}

static bool add_to_list(struct config_list *list, const char *where, const char *text, char *error,
                        size_t error_size)
{
    if (strncmp(where, "--", 2) == 0 && !list->flagged)
        *list = (struct config_list){.flagged = true};
    if (text[0] == '\0')
        return true;
    if (list->count == CONFIG_LIST_MAX) {
        snprintf(error, error_size, "%s: more than %d of them", where, CONFIG_LIST_MAX);
        return false;
    }
    list->texts[list->count++] = text;
    return true;
}

/* WHERE is how the caller spelled it: "--workers" or "TACET_WORKERS". */
static bool set(struct config *config, const struct setting *setting, const char *where,
                const char *text, char *error, size_t error_size)
{
    void *member = (char *)config + setting->offset;
    if (setting->kind == KIND_TEXT) {
        *(const char **)member = text;
        return true;
    }
    if (setting->kind == KIND_LIST)
        return add_to_list(member, where, text, error, error_size);
    uint64_t number = 0;
    if (setting->kind == KIND_SWITCH) {
        if (read_switch(text, &number)) {
            *(uint64_t *)member = number;
            return true;
        }
        snprintf(error, error_size, "%s: \"%s\" is neither on nor off", where, text);
        return false;
    }
    bool bytes = setting->kind == KIND_BYTES;
    if (!read_number(text, bytes, &number) || number < setting->least || number > setting->most) {
        snprintf(error, error_size, "%s: \"%s\" is not a number from %llu to %llu%s", where, text,
                 (unsigned long long)setting->least, (unsigned long long)setting->most,
                 bytes ? " (K, M and G may follow)" : "");
        return false;
    }
    *(uint64_t *)member = number;
    return true;
}

static void environment_name(const struct setting *setting, char *out, size_t size)
{
    int n = snprintf(out, size, "TACET_%s", setting->name);
    for (int i = 0; i < n && (size_t)i < size; i++)
        out[i] = out[i] == '-' ? '_' : (char)toupper((unsigned char)out[i]);
}

static bool read_flags(struct config *config, int argc, char **argv, bool *out_help, char *error,
                       size_t error_size)
{
    for (int i = 0; i < argc; i++) {
        const char *flag = argv[i];
        if (strcmp(flag, "--help") == 0 || strcmp(flag, "-h") == 0) {
            *out_help = true;
            return true;
        }
        const char *equals = strchr(flag, '=');
        size_t length = equals ? (size_t)(equals - flag) : strlen(flag);
        const struct setting *setting =
            strncmp(flag, "--", 2) == 0 ? find_setting(flag + 2, length - 2) : NULL;
        if (!setting) {
            snprintf(error, error_size, "%.*s: no such flag; --help lists them", (int)length, flag);
            return false;
        }
        bool next_is_value = i + 1 < argc && strncmp(argv[i + 1], "--", 2) != 0;
        const char *value = equals                         ? equals + 1
                            : next_is_value                ? argv[++i]
                            : setting->kind == KIND_SWITCH ? "on"
                                                           : NULL;
        if (!value) {
            snprintf(error, error_size, "%s: a value must follow", flag);
            return false;
        }
        char where[64];
        snprintf(where, sizeof where, "--%s", setting->name);
        if (!set(config, setting, where, value, error, error_size))
            return false;
    }
    return true;
}

bool config_read(struct config *config, int argc, char **argv,
                 char *(*getenv_function)(const char *), bool *out_help, char *error,
                 size_t error_size)
{
    *config = (struct config){0};
    *out_help = false;
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        const struct setting *setting = &SETTINGS[i];
        char name[64];
        environment_name(setting, name, sizeof name);
        if (!set(config, setting, name, setting->fallback, error, error_size))
            return false;
        const char *value = getenv_function(name);
        if (value && !set(config, setting, name, value, error, error_size))
            return false;
    }
    if (!read_flags(config, argc, argv, out_help, error, error_size))
        return false;
    if ((config->tls_cert[0] != '\0') != (config->tls_key[0] != '\0')) {
        snprintf(error, error_size, "--tls-cert and --tls-key go together");
        return false;
    }
    return true;
}

void config_print_help(FILE *out)
{
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        const struct setting *s = &SETTINGS[i];
        char name[64];
        environment_name(s, name, sizeof name);
        fprintf(out, "  --%-20s %s", s->name, s->meaning);
        if (s->kind == KIND_LIST)
            fprintf(out, " (%s)", s->unit);
        if (s->fallback[0] != '\0')
            fprintf(out, " (default %s%s%s)", s->fallback, s->unit[0] != '\0' ? ", " : "", s->unit);
        fprintf(out, "\n  %-22s %s", "", name);
        if (s->kind == KIND_COUNT || s->kind == KIND_BYTES)
            fprintf(out, ", %llu to %llu %s", (unsigned long long)s->least,
                    (unsigned long long)s->most, s->unit);
        fprintf(out, "\n");
    }
}
