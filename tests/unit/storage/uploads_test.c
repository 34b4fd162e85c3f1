/* Datasets, experts and uploads: whole or not at all, each client's experts its own. */
#include "storage/uploads.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/storage/failing_driver.h"
#include "tests/unit/storage/store.h"

static void insert_dataset(const char *id)
{
    struct dataset_row dataset = {.name = "Übungen",
                                  .owner = "cli_steward",
                                  .environment = "cartpole",
                                  .state_dim = 4,
                                  .action_count = 2,
                                  .max_episode_steps = 500,
                                  .discount = 0.99,
                                  .min_action_probability = 0.02,
                                  .nominal_experts = 300,
                                  .state = DATASET_DELETED,
                                  .experts = 77,
                                  .account = "acc_a",
                                  .created_ms = 5};
    snprintf(dataset.id, sizeof dataset.id, "%s", id);
    cr_assert_eq(datasets_insert(f.db, &dataset, NULL), DB_OK, "%s", db_last_error(f.db));
}

static void open_store(void)
{
    fixture_open(&f, &db_driver_sqlite);
    insert_dataset("ds_a");
}

static struct dataset_row find(const char *id)
{
    struct dataset_row dataset;
    cr_assert_eq(datasets_find(f.db, id, &dataset), DB_OK);
    return dataset;
}

static enum db_status see_number(void *context, const struct db_row *row)
{
    *(int64_t *)context = db_row_integer(row, 0);
    return DB_OK;
}

static int64_t count_of(const char *sql)
{
    int64_t count = -1;
    cr_assert_eq(db_one(f.db, sql, NULL, 0, see_number, &count), DB_OK);
    return count;
}

/* Stages an upload of CHUNKS chunks "<client>-<i>". */
static void stage(const char *client, uint32_t chunks, char upload[ID_SIZE])
{
    enum dataset_verdict verdict;
    cr_assert_eq(uploads_begin(f.db, "ds_a", client, 1, upload, &verdict), DB_OK);
    cr_assert_eq(verdict, DATASET_OK);
    for (uint32_t i = 0; i < chunks; i++) {
        char bytes[64];
        int size = snprintf(bytes, sizeof bytes, "%s-%u", client, i);
        cr_assert_eq(uploads_chunk(f.db, upload, i, bytes, (size_t)size), DB_OK);
    }
}

static struct experts_outcome commit(const char *upload, uint32_t chunks, const char *const *names,
                                     uint32_t name_count, int64_t max_experts)
{
    static uint32_t numbers[8];
    struct upload_summary summary = {.chunks = chunks,
                                     .trajectories = 10,
                                     .transitions = 100,
                                     .experts = names,
                                     .expert_count = name_count,
                                     .max_experts = max_experts,
                                     .numbers = numbers};
    cr_assert_leq(name_count, 8);
    struct experts_outcome outcome;
    cr_assert_eq(uploads_commit(f.db, upload, &summary, &outcome), DB_OK, "%s",
                 db_last_error(f.db));
    return outcome;
}

struct read_back {
    char text[400];
    unsigned stop_after;
};

static bool see_chunk(void *context, const struct upload_chunk *chunk)
{
    struct read_back *out = context;
    size_t length = strlen(out->text);
    cr_assert_eq((uintptr_t)chunk->bytes % 8, 0);
    length += (size_t)snprintf(out->text + length, sizeof out->text - length,
                               "%.*s:", (int)chunk->size, (const char *)chunk->bytes);
    for (uint32_t i = 0; i < chunk->expert_count; i++) {
        length += (size_t)snprintf(out->text + length, sizeof out->text - length, "%u,",
                                   chunk->experts[i]);
    }
    snprintf(out->text + length, sizeof out->text - length, ";");
    return out->stop_after == 0 || --out->stop_after != 0;
}

/* ---- datasets */

