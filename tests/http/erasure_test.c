/* After an erasure nothing of the expert can be found: in no file of the data directory, in no copy
 * that was made before, in no log, and not in the memory of the server. */
#include <criterion/criterion.h>
#include <ftw.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <zlib.h>
#include <zstd.h>

#include "tests/http/http_client.h"

#define ROWS 4
#define DIM  4

static struct server_process server;
static struct http_client *client;
static char token[160], dataset[64], backup[120];
static float states[ROWS][DIM];
static char texts[ROWS][100];
static bool found;

/* ---- looking for the states: as they were written, as floats and as doubles */

static bool holds_states(const char *bytes, size_t size)
{
    for (int i = 0; i < ROWS; i++) {
        double wide[2] = {(double)states[i][0], (double)states[i][1]};
        if (memmem(bytes, size, texts[i], strlen(texts[i])) ||
            memmem(bytes, size, states[i], sizeof states[i]) ||
            memmem(bytes, size, wide, sizeof wide))
            return true;
    }
    return false;
}

static int look_at_file(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    size_t size = 0;
    (void)status;
    (void)place;
    char *bytes = kind == FTW_F ? read_whole(path, &size) : NULL;
    if (bytes && holds_states(bytes, size)) {
        fprintf(stderr, "%s holds a state\n", path);
        found = true;
    }
    free(bytes);
    return 0;
}

static bool files_hold_states(void)
{
    found = false;
    cr_assert_eq(nftw(server.folder, look_at_file, 16, FTW_PHYS), 0);
    return found;
}

/* Whether HOLDS finds something in the memory of PROCESS. */
static bool memory_holds(pid_t process, bool (*holds_it)(const char *bytes, size_t size))
{
    char path[64], line[512];
    bool holds = false;
    size_t seen = 0;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)process);
    FILE *maps = fopen(path, "r");
    snprintf(path, sizeof path, "/proc/%d/mem", (int)process);
    FILE *memory = fopen(path, "rb");
    cr_assert(maps && memory);
    while (fgets(line, sizeof line, maps)) {
        unsigned long from, to;
        char mode[8];
        if (sscanf(line, "%lx-%lx %7s", &from, &to, mode) != 3 || strncmp(mode, "rw", 2) != 0)
            continue;
        char *bytes = malloc(to - from);
        cr_assert_not_null(bytes);
        if (fseeko(memory, (off_t)from, SEEK_SET) == 0) {
            size_t n = fread(bytes, 1, to - from, memory);
            seen += n;
            if (holds_it(bytes, n)) {
                fprintf(stderr, "it is in %s", line);
                holds = true;
            }
        }
        free(bytes);
    }
    fclose(maps);
    fclose(memory);
    cr_assert_gt(seen, 1 << 16);
    return holds;
}

static bool memory_holds_states(void)
{
    return memory_holds(server.pid, holds_states);
}

/* ---- the service */

static void call_expect(const char *method, const char *path, const char *body, const char *type,
                        long status)
{
    struct http_answer answer = http_expect(
        client, status,
        &(struct http_call){
            .method = method, .path = path, .token = token, .body = body, .content_type = type});
    http_answer_clear(&answer);
}

static const char *path_of(const char *rest)
{
    static char path[200];
    snprintf(path, sizeof path, "/v1/datasets/%s%s", dataset, rest);
    return path;
}

/* Writes ROWS states as JSON, without the outer brackets; they are kept where KEPT. */
static void write_rows(char *out, size_t size, bool kept)
{
    int used = 0;
    for (int i = 0; i < ROWS; i++) {
        char row[100];
        int at = 0;
        for (int k = 0; k < DIM; k++) {
            double value = (rand() % 2000000 - 1000000) * 1e-6;
            at += snprintf(row + at, sizeof row - (size_t)at, "%s%.6f", k ? "," : "", value);
            if (kept)
                states[i][k] = (float)value;
        }
        if (kept)
            strcpy(texts[i], row);
        used += snprintf(out + used, size - (size_t)used, "%s[%s]", i ? "," : "", row);
    }
}

