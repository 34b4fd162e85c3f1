/* `tacet student` and a teacher that protects experts: the client's, the teacher's and the
 * dataset's account pay together for what it heard, once through a killed server, until one of them
 * cannot; then it learns on alone. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "tests/http/shards_scene.h"

enum { SHARDS = 48, ROLLOUTS = 240, QUESTIONS = 8 };

static struct server_process server;
static struct scene scene;

static struct shards_teacher teacher;

static struct http_answer as_steward(const char *method, long status, const char *path,
                                     const char *body, const char *key)
{
    const struct http_call call = {
        .method = method, .path = path, .token = scene.steward, .body = body, .key = key};
    return http_expect(scene.client, status, &call);
}

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

static double epsilon_of(const json_t *cost, const char *which)
{
    return json_number_value(json_object_get(json_object_get(cost, which), "epsilon"));
}

/* What a student has spent, 0 before its account is opened, whose id it writes. */
static double spent_epsilon(unsigned student, char out_account[64])
{
    char path[160];
    snprintf(path, sizeof path, "/v1/teachers/%s/budgets/%s", teacher.id,
             scene.students[student].id);
    const struct http_call call = {.method = "GET", .path = path, .token = scene.steward};
    struct http_answer answer = http_do(scene.client, &call);
    double epsilon =
        json_number_value(json_object_get(json_object_get(answer.json, "spent"), "epsilon"));
    snprintf(out_account, 64, "%s", answer.status == 200 ? http_text(&answer, "account") : "");
    http_answer_clear(&answer);
    return epsilon;
}

/* How often the ACCOUNT was debited. */
static long debits(const char *account)
{
    char path[200], next[80] = "";
    long count = 0;
    do {
        snprintf(path, sizeof path, "/v1/ledger/accounts/%s/entries?page_size=1000%s%s", account,
                 next[0] != '\0' ? "&page_token=" : "", next);
        struct http_answer page = as_steward("GET", 200, path, NULL, NULL);
        size_t i;
        json_t *entry;
        json_array_foreach(json_object_get(page.json, "items"), i, entry)
        {
            const char *kind = json_string_value(json_object_get(entry, "kind"));
            count += kind != NULL && strcmp(kind, "debit") == 0;
        }
        snprintf(next, sizeof next, "%s", http_text(&page, "next_page_token"));
        http_answer_clear(&page);
    } while (next[0] != '\0');
    return count;
}

static long member(const json_t *summary, const char *name)
{
    return (long)json_integer_value(json_object_get(summary, name));
}

static FILE *start_student(unsigned student)
{
    char line[500];
    snprintf(line, sizeof line,
             "%s student --server %s --teacher %s --environment cartpole --transitions %d "
             "--questions %d --seed 3 --json",
             server_program(), server.base, teacher.id, ROLLOUTS * 512, QUESTIONS);
    setenv("TACET_TOKEN", scene.students[student].token, 1);
    FILE *out = popen(line, "r");
    cr_assert_not_null(out);
    return out;
}

static json_t *end_student(FILE *out)
{
    json_t *summary = json_loadf(out, JSON_DISABLE_EOF_CHECK, NULL);
    int status = pclose(out);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%d", status);
    cr_assert_not_null(summary);
    return summary;
}

/* What one student heard is what its account paid, once for each batch. Gives its states. */
static long expect_account(unsigned student, const json_t *summary)
{
    char account[64];
    long asked = member(summary, "states_asked"), alone = member(summary, "alone_since");
    double told = epsilon_of(summary, "spent"), spent = spent_epsilon(student, account);
    cr_expect_gt(asked, 0);
    cr_expect_eq(asked % QUESTIONS, 0);
    cr_expect_eq(shards_spent(&scene, account), asked * teacher.price);
    cr_expect_eq(debits(account), asked / QUESTIONS);
    cr_expect_float_eq(told, spent, 1e-9 * spent);
    cr_expect(alone > 0 && alone < ROLLOUTS * 512, "alone since %ld", alone);
    cr_expect_eq(json_array_size(json_object_get(summary, "curve")), (size_t)ROLLOUTS);
    return asked;
}

/* So did the teacher's and the dataset's account, for all students together. */
static void expect_books(long asked)
{
    int64_t paid = asked * teacher.price;
    cr_expect_eq(shards_spent(&scene, teacher.account), asked * teacher.cap_price);
    cr_expect_eq(shards_spent(&scene, teacher.dataset_account), paid + teacher.opening);
    cr_expect_eq(debits(teacher.account), asked / QUESTIONS);
    cr_expect_eq(debits(teacher.dataset_account), asked / QUESTIONS);
    struct http_answer verify = as_steward("POST", 200, "/v1/ledger:verify", NULL, NULL);
    cr_expect(json_is_true(json_object_get(verify.json, "ok")), "%s", verify.body);
    http_answer_clear(&verify);
}

static void begin(const char *budgets)
{
    char port[32];
    server_open(&server, "--workers", "1", NULL);
    scene_make(&scene, &server, 100, 10);
    shards_teach(&scene, &(struct shards_wish){SHARDS, 16, 1.2, budgets}, &teacher);
    snprintf(port, sizeof port, "127.0.0.1:%u", server.port);
    server.flags[2] = "--listen";
    server.flags[3] = strdup(port);
    server.flags[4] = NULL;
}

/* The server dies COUNT times, each time after the student has paid for more; gives what it had
 * paid before the last. */
static double kill_amid_questions(unsigned student, int count)
{
    char account[64];
    double before = 0;
    for (int i = 0; i < count; i++) {
        for (int waits = 0; spent_epsilon(student, account) <= before && waits < 6000; waits++)
            sleep_ms(5);
        before = spent_epsilon(student, account);
        cr_assert_eq(server_end(&server, SIGKILL), 1000 + SIGKILL);
        server_start(&server);
        http_client_move(scene.client, &server);
    }
    return before;
}

static void end(void)
{
    free((char *)server.flags[3]);
    scene_clear(&scene);
    server_close(&server);
}

Test(student_experts, pays_once_through_kills_until_its_account_is_empty)
{
    char account[64];
    begin("\"budget\":{\"epsilon\":4,\"delta\":1e-6},\"client_budget\":{\"epsilon\":2,"
          "\"delta\":1e-6}");
    FILE *out = start_student(0);
    double before = kill_amid_questions(0, 2);
    json_t *summary = end_student(out);
    cr_expect_gt(spent_epsilon(0, account), before, "it was killed in the midst of asking");
    expect_books(expect_account(0, summary));
    json_decref(summary);
    end();
}

/* Two at a time, each within its own budget, until all is told that the teacher may tell. */
Test(student_experts, share_what_the_teacher_may_tell_through_a_kill)
{
    begin("\"budget\":{\"epsilon\":2,\"delta\":1e-6},\"client_budget\":{\"epsilon\":1.9,"
          "\"delta\":1e-6}");
    FILE *first = start_student(0), *second = start_student(1);
    (void)kill_amid_questions(0, 1);
    json_t *one = end_student(first), *other = end_student(second);
    long together = expect_account(0, one) + expect_account(1, other);
    expect_books(together);
    char path[96];
    snprintf(path, sizeof path, "/v1/ledger/accounts/%s", teacher.account);
    struct http_answer cap = as_steward("GET", 200, path, NULL, NULL);
    const json_t *units = json_object_get(cap.json, "units");
    cr_expect_lt(json_integer_value(json_object_get(units, "limit")) - together * teacher.cap_price,
                 QUESTIONS * teacher.cap_price, "another batch could be paid");
    http_answer_clear(&cap);
    json_decref(one);
    json_decref(other);
    end();
}