Test(datasets, begin_open_and_empty, .init = open_store, .fini = store_close)
{
    struct dataset_row d = find("ds_a");
    cr_assert_eq(d.state, DATASET_OPEN);
    cr_assert_eq(d.experts, 0);
    cr_assert_str_eq(d.name, "Übungen");
    cr_assert_str_eq(d.environment, "cartpole");
    cr_assert(d.state_dim == 4 && d.action_count == 2 && d.max_episode_steps == 500);
    cr_assert(d.discount == 0.99 && d.min_action_probability == 0.02);
    cr_assert(d.nominal_experts == 300 && !d.is_public);
    cr_assert_str_eq(d.account, "acc_a");
    cr_assert_eq(datasets_insert(f.db, &d, NULL), DB_NONE);
    cr_assert_eq(datasets_find(f.db, "ds_x", &d), DB_NONE);
}

Test(datasets, seal_once, .init = open_store, .fini = store_close)
{
    enum dataset_verdict verdict;
    char upload[ID_SIZE];
    cr_assert_eq(datasets_seal(f.db, "ds_x", 1, &verdict), DB_OK);
    cr_assert_eq(verdict, DATASET_UNKNOWN);
    cr_assert_eq(datasets_seal(f.db, "ds_a", 1, &verdict), DB_OK);
    cr_assert_eq(verdict, DATASET_OK);
    cr_assert_eq(datasets_seal(f.db, "ds_a", 1, &verdict), DB_OK);
    cr_assert_eq(verdict, DATASET_NOT_OPEN);
    cr_assert_eq(uploads_begin(f.db, "ds_a", "cli_a", 1, upload, &verdict), DB_OK);
    cr_assert_eq(verdict, DATASET_NOT_OPEN);
    cr_assert_eq(find("ds_a").state, DATASET_SEALED);
}

static bool count_dataset(void *context, const struct dataset_row *dataset)
{
    cr_assert_neq(dataset->state, DATASET_DELETED);
    memcpy(context, dataset->id, ID_SIZE);
    return true;
}

Test(datasets, are_listed_until_deleted, .init = open_store, .fini = store_close)
{
    char last[ID_SIZE] = "";
    enum dataset_verdict verdict;
    insert_dataset("ds_b");
    insert_dataset("ds_c");
    cr_assert_eq(
        datasets_list(f.db, NULL, NULL, &(struct listing_page){.limit = 2}, count_dataset, last),
        DB_OK);
    cr_assert_str_eq(last, "ds_b");
    cr_assert_eq(datasets_list(f.db, "cli_steward", NULL, &(struct listing_page){5, "ds_b", 2},
                               count_dataset, last),
                 DB_OK);
    cr_assert_str_eq(last, "ds_c");
    cr_assert_eq(datasets_next_deleted(f.db, "", last), DB_NONE);
    cr_assert_eq(datasets_delete(f.db, "ds_c", &verdict), DB_OK);
    cr_assert_eq(verdict, DATASET_OK);
    cr_assert_eq(datasets_delete(f.db, "ds_c", &verdict), DB_OK);
    cr_assert_eq(verdict, DATASET_UNKNOWN);
    cr_assert_eq(datasets_next_deleted(f.db, "", last), DB_OK);
    cr_assert_str_eq(last, "ds_c");
    cr_assert_eq(datasets_next_deleted(f.db, "ds_c", last), DB_NONE);
    cr_assert_eq(
        datasets_list(f.db, NULL, NULL, &(struct listing_page){.limit = 9}, count_dataset, last),
        DB_OK);
    cr_assert_str_eq(last, "ds_b");
    last[0] = '\0';
    cr_assert_eq(datasets_list(f.db, "cli_other", NULL, &(struct listing_page){.limit = 9},
                               count_dataset, last),
                 DB_OK);
    cr_assert_str_eq(last, "");
    cr_assert_eq(find("ds_c").state, DATASET_DELETED);
}

/* ---- uploads */