/* Writes one episode of EXPERT. */
static size_t write_episode(char *out, size_t size, const char *expert, bool kept)
{
    char rows[1000];
    write_rows(rows, sizeof rows, kept);
    return (size_t)snprintf(
        out, size,
        "{\"expert\":\"%s\",\"states\":[%s],\"actions\":[0,1,0],\"rewards\":[1,1,1],"
        "\"terminated\":true,\"truncated\":false}\n",
        expert, rows);
}

static void upload(const char *expert, bool kept)
{
    char body[1200];
    write_episode(body, sizeof body, expert, kept);
    call_expect("POST", path_of("/trajectories"), body, "application/x-ndjson", 201);
}

static void open_service(void)
{
    srand(7);
    server_open(&server, "--confine", "off", "--access-log", NULL);
    server_token(&server, "steward", token);
    client = http_client_new(&server);
    struct http_answer made = http_expect(
        client, 201,
        &(struct http_call){.method = "POST",
                            .path = "/v1/datasets",
                            .token = token,
                            .body = "{\"name\":\"d\",\"environment\":\"cartpole\",\"budget\":{"
                                    "\"epsilon\":10,\"delta\":1e-5}}"});
    snprintf(dataset, sizeof dataset, "%s", http_text(&made, "id"));
    http_answer_clear(&made);
    upload("other", false);
    upload("e17", true);
}

/* Copies the database and its log, as a backup of the running service has them. */
static void make_backup(void)
{
    for (int log = 0; log < 2; log++) {
        char from[160], to[160];
        size_t size = 0;
        snprintf(from, sizeof from, "%s/tacet.db%s", server.data, log ? "-wal" : "");
        snprintf(to, sizeof to, "%s/backup.db%s", server.folder, log ? "-wal" : "");
        char *bytes = read_whole(from, &size);
        FILE *file = fopen(to, "wb");
        cr_assert(bytes && file && size > 0);
        cr_assert_eq(fwrite(bytes, 1, size, file), size);
        fclose(file);
        free(bytes);
    }
    snprintf(backup, sizeof backup, "%s/backup.db", server.folder);
}

static void put_back(const char *from, const char *end)
{
    char source[160], target[160];
    snprintf(source, sizeof source, "%s%s", from, end);
    snprintf(target, sizeof target, "%s/tacet.db%s", server.data, end);
    cr_assert(chmod(source, 0600) == 0 && rename(source, target) == 0);
}

Test(erasure, leaves_nothing_of_an_expert_anywhere, .timeout = 600)
{
    open_service();
    make_backup();
    call_expect("DELETE", path_of("/experts/e17"), NULL, NULL, 200);
    cr_expect_not(memory_holds_states());
    cr_expect_not(files_hold_states());
    call_expect("DELETE", path_of("/experts/nobody"), NULL, NULL, 404);

    /* Killed and started on the copy of before, it erases again. */
    cr_assert_eq(server_end(&server, SIGKILL), 1000 + SIGKILL);
    put_back(backup, "");
    put_back(backup, "-wal");
    server_start(&server);
    http_client_move(client, &server);
    call_expect("DELETE", path_of("/experts/e17"), NULL, NULL, 200);
    call_expect("POST", path_of(":seal"), NULL, NULL, 200);
    cr_expect_not(memory_holds_states());
    cr_expect_not(files_hold_states());
    call_expect("POST", "/v1/ledger:verify", NULL, NULL, 200);
    http_client_free(client);
    server_close(&server);
}

/* ---- what libraries hold */

#define LONG 200000 /* bytes of a body that is read in several pieces */

