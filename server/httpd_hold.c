/* All are held equally long, so a queue in the order of their coming is enough. */
#include "server/httpd_hold.h"

#include "server/os/clock.h"

#define HOLD_US 1000000

bool httpd_within_rate(struct httpd *httpd, struct exchange *exchange)
{
    bool known = exchange->client != 0;
    struct rates *rates = known ? &httpd->client_rates : &httpd->address_rates;
    bool within = rates_take(rates, known ? exchange->client : exchange->address,
                             exchange->begun_us, &exchange->left);
    if (rates->most > 0 && (known || !within))
        exchange->rates = rates;
    return within;
}

bool httpd_hold(struct httpd *httpd, struct exchange *exchange)
{
    struct httpd_held *held = &httpd->held;
    if (held->count >= httpd->settings.connections / 4 || atomic_load(&httpd->draining))
        return false;
    exchange->suspended_us = clock_now_us();
    exchange->next = NULL;
    if (held->newest)
        held->newest->next = exchange;
    else
        held->oldest = exchange;
    held->newest = exchange;
    held->count++;
    exchange->stage = STAGE_OVER_RATE;
    httpd_suspend(exchange->connection);
    return true;
}

void httpd_hold_end(struct httpd *httpd, bool all)
{
    struct httpd_held *held = &httpd->held;
    int64_t now_us = held->oldest ? clock_now_us() : 0;
    while (held->oldest && (all || held->oldest->suspended_us + HOLD_US <= now_us)) {
        struct exchange *exchange = held->oldest;
        held->oldest = exchange->next;
        if (!held->oldest)
            held->newest = NULL;
        held->count--;
        httpd_resume(exchange->connection);
    }
}

int httpd_hold_ms(const struct httpd *httpd)
{
    if (!httpd->held.oldest)
        return -1;
    int64_t left_us = httpd->held.oldest->suspended_us + HOLD_US - clock_now_us();
    return left_us > 0 ? (int)(left_us / 1000) + 1 : 0;
}
