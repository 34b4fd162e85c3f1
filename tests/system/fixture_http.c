#include "tests/system/fixture_http.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "api/json/json_text.h"
#include "tests/http/http_client.h"

#define RESPONSES_MAX 20000
#define TOKENS_MAX    512
#define PATIENCE_MS   1500 /* for an answer, while its calls may fail */
#define LEASE_LOOKS   20   /* at a job, until it may be one that its worker has lost */

struct person {
    char role[16], token[160], id[40];
};

struct fixture {
    struct server_process server;
    struct http_client *client;
    char for_library[640], for_orders[160];
    bool has_new_job; /* since the last turn */
    unsigned key_count, person_count, response_count;
    struct person people[TOKENS_MAX];
    struct response *responses[RESPONSES_MAX];
};

static struct failing_system *orders;

/* ---- the server */

/* Loads tests/failing_system.c into the server, which obeys ORDERS. */
static void put_library(struct fixture *f)
{
    struct server_process *server = &f->server;
    const char *program = server_program(), *slash = strrchr(program, '/');
    char path[128], library[512];
    cr_assert_eq(mkdir(server->data, 0700), 0, "%s", strerror(errno));
    snprintf(path, sizeof path, "%s/orders", server->folder);
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    cr_assert(file >= 0 && ftruncate(file, sizeof *orders) == 0, "%s", strerror(errno));
    orders = mmap(NULL, sizeof *orders, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    cr_assert(orders != MAP_FAILED);
    snprintf(library, sizeof library, "%.*s/failing_system.so", slash ? (int)(slash - program) : 1,
             slash ? program : ".");
    cr_assert_eq(access(library, R_OK), 0, "%s is not built", library);
    snprintf(f->for_library, sizeof f->for_library, "LD_PRELOAD=%s", library);
    snprintf(f->for_orders, sizeof f->for_orders, "FAILING_SYSTEM=%s", path);
    server->environment[0] = f->for_library;
    server->environment[1] = f->for_orders;
}

struct fixture *fixture_open_http(void)
{
    struct fixture *f = calloc(1, sizeof *f);
    cr_assert(f != NULL);
    server_prepare(&f->server);
    put_library(f);
    server_start(&f->server);
    f->client = http_client_new(&f->server);
    return f;
}

void fixture_close(struct fixture *f)
{
    fixture_forget(f);
    http_client_free(f->client);
    server_close(&f->server);
    munmap(orders, sizeof *orders);
    free(f);
}

void fixture_fail(enum failing_call call, int error, bool stays, bool in_jobs, unsigned n)
{
    atomic_store(&orders->left, (int)n);
    atomic_store(&orders->error, error);
    atomic_store(&orders->stays, stays);
    atomic_store(&orders->in_jobs, in_jobs);
    atomic_store(&orders->failures, 0);
    atomic_store(&orders->call, (int)call);
}

bool fixture_has_failed(void)
{
    return atomic_load(&orders->failures) > 0;
}

unsigned fixture_failed(void)
{
    atomic_store(&orders->call, FAILING_NONE);
    return (unsigned)atomic_load(&orders->failures);
}

/* A server that gave no answer may need some milliseconds more to end. */
static bool has_ended(pid_t pid, unsigned wait_ms)
{
    siginfo_t info = {0};
    for (unsigned i = 0; i <= wait_ms / 10; i++) {
        cr_assert_eq(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT), 0);
        if (info.si_pid == pid)
            return true;
        nanosleep(&(struct timespec){.tv_nsec = wait_ms > 0 ? 10000000 : 0}, NULL);
    }
    return false;
}

bool fixture_revive(struct fixture *f, unsigned wait_ms, int *out_code)
{
    if (!has_ended(f->server.pid, wait_ms))
        return false;
    *out_code = server_end(&f->server, 0);
    server_start(&f->server);
    http_client_move(f->client, &f->server);
    return true;
}

void fixture_reconnect(struct fixture *f)
{
    http_client_free(f->client);
    f->client = http_client_new(&f->server);
}

int fixture_connect(const struct fixture *f)
{
    return raw_connect(&f->server);
}

/* ---- what a fixture has */

void fixture_advance(int64_t ms)
{
    atomic_fetch_add(&orders->ahead_ms, ms);
}

void fixture_set_clock(int64_t ms)
{
    (void)ms;
}

/* App and database are the server's; who asks for a turn of a worker waits for those of the server.
 */
struct app *fixture_app(struct fixture *f)
{
    return (struct app *)(void *)f;
}

struct db *fixture_db(struct fixture *f)
{
    (void)f;
    return NULL;
}

static void forget_response(struct response *response)
{
    json_decref(response->json);
    free((char *)(uintptr_t)response->content_type);
    free((char *)(uintptr_t)response->body);
    free(response);
}