static size_t pack(const char *encoding, const char *text, size_t size, char *out)
{
    if (strcmp(encoding, "zstd") == 0) {
        size = ZSTD_compress(out, LONG, text, size, 3);
        cr_assert_not(ZSTD_isError(size));
        return size;
    }
    z_stream z = {.next_in = (Bytef *)(uintptr_t)text, .avail_in = (uInt)size};
    z.next_out = (Bytef *)out;
    z.avail_out = LONG;
    cr_assert_eq(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    cr_assert_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
    return z.total_out;
}

/* A long body of expert e17 whose last episode is looked for. */
static void upload_packed(const char *encoding)
{
    char *body = malloc(LONG), *packed = malloc(LONG), header[40];
    size_t size = 0;
    while (size < LONG - 2400)
        size += write_episode(body + size, LONG - size, "e17", false);
    size += write_episode(body + size, LONG - size, "e17", true);
    snprintf(header, sizeof header, "Content-Encoding: %s", encoding);
    struct http_answer answer =
        http_expect(client, 201,
                    &(struct http_call){.method = "POST",
                                        .path = path_of("/trajectories"),
                                        .token = token,
                                        .body = packed,
                                        .body_size = pack(encoding, body, size, packed),
                                        .content_type = "application/x-ndjson",
                                        .header = header});
    http_answer_clear(&answer);
    free(body);
    free(packed);
}

Test(erasure, leaves_nothing_in_the_memory_of_decoders_and_parsers, .timeout = 600)
{
    char rows[1000], network[1200];
    open_service();
    upload_packed("gzip");
    cr_expect_not(memory_holds_states(), "gzip");
    upload_packed("zstd");
    cr_expect_not(memory_holds_states(), "zstd");
    write_rows(rows, sizeof rows, true);
    snprintf(network, sizeof network,
             "{\"activation\":\"relu\",\"output\":\"softmax\",\"layers\":[{\"weight\":[%s],"
             "\"bias\":[0,0,0,0]},{\"weight\":[[0,0,0,0],[0,0,0,0]],\"bias\":[0,0]}]}",
             rows);
    call_expect("PUT", path_of("/experts/e17/policy"), network, "application/json", 204);
    cr_expect_not(memory_holds_states(), "a network");
    http_client_free(client);
    server_close(&server);
}

/* ---- the master key */

#define DIGITS "0123c0ffee45678900c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee"

static bool holds_digits(const char *bytes, size_t size)
{
    return memmem(bytes, size, DIGITS, strlen(DIGITS));
}

/* Whether PROCESS or one below it holds the digits; *COUNT counts processes. One opens files anew,
 * one reads an issuer's keys and one posts to a webhook, and two of them have a process below. */
static bool family_holds_digits(pid_t process, unsigned *count)
{
    char path[64];
    int child;
    bool holds = memory_holds(process, holds_digits);
    ++*count;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)process, (int)process);
    FILE *children = fopen(path, "r");
    cr_assert_not_null(children);
    while (fscanf(children, "%d", &child) == 1)
        holds = family_holds_digits(child, count) || holds;
    fclose(children);
    return holds;
}

static void write_private(const char *name, const char *text)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", server.folder, name);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fputs(text, file);
    fclose(file);
    chmod(path, 0600);
}

Test(erasure, the_digits_of_the_master_key_stay_nowhere_in_memory, .timeout = 600)
{
    char config[160];
    server_prepare(&server);
    snprintf(config, sizeof config, "%s/tacet.conf", server.folder);
    write_private("webhook.key", "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=\n");
    write_private("jwks.json",
                  "{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"kid\":\"a\",\"x\":"
                  "\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\"}]}");
    for (int from = 0; from < 3; from++) { /* the file, the environment, the command line */
        FILE *file = fopen(config, "w");
        cr_assert_not_null(file);
        fprintf(file,
                "%s\noidc-issuer = https://login.example\noidc-audience = tacet\n"
                "oidc-jwks = %s/jwks.json\nwebhook = all http://127.0.0.1:1/ %s/webhook.key\n",
                from == 0 ? "key = " DIGITS : "# nothing", server.folder, server.folder);
        fclose(file);
        chmod(config, 0600);
        server.flags[0] = "--config";
        server.flags[1] = config;
        server.flags[2] = from == 2 ? "--key" : NULL;
        server.flags[3] = DIGITS;
        server.flags[4] = NULL;
        if (from == 1)
            setenv("TACET_KEY", DIGITS, 1);
        server_start(&server);
        unsetenv("TACET_KEY");
        unsigned processes = 0;
        cr_expect_not(family_holds_digits(server.pid, &processes), "%d", from);
        cr_expect_geq(processes, 6);
        kill(server.pid, SIGHUP);
        for (int i = 0; i < 500 && !server_log_has(&server, "event=reloaded"); i++)
            nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        cr_expect(server_log_has(&server, "event=reloaded"));
        cr_expect_not(memory_holds(server.pid, holds_digits), "%d", from);
        write_private("tacet.conf",
                      "colour = red\nkey = " DIGITS "\n"); /* no line of it is taken */
        kill(server.pid, SIGHUP);
        for (int i = 0; i < 500 && !server_log_has(&server, "event=reload-failed"); i++)
            nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        cr_expect(server_log_has(&server, "event=reload-failed"));
        cr_expect_not(memory_holds(server.pid, holds_digits), "%d", from);
        cr_assert_eq(server_end(&server, SIGTERM), 0);
    }
    server_remove(&server);
}

