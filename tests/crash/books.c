/* Reads the whole ledger over HTTP, as an auditor would. */
#include "tests/crash/books.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static int64_t number(const json_t *object, const char *member)
{
    json_t *value = json_object_get(object, member);
    cr_assert(json_is_integer(value), "%s is missing", member);
    return json_integer_value(value);
}

static void read_account(const struct scene *scene, const json_t *account, struct totals *totals)
{
    const json_t *units = json_object_get(account, "units");
    int64_t spent = number(units, "spent"), held = number(units, "held");
    int64_t limit = number(units, "limit");
    cr_assert(spent >= 0 && held == 0 && spent <= limit, "spent %lld, held %lld, limit %lld",
              (long long)spent, (long long)held, (long long)limit);
    totals->entries += number(account, "entries");
    const char *kind = json_string_value(json_object_get(account, "kind"));
    const char *resource = json_string_value(json_object_get(account, "resource"));
    if (resource == NULL || strcmp(resource, scene->teacher) != 0)
        return;
    if (kind != NULL && strcmp(kind, "teacher") == 0) {
        totals->teacher_spent = spent;
        totals->teacher_limit = limit;
    }
    const char *client = json_string_value(json_object_get(account, "client"));
    for (unsigned i = 0; i < scene->student_count; i++)
        if (client != NULL && strcmp(client, scene->students[i].id) == 0) {
            totals->student_spent[i] = spent;
            totals->student_limit[i] = limit;
            totals->student_entries[i] = number(account, "entries");
        }
}

struct totals read_ledger(const struct scene *scene)
{
    struct totals totals = {0};
    struct http_call list = {
        .method = "GET", .path = "/v1/ledger/accounts?page_size=1000", .token = scene->auditor};
    struct http_answer answer = http_expect(scene->client, 200, &list);
    size_t index;
    json_t *account;
    json_array_foreach(json_object_get(answer.json, "items"), index, account)
        read_account(scene, account, &totals);
    http_answer_clear(&answer);
    return totals;
}

void expect_clean_audit(const struct scene *scene)
{
    struct http_call verify = {
        .method = "POST", .path = "/v1/ledger:verify", .token = scene->auditor};
    struct http_answer answer = http_expect(scene->client, 200, &verify);
    cr_assert(json_is_true(json_object_get(answer.json, "ok")), "%s", answer.body);
    http_answer_clear(&answer);
}

/* Sums the entries of one account, page by page. */
static int64_t sum_entries(const struct scene *scene, const char *account, int64_t *out_count)
{
    int64_t sum = 0, count = 0;
    char path[512];
    snprintf(path, sizeof path, "/v1/ledger/accounts/%s/entries?page_size=1000", account);
    for (bool more = true; more;) {
        struct http_call list = {.method = "GET", .path = path, .token = scene->auditor};
        struct http_answer answer = http_expect(scene->client, 200, &list);
        size_t index;
        json_t *entry;
        json_array_foreach(json_object_get(answer.json, "items"), index, entry)
        {
            sum += number(json_object_get(entry, "units"), "spent");
            count++;
        }
        const char *next = http_text(&answer, "next_page_token");
        more = next[0] != '\0';
        snprintf(path, sizeof path, "/v1/ledger/accounts/%s/entries?page_size=1000&page_token=%s",
                 account, next);
        http_answer_clear(&answer);
    }
    *out_count = count;
    return sum;
}

void expect_entries_add_up(const struct scene *scene)
{
    struct http_call list = {
        .method = "GET", .path = "/v1/ledger/accounts?page_size=1000", .token = scene->auditor};
    struct http_answer answer = http_expect(scene->client, 200, &list);
    size_t index;
    json_t *account;
    json_array_foreach(json_object_get(answer.json, "items"), index, account)
    {
        int64_t count = 0;
        const char *id = json_string_value(json_object_get(account, "account"));
        int64_t sum = sum_entries(scene, id, &count);
        cr_expect_eq(sum, number(json_object_get(account, "units"), "spent"), "%s", id);
        cr_expect_eq(count, number(account, "entries"), "%s", id);
    }
    http_answer_clear(&answer);
}