Test(uploads, become_part_of_the_dataset_at_once, .init = open_store, .fini = store_close)
{
    const char *first[] = {"e1", "e2"}, *second[] = {"e3", "e1"};
    char a[ID_SIZE], b[ID_SIZE];
    struct read_back back = {.stop_after = 0};
    stage("cli_a", 2, a);
    stage("cli_a", 1, b);
    cr_assert_eq(uploads_read(f.db, "ds_a", see_chunk, &back), DB_OK);
    cr_assert_str_eq(back.text, "", "staged chunks were seen");
    struct experts_outcome outcome = commit(b, 1, first, 2, 100);
    cr_assert(outcome.verdict == DATASET_OK && outcome.new_experts == 2);
    outcome = commit(a, 2, second, 2, 100);
    cr_assert(outcome.verdict == DATASET_OK && outcome.new_experts == 1);
    cr_assert_eq(uploads_read(f.db, "ds_a", see_chunk, &back), DB_OK);
    cr_assert_str_eq(back.text, "cli_a-0:0,1,;cli_a-0:2,0,;cli_a-1:2,0,;");
    struct dataset_row d = find("ds_a");
    cr_assert(d.experts == 3 && d.trajectories == 20 && d.transitions == 200);
    cr_assert_eq(commit(a, 2, second, 2, 100).verdict, DATASET_UNKNOWN);
    cr_assert_eq(uploads_chunk(f.db, a, 2, "late", 4), DB_NONE);
    cr_assert_eq(uploads_abort(f.db, a), DB_OK);
    back = (struct read_back){.stop_after = 2};
    cr_assert_eq(uploads_read(f.db, "ds_a", see_chunk, &back), DB_OK);
    cr_assert_str_eq(back.text, "cli_a-0:0,1,;cli_a-0:2,0,;");
    cr_assert_eq(uploads_read(f.db, "ds_x", see_chunk, &back), DB_NONE);
}

Test(uploads, names_of_experts_are_each_clients_own, .init = open_store, .fini = store_close)
{
    const char *mine[] = {"e1"}, *mixed[] = {"e7", "e1"};
    char a[ID_SIZE], b[ID_SIZE], c[ID_SIZE];
    struct read_back back = {.stop_after = 0};
    stage("cli_a", 1, a);
    stage("cli_b", 1, b);
    stage("cli_a", 1, c);
    cr_assert_eq(commit(a, 1, mine, 1, 100).verdict, DATASET_OK);
    struct experts_outcome outcome = commit(b, 1, mixed, 2, 100);
    cr_assert(outcome.verdict == DATASET_OK && outcome.new_experts == 2);
    outcome = commit(c, 1, mixed, 2, 100);
    cr_assert(outcome.verdict == DATASET_OK && outcome.new_experts == 1);
    cr_assert_eq(uploads_read(f.db, "ds_a", see_chunk, &back), DB_OK);
    cr_assert_str_eq(back.text, "cli_a-0:0,;cli_b-0:1,2,;cli_a-0:3,0,;");
    cr_assert_eq(find("ds_a").experts, 4);
}

Test(uploads, a_refused_one_leaves_no_expert, .init = open_store, .fini = store_close)
{
    const char *mine[] = {"e1"}, *mixed[] = {"e7", "e8"};
    char a[ID_SIZE], b[ID_SIZE];
    stage("cli_a", 1, a);
    stage("cli_b", 1, b);
    cr_assert_eq(commit(a, 1, mine, 1, 1).verdict, DATASET_OK);
    struct experts_outcome outcome = commit(b, 1, mixed, 2, 1);
    cr_assert_eq(outcome.verdict, DATASET_EXPERTS_LIMIT);
    cr_assert_eq(outcome.expert, 1);
    cr_assert_eq(find("ds_a").experts, 1, "e7 must not have stayed");
    cr_assert_eq(count_of("SELECT count(*) FROM experts"), 1);
    cr_assert_eq(find("ds_a").trajectories, 10);
    cr_assert_eq(uploads_abort(f.db, b), DB_OK);
    cr_assert_eq(count_of("SELECT count(*) FROM uploads"), 1);
    cr_assert_eq(count_of("SELECT count(*) FROM upload_chunks"), 1);
}

/* A client that fills its part of a dataset is refused at the same expert, whoever else is in it.
 */