static int start_without(const char *flag, const char *value, const char *why)
{
    server.flags[0] = flag;
    server.flags[1] = flag ? value : NULL;
    server.flags[2] = NULL;
    int code = server_start_in_vain(&server);
    cr_expect(server_log_has(&server, why), "%s", why);
    return code;
}

Test(erasure, needs_the_keys_that_belong_to_the_data, .timeout = 600)
{
    static const char digits[] = "c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00";
    static const char print[] =
        "echo c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00";
    char away[120], keys[120], said[1000] = "", auditor[160];
    server_prepare(&server);
    server.flags[0] = "--key-command";
    server.flags[1] = print;
    server_start(&server);
    cr_assert_eq(server_end(&server, SIGTERM), 0);
    cr_expect_eq(start_without(NULL, NULL, "is not encrypted under this key"), 1);
    cr_expect_eq(start_without("--key-command", "echo 12", "gives no key"), 1);
    cr_expect_eq(start_without("--key-command", "exit 3", "--key-command failed, with status 3"),
                 1);
    cr_expect_eq(start_without("--key-file", "/nowhere", "cannot be read"), 1);
    /* A start that fails for its keys does not bind the service to marks. */
    server.flags[2] = "--marks";
    server.flags[3] = server.folder;
    server.flags[4] = NULL;
    server.flags[0] = "--key-file";
    server.flags[1] = "/nowhere";
    cr_expect_eq(server_start_in_vain(&server), 1);
    server.flags[2] = NULL;
    snprintf(keys, sizeof keys, "%s/keys", server.data);
    snprintf(away, sizeof away, "%s/keys", server.folder);
    cr_assert_eq(rename(keys, away), 0);
    cr_expect_eq(start_without("--key-command", print, "is missing, and without its keys"), 1);
    cr_assert_eq(rename(away, keys), 0);
    server.flags[0] = "--key";
    server.flags[1] = digits;
    server_start(&server);
    /* Another master key, while it runs: the one that signing.key gives. */
    cr_expect_eq(tacet_run(said, sizeof said, "keys", "rotate", "--data", server.data,
                           "--key-command", print, NULL),
                 0, "%s", said);
    cr_expect_not_null(strstr(said, "the next start needs no master key"), "%s", said);
    server_token(&server, "auditor", auditor);
    client = http_client_new(&server);
    struct http_answer trail = http_expect(
        client, 200, &(struct http_call){.method = "GET", .path = "/v1/audit", .token = auditor});
    cr_expect_not_null(strstr(trail.body, "\"tacet keys rotate\""), "%s", trail.body);
    http_answer_clear(&trail);
    http_client_free(client);
    cr_assert_eq(server_end(&server, SIGTERM), 0);
    cr_expect_eq(start_without("--key", digits, "is not encrypted under this key"), 1);
    server.flags[0] = NULL;
    server_start(&server);
    cr_assert_eq(server_end(&server, SIGTERM), 0);
    server_remove(&server);
}
