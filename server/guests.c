/* One list in the order of arrival, under one lock. The socket is shut down under the lock, and a
 * guest leaves before its socket is closed, so that no other connection can have its number. */
#include "server/guests.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory/memory.h"
#include "server/os/clock.h"

#define TICK_MS         250
#define NEVER           INT64_MAX
#define LINGERERS       64
#define LINGERS_US      2000000
#define LINGER_BYTES    ((size_t)8 * 1024 * 1024)
#define SECONDS(number) ((int64_t)(number)*1000000)

struct guest {
    struct guest *older, *newer;
    void *host;
    int handle;
    uint64_t address, client; /* 0: not known */
    int64_t deadline_us;      /* NEVER: none */
    bool lingers;
    bool streams; /* takes a stream of events */
    bool leaving; /* was shut down */
    struct guest_certificate certificate;
    enum guest_welcome welcome; /* anything but WELCOME: it has no place */
};

struct lingerer {
    int handle;
    int64_t until_us;
    size_t left;
};

struct guests {
    struct guests_settings settings;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    struct guest *oldest, *newest;
    unsigned count; /* guests that have a place */
    bool stopping;
    struct lingerer lingerers[LINGERERS];
    unsigned lingerer_count;
};

/* ---- lingering; the lock is held */

static void lingerer_end(struct guests *guests, unsigned i)
{
    close(guests->lingerers[i].handle);
    guests->lingerers[i] = guests->lingerers[--guests->lingerer_count];
}

static void lingerer_add(struct guests *guests, int handle)
{
    int copy = fcntl(handle, F_DUPFD_CLOEXEC, 0);
    if (copy < 0)
        return;
    shutdown(copy, SHUT_WR);
    if (guests->lingerer_count == LINGERERS)
        lingerer_end(guests, 0);
    guests->lingerers[guests->lingerer_count++] =
        (struct lingerer){copy, clock_now_us() + LINGERS_US, LINGER_BYTES};
}

/* Throws away what has come. False: the other end is gone. */
static bool lingerer_drain(struct lingerer *lingerer)
{
    ssize_t n = 1;
    while (n > 0 && lingerer->left > 0) {
        size_t most = lingerer->left < (1 << 20) ? lingerer->left : (1 << 20);
        n = recv(lingerer->handle, NULL, most, MSG_TRUNC | MSG_DONTWAIT);
        if (n > 0)
            lingerer->left -= (size_t)n;
    }
    return n > 0 || (n < 0 && errno == EAGAIN);
}

static void drain_all(struct guests *guests, int64_t now_us)
{
    for (unsigned i = guests->lingerer_count; i-- > 0;)
        if (!lingerer_drain(&guests->lingerers[i]) || now_us > guests->lingerers[i].until_us)
            lingerer_end(guests, i);
}

/* ---- deadlines */

/* The lock is held. */
static void shut_down(struct guest *guest)
{
    guest->leaving = true;
    guest->deadline_us = NEVER;
    shutdown(guest->handle, SHUT_RDWR);
}

static void *guests_run(void *context)
{
    struct guests *guests = context;
    pthread_mutex_lock(&guests->lock);
    while (!guests->stopping) {
        int64_t now_us = clock_now_us();
        for (struct guest *guest = guests->oldest; guest; guest = guest->newer)
            if (now_us > guest->deadline_us)
                shut_down(guest);
        drain_all(guests, now_us);
        struct timespec until = clock_in_ms(guests->lingerer_count > 0 ? 10 : TICK_MS);
        pthread_cond_timedwait(&guests->changed, &guests->lock, &until);
    }
    while (guests->lingerer_count > 0)
        lingerer_end(guests, 0);
    pthread_mutex_unlock(&guests->lock);
    return NULL;
}

struct guests *guests_start(const struct guests_settings *settings)
{
    struct guests *guests = memory_new(1, sizeof *guests);
    guests->settings = *settings;
    pthread_mutex_init(&guests->lock, NULL);
    clock_condition_init(&guests->changed);
    if (pthread_create(&guests->thread, NULL, guests_run, guests) == 0)
        return guests;
    pthread_cond_destroy(&guests->changed);
    pthread_mutex_destroy(&guests->lock);
    free(guests);
    return NULL;
}

void guests_stop(struct guests *guests)
{
    if (!guests)
        return;
    pthread_mutex_lock(&guests->lock);
    assert(!guests->oldest);
    guests->stopping = true;
    pthread_cond_signal(&guests->changed);
    pthread_mutex_unlock(&guests->lock);
    pthread_join(guests->thread, NULL);
    pthread_cond_destroy(&guests->changed);
    pthread_mutex_destroy(&guests->lock);
    free(guests);
}

/* ---- places; the lock is held */

/* An IPv4 address, or the first half of an IPv6 one, which is what a customer gets. */
static uint64_t address_number(const struct sockaddr *address)
{
    uint64_t number = 0;
    if (address && address->sa_family == AF_INET) {
        uint32_t four;
        memcpy(&four, &((const struct sockaddr_in *)(const void *)address)->sin_addr, sizeof four);
        return (uint64_t)1 << 32 | four;
    }
    if (address && address->sa_family == AF_INET6) {
        const struct in6_addr *six =
            &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
        memcpy(&number, six->s6_addr, sizeof number);
        if (IN6_IS_ADDR_V4MAPPED(six)) {
            uint32_t four;
            memcpy(&four, six->s6_addr + 12, sizeof four);
            number = (uint64_t)1 << 32 | four;
        }
    }
    return number;
}

