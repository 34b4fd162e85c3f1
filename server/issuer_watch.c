/* Sends a text again only after it has changed, and a failure only after another outcome. */
#include "server/issuer_watch.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "memory/memory.h"
#include "server/os/outgoing.h"

#define FILE_MS      1000
#define ADDRESS_MS   300000
#define AGAIN_MS     10000 /* after a fetch that failed */
#define EARLY_MS     60000 /* between two early fetches */
#define FETCH_MOST_S 10L
#define OUT          OUTGOING_SOCKET

/* ---- sources */

bool issuer_is_address(const char *source)
{
    return strstr(source, "://") != NULL;
}

const char *issuer_source_wrong(const char *source)
{
    return issuer_is_address(source) ? outgoing_address_wrong(source) : NULL;
}

static void watch_failed(struct issuer_message *now, const char *why)
{
    now->good = false;
    now->size = (uint32_t)snprintf(now->text, sizeof now->text, "%.300s", why);
}

static void read_file(const char *path, struct issuer_message *now)
{
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = 1;
    now->size = 0;
    while (file >= 0 && n > 0 && now->size < sizeof now->text) {
        n = read(file, now->text + now->size, sizeof now->text - now->size);
        now->size += n > 0 ? (uint32_t)n : 0;
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
    struct issuer_message *now = context;
    (void)one;
    if (count > JWKS_BYTES_MOST - now->size)
        return 0;
    memcpy(now->text + now->size, bytes, count);
    now->size += (uint32_t)count;
    return count;
}

static void fetch_address(const char *address, struct issuer_message *now)
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
    if (strncasecmp(address, "http://", 7) == 0) /* this machine: a proxy would give the keys */
        curl_easy_setopt(curl, CURLOPT_PROXY, "");
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

/* ---- the process that reads */

/* False: the other end is closed. */
static bool send_watched(const struct issuer_message *now)
{
    return send(OUT, now, offsetof(struct issuer_message, text) + now->size, MSG_NOSIGNAL) >= 0;
}

/* Waits for at most WAIT_MS. False: the other end is closed. A packet from there counts as *WISH
 * for an early fetch. */
static bool watch_wait(int64_t wait_ms, bool *wish)
{
    char packet;
    struct pollfd server = {.fd = OUT, .events = POLLIN};
    if (poll(&server, 1, wait_ms > 0 ? (int)wait_ms : 0) <= 0)
        return true;
    *wish = true;
    return recv(OUT, &packet, 1, MSG_DONTWAIT) > 0;
}

/* Waits until SOURCE is due, and sets *EARLY to the time from which it may be fetched early again.
 * False: the other end is closed. */
static bool wait_until_due(bool address, bool good, int64_t *early)
{
    int64_t wait_ms = FILE_MS, now = outgoing_clock_ms();
    bool wish = false, open = true;
    if (address)
        wait_ms = good ? ADDRESS_MS : AGAIN_MS;
    for (int64_t due = now + wait_ms; open && now < due; now = outgoing_clock_ms()) {
        bool wished = address && wish;
        if (wished && now >= *early) {
            *early = now + EARLY_MS;
            break;
        }
        int64_t next = wished && *early < due ? *early : due;
        open = watch_wait(next - now, &wish);
    }
    return open;
}

static void read_forever(const void *context)
{
    const char *source = context;
    bool address = issuer_is_address(source), sent = false;
    struct issuer_message *now = memory_new(1, sizeof *now), *before = memory_new(1, sizeof *now);
    int64_t early = 0;
    if (address)
        curl_global_init(CURL_GLOBAL_DEFAULT);
    do {
        if (address)
            fetch_address(source, now);
        else
            read_file(source, now);
        bool same = sent && now->good == before->good && now->size == before->size &&
                    memcmp(now->text, before->text, now->size) == 0;
        if (!same && !send_watched(now))
            return;
        sent = true;
        struct issuer_message *swap = before;
        before = now;
        now = swap;
    } while (wait_until_due(address, before->good, &early));
}

/* ---- the process that starts it */

void issuer_watch(const char *source, int out)
{
    static const char died[] = "the process that reads them has ended and is started again";
    struct issuer_message *news = memory_new(1, sizeof *news);
    watch_failed(news, died);
    outgoing_run("tacet-keys", out, read_forever, source, news,
                 offsetof(struct issuer_message, text) + news->size);
}