Test(uploads, have_a_limit_that_tells_nothing_of_others, .init = open_store, .fini = store_close)
{
    const char *theirs[] = {"e1", "e2"}, *mine[] = {"e1", "m2", "m3"};
    char a[ID_SIZE], b[ID_SIZE], c[ID_SIZE];
    stage("cli_b", 1, a);
    struct experts_outcome alone = commit(a, 1, mine, 3, 2);
    cr_assert(alone.verdict == DATASET_EXPERTS_LIMIT && alone.expert == 2);
    stage("cli_a", 1, b);
    cr_assert_eq(commit(b, 1, theirs, 2, 2).verdict, DATASET_OK);
    struct experts_outcome beside = commit(a, 1, mine, 3, 2);
    cr_assert(beside.verdict == alone.verdict && beside.expert == alone.expert);
    cr_assert_eq(commit(a, 1, mine, 2, 2).verdict, DATASET_OK);
    stage("cli_b", 1, c);
    cr_assert_eq(commit(c, 1, mine, 2, 2).verdict, DATASET_OK, "they are known");
    cr_assert_eq(find("ds_a").experts, 4);
}

Test(uploads, have_limits_and_need_all_chunks, .init = open_store, .fini = store_close)
{
    const char *names[] = {"e1", "e2", "e3"};
    char a[ID_SIZE];
    stage("cli_a", 2, a);
    struct experts_outcome outcome = commit(a, 2, names, 3, 2);
    cr_assert(outcome.verdict == DATASET_EXPERTS_LIMIT && outcome.expert == 2);
    cr_assert_eq(commit(a, 3, names, 3, 3).verdict, DATASET_INCOMPLETE);
    cr_assert_eq(find("ds_a").experts, 0);
    cr_assert_eq(commit(a, 2, names, 3, 3).verdict, DATASET_OK);
    cr_assert_eq(find("ds_a").experts, 3);
}

Test(uploads, a_dataset_sealed_meanwhile_takes_nothing, .init = open_store, .fini = store_close)
{
    const char *names[] = {"e1"};
    enum dataset_verdict verdict;
    char a[ID_SIZE];
    stage("cli_a", 1, a);
    cr_assert_eq(datasets_seal(f.db, "ds_a", 1, &verdict), DB_OK);
    cr_assert_eq(commit(a, 1, names, 1, 9).verdict, DATASET_NOT_OPEN);
    cr_assert_eq(datasets_delete(f.db, "ds_a", &verdict), DB_OK);
    cr_assert_eq(commit(a, 1, names, 1, 9).verdict, DATASET_UNKNOWN);
    cr_assert_eq(find("ds_a").trajectories, 0);
}

Test(uploads, crashed_ones_are_swept, .init = open_store, .fini = store_close)
{
    const char *names[] = {"e1"};
    char a[ID_SIZE], b[ID_SIZE];
    stage("cli_a", 9, a);
    stage("cli_a", 9, b);
    cr_assert_eq(commit(b, 9, names, 1, 9).verdict, DATASET_OK);
    fixture_reopen(&f);
    cr_assert_eq(uploads_sweep(f.db, 0), DB_OK);
    cr_assert_eq(count_of("SELECT count(*) FROM uploads"), 1);
    cr_assert_eq(count_of("SELECT count(*) FROM upload_chunks"), 9);
    cr_assert_eq(uploads_sweep(f.db, 0), DB_OK);
}

static int64_t occurrences(const char *path, const char *needle)
{
    static char bytes[4 << 20];
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return 0;
    size_t size = fread(bytes, 1, sizeof bytes, file), length = strlen(needle);
    fclose(file);
    int64_t count = 0;
    for (size_t i = 0; i + length <= size; i++)
        count += memcmp(bytes + i, needle, length) == 0;
    return count;
}

