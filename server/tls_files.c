/* At the start the files are opened by their names; afterwards by a process that still may. */
#include "server/tls_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include "server/os/log.h"
#include "server/os/reopen.h"

void server_files(const struct config *config, const char *out[SERVER_FILES])
{
    out[SERVER_CONFIG] = config->config ? config->config : "";
    out[SERVER_CERT] = config->tls_cert;
    out[SERVER_KEY] = config->tls_key;
    out[SERVER_CLIENT_CA] = config->tls_client_ca;
}

static char *read_tls_file(const struct config *config, enum server_file index,
                           struct reopen *files, char *error, size_t error_size)
{
    const char *paths[SERVER_FILES];
    server_files(config, paths);
    int file = files ? reopen_file(files, index) : open(paths[index], O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (index == SERVER_KEY && file >= 0 && fstat(file, &status) == 0 &&
        (status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        log_event(LOG_LEVEL_WARN, "tls-key-exposed",
                  "file=\"%.500s\" note=\"others than its owner may use it: chmod 600\"",
                  paths[index]);
    return tls_read_pem(file, paths[index], error, error_size);
}

static bool read_tls_files(const struct config *config, struct reopen *files, struct tls_pem *out,
                           char *error, size_t error_size)
{
    bool wants_ca = config->tls_client_ca[0] != '\0';
    out->cert = read_tls_file(config, SERVER_CERT, files, error, error_size);
    if (out->cert)
        out->key = read_tls_file(config, SERVER_KEY, files, error, error_size);
    if (out->key && wants_ca)
        out->client_ca = read_tls_file(config, SERVER_CLIENT_CA, files, error, error_size);
    return out->key && (out->client_ca || !wants_ca);
}

bool tls_files_open(struct tls_files *tls, const struct config *config, char *error,
                    size_t error_size)
{
    bool changed;
    if (config->tls_cert[0] == '\0')
        return true;
    tls->keys = tls_keys_new();
    int64_t now_s = (int64_t)time(NULL);
    if (!read_tls_files(config, NULL, &tls->pem, error, error_size) ||
        !tls_keys_renew(tls->keys, &tls->pem, now_s, &changed, error, error_size))
        return false;
    int64_t end_s = tls_keys_end_s(tls->keys);
    if (end_s > 0 && end_s < now_s)
        log_event(LOG_LEVEL_WARN, "tls-ended",
                  "file=\"%.500s\" note=\"clients refuse a certificate that has ended: renew it, "
                  "and send SIGHUP\"",
                  config->tls_cert);
    return true;
}

bool tls_files_renew(struct tls_files *tls, const struct config *config, struct reopen *files,
                     char *error, size_t error_size)
{
    struct tls_pem pem = {NULL, NULL, NULL};
    bool changed = false;
    if (!tls->keys)
        return true;
    bool good = read_tls_files(config, files, &pem, error, error_size) &&
                tls_keys_renew(tls->keys, &pem, (int64_t)time(NULL), &changed, error, error_size);
    tls_pem_clear(&pem);
    if (good && changed)
        log_event(LOG_LEVEL_INFO, "tls-renewed",
                  "note=\"new connections get the new certificate\"");
    return good;
}

void tls_files_close(struct tls_files *tls)
{
    tls_pem_clear(&tls->pem);
    tls_keys_free(tls->keys);
    tls->keys = NULL;
}