/* Gives the guest's place back. */
static void leave_place(struct guests *guests, struct guest *guest)
{
    if (guest->welcome == GUEST_WELCOME) {
        guests->count--;
        shares_give(guests->settings.addresses, guest->address, SHARE_CONNECTIONS, 1);
    }
    guest->welcome = GUEST_ALL_FULL;
}

static void give_place(struct guests *guests, struct guest *guest)
{
    guest->welcome = GUEST_ALL_FULL;
    if (guests->count >= guests->settings.places)
        return;
    guest->welcome = GUEST_SHARE_FULL;
    if (!shares_take(guests->settings.addresses, guest->address, SHARE_CONNECTIONS, 1))
        return;
    guest->welcome = GUEST_WELCOME;
    guests->count++;
}

/* Sends the oldest guest away who never sent a token and whom no answer is being made for; of
 * ADDRESS, or of any when that is 0. */
static void make_room(struct guests *guests, uint64_t address)
{
    for (struct guest *guest = guests->oldest; guest; guest = guest->newer) {
        bool strange = guest->client == 0 && guest->deadline_us != NEVER && !guest->leaving;
        if (!strange || guest->welcome != GUEST_WELCOME ||
            (address != 0 && guest->address != address))
            continue;
        shut_down(guest);
        leave_place(guests, guest);
        return;
    }
}

/* ---- a connection's life */

struct guest *guests_enter(struct guests *guests, int handle, const struct sockaddr *address)
{
    struct guest *guest = memory_new(1, sizeof *guest);
    guest->handle = handle;
    guest->host = guests->settings.host;
    guest->address = guests->settings.addresses ? address_number(address) : 0;
    guest->deadline_us = clock_now_us() + SECONDS(guests->settings.head_timeout_s);
    pthread_mutex_lock(&guests->lock);
    give_place(guests, guest);
    if (guest->welcome != GUEST_WELCOME) {
        make_room(guests, guest->welcome == GUEST_SHARE_FULL ? guest->address : 0);
        give_place(guests, guest);
    }
    guest->older = guests->newest;
    if (guests->newest)
        guests->newest->newer = guest;
    else
        guests->oldest = guest;
    guests->newest = guest;
    pthread_mutex_unlock(&guests->lock);
    return guest;
}

void guests_leave(struct guests *guests, struct guest *guest)
{
    pthread_mutex_lock(&guests->lock);
    leave_place(guests, guest);
    shares_give(guests->settings.clients, guest->client, SHARE_CONNECTIONS, 1);
    if (guest->lingers && !guest->leaving) {
        lingerer_add(guests, guest->handle);
        pthread_cond_signal(&guests->changed);
    }
    *(guest->older ? &guest->older->newer : &guests->oldest) = guest->newer;
    *(guest->newer ? &guest->newer->older : &guests->newest) = guest->older;
    pthread_mutex_unlock(&guests->lock);
    free(guest);
}

enum guest_welcome guests_head_came(struct guests *guests, struct guest *guest)
{
    pthread_mutex_lock(&guests->lock);
    guest->deadline_us = NEVER;
    guest->streams = false;
    if (guest->welcome != GUEST_WELCOME && !guest->leaving)
        give_place(guests, guest);
    enum guest_welcome welcome = guest->welcome;
    pthread_mutex_unlock(&guests->lock);
    return welcome;
}

enum guest_welcome guests_known(struct guests *guests, struct guest *guest, uint64_t client)
{
    if (guest->client == client) /* only this thread writes it */
        return GUEST_WELCOME;
    if (!shares_take(guests->settings.clients, client, SHARE_CONNECTIONS, 1))
        return GUEST_SHARE_FULL;
    pthread_mutex_lock(&guests->lock);
    shares_give(guests->settings.clients, guest->client, SHARE_CONNECTIONS, 1);
    guest->client = client;
    pthread_mutex_unlock(&guests->lock);
    return GUEST_WELCOME;
}

void guests_answer(struct guests *guests, struct guest *guest, uint64_t size, bool lingers)
{
    const struct guests_settings *settings = &guests->settings;
    uint64_t allowed_s = settings->answer_timeout_s + size / settings->least_rate;
    pthread_mutex_lock(&guests->lock);
    guest->deadline_us = clock_now_us() + SECONDS(allowed_s);
    guest->lingers = lingers;
    pthread_mutex_unlock(&guests->lock);
}

void guests_stream(struct guests *guests, struct guest *guest)
{
    pthread_mutex_lock(&guests->lock);
    guest->streams = true;
    pthread_mutex_unlock(&guests->lock);
}

void guests_end_one(struct guests *guests)
{
    struct guest *stream = NULL;
    pthread_mutex_lock(&guests->lock);
    struct guest *guest = guests->oldest;
    for (; guest && (guest->leaving || guest->deadline_us == NEVER); guest = guest->newer)
        if (!stream && guest->streams && !guest->leaving)
            stream = guest;
    if (guest || stream)
        shut_down(guest ? guest : stream);
    pthread_mutex_unlock(&guests->lock);
}

void guests_answered(struct guests *guests, struct guest *guest)
{
    int64_t allowed_s = (int64_t)guests->settings.idle_timeout_s + guests->settings.head_timeout_s;
    pthread_mutex_lock(&guests->lock);
    guest->deadline_us = clock_now_us() + SECONDS(allowed_s);
    pthread_mutex_unlock(&guests->lock);
}

uint64_t guest_address(const struct guest *guest)
{
    return guest->address;
}

void *guest_host(const struct guest *guest)
{
    return guest->host;
}

struct guest_certificate *guest_certificate(struct guest *guest)
{
    return &guest->certificate;
}