Test(uploads, deleted_data_is_overwritten, .init = open_store, .fini = store_close)
{
    static char secret[20000];
    const char *names[] = {"expert-of-the-secret"};
    enum dataset_verdict verdict;
    char a[ID_SIZE];
    for (size_t i = 0; i + 8 <= sizeof secret; i += 8)
        memcpy(secret + i, "S3CR3T!!", 8);
    stage("cli_a", 0, a);
    for (uint32_t i = 0; i < 10; i++)
        cr_assert_eq(uploads_chunk(f.db, a, i, secret, sizeof secret), DB_OK);
    cr_assert_eq(commit(a, 10, names, 1, 9).verdict, DATASET_OK);
    fixture_reopen(&f);
    cr_assert_gt(occurrences(f.path, "S3CR3T!!S3CR3T!!"), 1000);
    cr_assert_eq(datasets_delete(f.db, "ds_a", &verdict), DB_OK);
    struct read_back back = {.stop_after = 0};
    cr_assert_eq(uploads_read(f.db, "ds_a", see_chunk, &back), DB_NONE);
    bool more = true;
    int steps = 0;
    for (; more; steps++)
        cr_assert_eq(uploads_purge(f.db, &more), DB_OK);
    cr_assert_gt(steps, 2, "in small steps");
    cr_assert_eq(count_of("SELECT count(*) FROM upload_chunks"), 0);
    fixture_reopen(&f); /* the write-ahead log is gone with the last connection */
    cr_assert_eq(occurrences(f.path, "S3CR3T!!"), 0);
    cr_assert_eq(occurrences(f.path, "expert-of-the-secret"), 0);
    cr_assert_eq(find("ds_a").trajectories, 10, "the row stays");
}

Test(uploads, every_failing_call_leaves_all_or_nothing)
{
    const char *names[] = {"e1", "e2"};
    for (unsigned n = 1; n < 200; n++) {
        char upload[ID_SIZE];
        uint32_t numbers[2];
        struct upload_summary summary = {2, 10, 100, names, 2, 9, numbers};
        struct experts_outcome outcome;
        failing_arm(0, DB_OK, false);
        fixture_open(&f, &failing_driver);
        insert_dataset("ds_a");
        stage("cli_a", 2, upload);
        failing_arm(n, DB_FULL, n % 2 == 0);
        enum db_status status = uploads_commit(f.db, upload, &summary, &outcome);
        bool fired = failing_fired();
        failing_arm(0, DB_OK, false);
        struct read_back back = {.stop_after = 0};
        cr_assert_eq(uploads_read(f.db, "ds_a", see_chunk, &back), DB_OK);
        struct dataset_row d = find("ds_a");
        cr_assert_eq(status, fired ? DB_FULL : DB_OK);
        cr_assert_str_eq(back.text, fired ? "" : "cli_a-0:0,1,;cli_a-1:0,1,;");
        cr_assert_eq(d.experts, fired ? 0 : 2);
        cr_assert_eq(d.trajectories, fired ? 0 : 10);
        cr_assert_eq(count_of("SELECT count(*) FROM experts"), fired ? 0 : 2);
        cr_assert_eq(uploads_sweep(f.db, 0), DB_OK);
        cr_assert_eq(count_of("SELECT count(*) FROM upload_chunks"), fired ? 0 : 2);
        fixture_close(&f);
        if (!fired) {
            cr_assert_gt(n, 8);
            return;
        }
    }
    cr_assert_fail("the failure always fired");
}

/* Every message to a database elsewhere takes time in which nobody else may write, and PostgreSQL
 * keeps each version of a row that one transaction changes. */