/* Asks in no text of domain_path, and keeps no answer, because it asks often. */
static bool has_jobs(struct fixture *f, const char *path)
{
    int code;
    struct response *r = fixture_get(f, "steward", path);
    if (r->status == 0 && fixture_revive(f, 5000, &code)) { /* a job's call had failed */
        cr_expect(code == 1 || code == 1006, "the process ended with %d", code);
        forget_response(f->responses[--f->response_count]);
        r = fixture_get(f, "steward", path);
    }
    expect_status(r, 200);
    bool some = json_array_size(response_at(r, "/items")) > 0;
    forget_response(f->responses[--f->response_count]);
    return some;
}

/* The linker gives the calls of a worker's turn to this (tests.mk). */
enum api_job_turn __wrap_api_job_turn(struct app *app, struct db *db,
                                      const struct api_job_control *control, char note[256]);
enum api_job_turn __wrap_api_job_turn(struct app *app, struct db *db,
                                      const struct api_job_control *control, char note[256])
{
    struct fixture *f = (struct fixture *)(void *)app;
    (void)db;
    (void)control;
    note[0] = '\0';
    enum api_job_turn turn = f->has_new_job ? API_JOB_RAN : API_JOB_NONE;
    f->has_new_job = false;
    for (unsigned i = 1;
         has_jobs(f, "/v1/jobs?state=queued") || has_jobs(f, "/v1/jobs?state=running"); i++) {
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        if (i % LEASE_LOOKS == 0)
            fixture_advance(LEASE_OVER_MS);
    }
    return turn;
}

unsigned fixture_next_key(struct fixture *f)
{
    return ++f->key_count;
}

/* ---- clients */

static struct person *new_person(struct fixture *f, const char *role)
{
    cr_assert(f->person_count < TOKENS_MAX);
    struct person *person = &f->people[f->person_count++];
    snprintf(person->role, sizeof person->role, "%s", role);
    char token[160];
    server_token(&f->server, role, token);
    int length = (int)(strrchr(token, '_') - token) - 4;
    snprintf(person->id, sizeof person->id, "cli_%.*s", length, token + 4);
    memcpy(person->token, token, sizeof token);
    return person;
}

static struct person *person_of_role(struct fixture *f, const char *role)
{
    for (unsigned i = 0; i < f->person_count; i++)
        if (strcmp(f->people[i].role, role) == 0)
            return &f->people[i];
    return new_person(f, role);
}

const char *fixture_token(struct fixture *f, const char *role)
{
    return person_of_role(f, role)->token;
}

const char *fixture_client(struct fixture *f, const char *role)
{
    return person_of_role(f, role)->id;
}

const char *fixture_new_token(struct fixture *f, const char *role)
{
    return new_person(f, role)->token;
}

const char *fixture_token_client(struct fixture *f, const char *token)
{
    for (unsigned i = 0; i < f->person_count; i++)
        if (strcmp(f->people[i].token, token) == 0)
            return f->people[i].id;
    return "";
}

/* ---- requests */

void fixture_forget(struct fixture *f)
{
    for (unsigned i = 0; i < f->response_count; i++)
        forget_response(f->responses[i]);
    f->response_count = 0;
}

static struct response *keep_answer(struct fixture *f, struct http_answer *answer)
{
    struct response *response = calloc(1, sizeof *response);
    const char *type = http_header(answer, "Content-Type");
    cr_assert(response != NULL && f->response_count < RESPONSES_MAX);
    f->responses[f->response_count++] = response;
    response->status = (int)answer->status;
    response->content_type = strdup(type ? type : "");
    response->body = answer->body;
    response->size = answer->size;
    response->json = json_incref(answer->json);
    answer->body = NULL;
    http_answer_clear(answer);
    return response;
}

/* Status 0: no answer came. */
struct response *fixture_ask(struct fixture *f, const struct ask *ask)
{
    struct http_call call = {.method = ask->method ? ask->method : "GET",
                             .path = ask->path,
                             .token = ask->token,
                             .body = ask->body,
                             .body_size = ask->body_size,
                             .content_type = ask->content_type,
                             .key = ask->key,
                             .no_expect = true};
    char header[120];
    if (ask->headers[0][0]) {
        snprintf(header, sizeof header, "%s: %s", ask->headers[0][0], ask->headers[0][1]);
        call.header = header;
    }
    if (!ask->method && ask->body)
        call.method = "POST";
    if (!call.body && strcmp(call.method, "GET") != 0) {
        call.body = "";
        call.content_type = "";
    }
    if (atomic_load(&orders->call) != FAILING_NONE && !atomic_load(&orders->in_jobs))
        call.patience_ms = PATIENCE_MS;
    struct http_answer answer = http_do(f->client, &call);
    f->has_new_job |= answer.status == 202 && strcmp(ask->path, "/v1/jobs") == 0;
    return keep_answer(f, &answer);
}
