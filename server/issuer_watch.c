/* Sends a text again only after it has changed, and a failure only after another outcome. */
#include "server/issuer_watch.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "api/identity/jwks.h"
#include "memory/memory.h"
#include "server/os/confine.h"

#define FILE_MS      1000
#define ADDRESS_MS   300000
#define AGAIN_MS     10000 /* after a fetch that failed */
#define FETCH_MOST_S 10L
#define OUT          3

struct watched {
    char text[JWKS_BYTES_MOST + 1]; /* keys, or why there are none */
    size_t size;
    bool good;
};

/* ---- sources */

bool issuer_is_address(const char *source)
{
    return strstr(source, "://") != NULL;
}

const char *issuer_source_wrong(const char *source)
{
    static const char *const near[] = {"http://127.0.0.1", "http://[::1]", "http://localhost"};
    if (!issuer_is_address(source) || strncasecmp(source, "https://", 8) == 0)
        return NULL;
    for (size_t i = 0; i < sizeof near / sizeof near[0]; i++) {
        size_t size = strlen(near[i]);
        if (strncasecmp(source, near[i], size) == 0 && strchr(":/", source[size]))
            return NULL;
    }
    return "an address must begin with https://; http:// is for this machine alone";
}

static void watch_failed(struct watched *now, const char *why)
{
    now->good = false;
    now->size = (size_t)snprintf(now->text, sizeof now->text, "%.300s", why);
}

static void read_file(const char *path, struct watched *now)
{
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = 1;
    now->size = 0;
    while (file >= 0 && n > 0 && now->size < sizeof now->text) {
        n = read(file, now->text + now->size, sizeof now->text - now->size);
        now->size += n > 0 ? (size_t)n : 0;
    }
    if (file >= 0)
        close(file);
    now->good = file >= 0 && n == 0;
    if (!now->good)
        watch_failed(now, now->size == sizeof now->text ? "the file is larger than 64 KiB"
                                                        : "the file cannot be read");
}

/* For libcurl: takes COUNT bytes. Another number ends the transfer. */
static size_t watch_bytes(char *bytes, size_t one, size_t count, void *context)
{
    struct watched *now = context;
    (void)one;
    if (count > JWKS_BYTES_MOST - now->size)
        return 0;
    memcpy(now->text + now->size, bytes, count);
    now->size += count;
    return count;
}

static void fetch_address(const char *address, struct watched *now)
{
    char why[CURL_ERROR_SIZE] = "";
    long status = 0;
    CURL *curl = memory_must(curl_easy_init());
    now->size = 0;
    curl_easy_setopt(curl, CURLOPT_URL, address);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "https,http");
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, FETCH_MOST_S);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, why);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, watch_bytes);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, now);
    CURLcode code = curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_cleanup(curl);
    now->good = code == CURLE_OK && status == 200;
    if (code == CURLE_WRITE_ERROR)
        watch_failed(now, "the answer is larger than 64 KiB");
    else if (code != CURLE_OK)
        watch_failed(now, why[0] != '\0' ? why : curl_easy_strerror(code));
    else if (status != 200)
        watch_failed(now, "the answer is not 200");
}

/* ---- the process */

static bool write_whole(const void *bytes, size_t size)
{
    const char *at = bytes;
    while (size > 0) {
        ssize_t n = write(OUT, at, size);
        if (n <= 0)
            return false;
        at += n;
        size -= (size_t)n;
    }
    return true;
}

static bool send_watched(const struct watched *now)
{
    const struct issuer_message message = {.size = (uint32_t)now->size, .good = now->good};
    return write_whole(&message, sizeof message) && write_whole(now->text, now->size);
}

/* Keeps nothing that the server had but the pipe, as OUT, and nothing that it may do but reading
 * and connecting. */
static void leave_server(int out)
{
    sigset_t none;
    int nowhere = open("/dev/null", O_RDWR);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "tacet-keys");
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
    for (int i = 0; i < OUT; i++)
        dup2(nowhere, i);
    if (out != OUT)
        dup2(out, OUT);
    closefrom(OUT + 1);
    confine_writes();
}

void issuer_watch(const char *source, int out)
{
    bool address = issuer_is_address(source);
    struct watched *now = memory_new(1, sizeof *now), *before = memory_new(1, sizeof *before);
    struct pollfd reader = {.fd = OUT};
    bool sent = false;
    leave_server(out);
    if (address)
        curl_global_init(CURL_GLOBAL_DEFAULT);
    for (;;) {
        if (address)
            fetch_address(source, now);
        else
            read_file(source, now);
        bool same = sent && now->good == before->good && now->size == before->size &&
                    memcmp(now->text, before->text, now->size) == 0;
        if (!same && !send_watched(now))
            _exit(0);
        sent = true;
        struct watched *swap = before;
        before = now;
        now = swap;
        int wait_ms = FILE_MS;
        if (address)
            wait_ms = before->good ? ADDRESS_MS : AGAIN_MS;
        if (poll(&reader, 1, wait_ms) > 0) /* the server has closed its end */
            _exit(0);
    }
}