Test(uploads, take_few_statements_for_many_experts, .init = open_store, .fini = store_close)
{
    enum { COUNT = 600 };
    static char texts[COUNT][16];
    static uint32_t first[COUNT], again[COUNT];
    const char *names[COUNT];
    struct db_settings settings = {.location = f.path, .not_durable = true};
    struct db_store *store = db_store_new(&failing_driver, &settings);
    struct db *counted;
    char error[DB_ERROR_SIZE], upload[ID_SIZE];
    cr_assert_eq(db_open(store, &counted, error), DB_OK, "%s", error);
    for (int i = 0; i < COUNT; i++) {
        snprintf(texts[i], sizeof texts[i], "e%d", i);
        names[i] = texts[i];
    }
    struct upload_summary summary = {1, 10, 100, names, COUNT, COUNT, first};
    const unsigned most = 20 + 2 * (db_driver_of(counted)->lists ? COUNT / 200 : COUNT);
    struct experts_outcome outcome;
    for (int i = 0; i < 2; i++) {
        stage("cli_a", 1, upload);
        unsigned before = failing_calls();
        cr_assert_eq(uploads_commit(counted, upload, &summary, &outcome), DB_OK);
        cr_expect_leq(failing_calls() - before, most, "%u calls", failing_calls() - before);
        cr_expect(outcome.verdict == DATASET_OK && outcome.new_experts == (i ? 0 : COUNT));
        summary.numbers = again;
    }
    for (uint32_t i = 0; i < COUNT; i++)
        cr_expect(first[i] == i && again[i] == i);
    cr_expect_eq(find("ds_a").experts, COUNT);
    db_close(counted);
    db_store_free(store);
}

/* A list of names in which known ones stand between new ones, and those of another client. */
Test(uploads, know_experts_between_new_ones, .init = open_store, .fini = store_close)
{
    const char *theirs[] = {"e1", "e2"}, *first[] = {"e2", "e1"},
               *second[] = {"e3", "e1", "e4", "e2"};
    uint32_t numbers[4] = {9, 9, 9, 9};
    struct expert_names names = {"ds_a", "cli_b", theirs, 2, 9, 5};
    struct experts_outcome outcome;
    cr_assert_eq(datasets_register_experts(f.db, &names, numbers, &outcome), DB_OK);
    names = (struct expert_names){"ds_a", "cli_a", first, 2, 9, 7};
    cr_assert_eq(datasets_register_experts(f.db, &names, numbers, &outcome), DB_OK);
    names = (struct expert_names){"ds_a", "cli_a", second, 4, 9, 6};
    cr_assert_eq(datasets_register_experts(f.db, &names, numbers, &outcome), DB_OK);
    cr_expect(numbers[0] == 4 && numbers[1] == 3 && numbers[2] == 5 && numbers[3] == 2);
    cr_expect(outcome.first_new == 4 && outcome.new_experts == 2);
    names.now_ms = 8;
    names.count = 2;
    cr_assert_eq(datasets_register_experts(f.db, &names, numbers, &outcome), DB_OK);
    cr_expect_eq(outcome.new_experts, 0);
    cr_expect_eq(count_of("SELECT CAST(sum(uploaded_ms * (number + 1)) AS BIGINT) FROM experts"),
                 5 * (1 + 2) + 7 * 3 + 8 * 4 + 8 * 5 + 6 * 6, "the newest upload of each");
    cr_expect_eq(find("ds_a").experts, 6);
}

/* ---- experts' policies */

static bool see_policy(void *context, uint32_t number, const void *bytes, size_t size)
{
    char *out = context;
    cr_assert_eq((uintptr_t)bytes % 8, 0);
    sprintf(out + strlen(out), "%u=%.*s;", number, (int)size, (const char *)bytes);
    return true;
}

static bool see_expert(void *context, const struct expert_row *expert)
{
    char *out = context;
    sprintf(out + strlen(out), "%u:%s:%s:%d;", expert->number, expert->name, expert->owner,
            expert->has_policy);
    return true;
}

static enum dataset_verdict register_one(const char *expert, const char *client, int64_t max_own,
                                         uint32_t *number)
{
    const struct expert_names names = {"ds_a", client, &expert, 1, max_own, 1};
    struct experts_outcome outcome;
    cr_assert_eq(datasets_register_experts(f.db, &names, number, &outcome), DB_OK);
    return outcome.verdict;
}

static enum dataset_verdict put(const char *expert, const char *client, const char *bytes)
{
    struct expert_policy policy = {"ds_a", 0, bytes, strlen(bytes), 1};
    enum dataset_verdict verdict = register_one(expert, client, 3, &policy.number);
    if (verdict == DATASET_OK)
        cr_assert_eq(datasets_put_policy(f.db, &policy), DB_OK);
    return verdict;
}

Test(experts, policies_are_the_callers_own_experts, .init = open_store, .fini = store_close)
{
    char text[200] = "";
    cr_assert_eq(put("e1", "cli_a", "one"), DATASET_OK);
    cr_assert_eq(put("e1", "cli_b", "two"), DATASET_OK);
    cr_assert_eq(put("e1", "cli_b", "due"), DATASET_OK);
    cr_assert_eq(datasets_policies(f.db, "ds_a", see_policy, text), DB_OK);
    cr_assert_str_eq(text, "0=one;1=due;");
    text[0] = '\0';
    cr_assert_eq(datasets_experts(f.db, "ds_a", 0, 9, see_expert, text), DB_OK);
    cr_assert_str_eq(text, "0:e1:cli_a:1;1:e1:cli_b:1;");
}

Test(experts, policies_are_put_and_replaced, .init = open_store, .fini = store_close)
{
    char text[200] = "";
    uint32_t number = 9;
    enum dataset_verdict verdict;
    cr_assert_eq(put("e1", "cli_a", "one"), DATASET_OK);
    cr_assert_eq(put("e2", "cli_b", "two"), DATASET_OK);
    cr_assert_eq(put("e1", "cli_a", "uno"), DATASET_OK);
    cr_assert(register_one("e3", "cli_a", 3, &number) == DATASET_OK && number == 2);
    cr_assert(register_one("e4", "cli_a", 9, &number) == DATASET_OK && number == 3);
    /* Three of its own are enough; cli_b has one. */
    cr_assert_eq(put("e5", "cli_a", "five"), DATASET_EXPERTS_LIMIT);
    cr_assert_eq(datasets_policies(f.db, "ds_a", see_policy, text), DB_OK);
    cr_assert_str_eq(text, "0=uno;1=two;");
    int64_t count = 9, all = 9;
    cr_assert_eq(datasets_policies_size(f.db, "ds_a", &count, &all), DB_OK);
    cr_assert(count == 2 && all == 6);
    cr_assert_eq(datasets_policies_size(f.db, "ds_none", &count, &all), DB_OK);
    cr_assert(count == 0 && all == 0);
    text[0] = '\0';
    cr_assert_eq(datasets_experts(f.db, "ds_a", 1, 9, see_expert, text), DB_OK);
    cr_assert_str_eq(text, "1:e2:cli_b:1;2:e3:cli_a:0;3:e4:cli_a:0;");
    cr_assert_eq(datasets_seal(f.db, "ds_a", 1, &verdict), DB_OK);
    cr_assert_eq(put("e1", "cli_a", "late"), DATASET_NOT_OPEN);
}

/* ---- what a dataset says of itself */

Test(datasets, a_description_lives_as_long_as_its_dataset, .init = open_store, .fini = store_close)
{
    static const char text[] = "{\"features\":[{\"name\":\"\xc3\x9c\"}]}";
    struct dataset_row dataset = {.id = "ds_described", .expert_means = "the clinician"};
    char *found = NULL;
    cr_assert_eq(datasets_insert(f.db, &dataset, text), DB_OK, "%s", db_last_error(f.db));
    cr_expect_eq(datasets_insert(f.db, &dataset, text), DB_NONE);
    cr_assert_eq(datasets_description(f.db, "ds_described", &found), DB_OK);
    cr_expect_str_eq(found, text);
    free(found);
    cr_expect_str_eq(find("ds_described").expert_means, "the clinician");
    cr_expect_str_eq(find("ds_a").expert_means, "");
    cr_expect_eq(datasets_description(f.db, "ds_a", &found), DB_NONE);
    cr_expect_eq(datasets_description(f.db, "ds_none", &found), DB_NONE);
    enum dataset_verdict verdict;
    cr_assert_eq(datasets_delete(f.db, "ds_described", &verdict), DB_OK);
    cr_expect_eq(datasets_description(f.db, "ds_described", &found), DB_NONE);
}
