/* Questions and answers over pipes.
 *
 * DESIGN. All ends on our side are non-blocking, and every wait is a poll of at most a second, so
 * that GO_ON is asked in time and nothing that the program does can hold us. We keep the reading
 * end of its input open ourselves: writing to a program that has died then fills a pipe instead of
 * raising SIGPIPE, and the death shows where the answer is awaited. Standard error is read in the
 * same polls, because a program that nobody listens to would block. */
#include "programs/child.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "memory/memory.h"
#include "programs/spawn.h"

#define GO_ON_EVERY_MS 1000
#define GRACE_MS       1000 /* time for a well-behaved program to end by itself */

struct child {
    struct child_settings settings;
    struct spawned process;
    int64_t asked_ms;  /* when GO_ON was asked last */
    size_t used;       /* bytes of the answer so far */
    size_t complained; /* bytes of the present line of standard error */
    unsigned complaints;
    bool failed;
    char complaint[CHILD_COMPLAINT_SIZE];
    char answer[CHILD_LINE_MAX + 1];
};

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

enum child_status child_start(const struct child_settings *settings, struct child **out)
{
    struct child *child = memory_new(1, sizeof *child);
    child->settings = *settings;
    child->settings.command = child->settings.source = NULL;
    child->asked_ms = now_ms();
    enum spawn_status status = spawn(settings->keeper, settings->command, settings->source,
                                     settings->source_size, &settings->limits, &child->process);
    if (status != SPAWN_DONE) {
        free(child);
        return status == SPAWN_REFUSED ? CHILD_NOT_SEALED : CHILD_NOT_STARTED;
    }
    *out = child;
    return CHILD_OK;
}

/* ---- what it says on standard error */

static void end_complaint(struct child *child)
{
    if (child->complained > 0 && child->complaints < CHILD_COMPLAINTS_MAX) {
        child->complaint[child->complained] = '\0';
        child->complaints++;
        if (child->settings.said)
            child->settings.said(child->settings.context, child->complaint);
    }
    child->complained = 0;
}

static void listen_to(struct child *child)
{
    char bytes[4096];
    ssize_t count = read(child->process.errors, bytes, sizeof bytes);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) {
        close(child->process.errors);
        child->process.errors = -1;
        end_complaint(child);
    }
    for (ssize_t i = 0; i < count; i++) {
        char c = bytes[i];
        if (c == '\n')
            end_complaint(child);
        else if (child->complained < CHILD_COMPLAINT_SIZE - 1)
            child->complaint[child->complained++] = c >= ' ' && c <= '~' ? c : '?';
    }
}

/* ---- a question and its answer */

/* Reads the output that has come. *OUT_LINE receives the length of the line once the line is
 * whole. */
static enum child_status child_take(struct child *child, size_t *out_line)
{
    ssize_t count =
        read(child->process.from, child->answer + child->used, sizeof child->answer - child->used);
    if (count < 0)
        return errno == EAGAIN || errno == EINTR ? CHILD_OK : CHILD_ENDED;
    if (count == 0)
        return CHILD_ENDED;
    char *end = memchr(child->answer + child->used, '\n', (size_t)count);
    child->used += (size_t)count;
    if (!end)
        return child->used == sizeof child->answer ? CHILD_TOO_LONG : CHILD_OK;
    *out_line = (size_t)(end - child->answer);
    return *out_line + 1 == child->used ? CHILD_OK : CHILD_OUT_OF_TURN;
}

/* Writes as much of the LEFT bytes at *AT as the pipe takes. */
static enum child_status child_give(struct child *child, const char **at, size_t *left)
{
    ssize_t count = write(child->process.to, *at, *left);
    if (count < 0)
        return errno == EAGAIN || errno == EINTR ? CHILD_OK : CHILD_ENDED;
    *at += count;
    *left -= (size_t)count;
    return CHILD_OK;
}

static bool child_may_go_on(struct child *child, int64_t now)
{
    if (!child->settings.go_on || now - child->asked_ms < GO_ON_EVERY_MS)
        return true;
    child->asked_ms = now;
    return child->settings.go_on(child->settings.context);
}

/* Waits once: for the answer, for complaints, and while *LEFT is positive for room for the
 * question. */
static enum child_status child_turn(struct child *child, int64_t wait_ms, const char **at,
                                    size_t *left, size_t *out_line)
{
    struct pollfd ends[] = {
        {.fd = child->process.from, .events = POLLIN},
        {.fd = child->process.errors, .events = POLLIN}, /* poll ignores a descriptor of -1 */
        {.fd = *left > 0 ? child->process.to : -1, .events = POLLOUT},
    };
    int timeout = wait_ms < GO_ON_EVERY_MS ? (int)wait_ms : GO_ON_EVERY_MS;
    if (poll(ends, sizeof ends / sizeof ends[0], timeout) < 0 && errno != EINTR)
        return CHILD_ENDED;
    if (ends[1].revents != 0)
        listen_to(child);
    if (ends[2].revents != 0) {
        enum child_status status = child_give(child, at, left);
        if (status != CHILD_OK)
            return status;
    }
    return ends[0].revents != 0 ? child_take(child, out_line) : CHILD_OK;
}

static enum child_status child_converse(struct child *child, const char *question, size_t size,
                                        size_t *out_line)
{
    size_t none = CHILD_LINE_MAX + 1, line = none;
    child->used = 0;
    enum child_status status = child_take(child, &line); /* nothing may have come yet */
    if (status != CHILD_OK || child->used > 0)
        return status == CHILD_ENDED ? CHILD_ENDED : CHILD_OUT_OF_TURN;
    int64_t now = now_ms(), deadline = now + child->settings.answer_ms;
    status = child_give(child, &question, &size);
    while (status == CHILD_OK && line == none) {
        if (!child_may_go_on(child, now))
            return CHILD_STOPPED;
        if (now >= deadline)
            return CHILD_LATE;
        status = child_turn(child, deadline - now, &question, &size, &line);
        now = now_ms();
    }
    if (status == CHILD_OK && size > 0)
        return CHILD_OUT_OF_TURN; /* an answer before the question was read */
    *out_line = line;
    return status;
}

enum child_status child_ask(struct child *child, const char *question, size_t size,
                            const char **out_answer, size_t *out_size)
{
    assert(!child->failed);
    assert(size > 0 && question[size - 1] == '\n');
    size_t line = 0;
    enum child_status status = child_converse(child, question, size, &line);
    if (status != CHILD_OK) {
        child->failed = true;
        return status;
    }
    child->answer[line] = '\0';
    *out_answer = child->answer;
    *out_size = line;
    return CHILD_OK;
}

/* ---- its end */

/* Reads and discards the program's output until the program closes it, for at most GRACE_MS. */
static void wait_for_end(struct child *child)
{
    int64_t now = now_ms(), deadline = now + GRACE_MS;
    enum child_status status = CHILD_OK;
    const char *nothing = NULL;
    size_t none = 0, line = 0;
    while (status == CHILD_OK && now < deadline) {
        child->used = 0;
        status = child_turn(child, deadline - now, &nothing, &none, &line);
        now = now_ms();
    }
}

void child_end(struct child *child)
{
    if (!child)
        return;
    spawned_close_input(&child->process);
    if (!child->failed)
        wait_for_end(child);
    if (child->process.errors >= 0) { /* the last lines may say why the program ended */
        listen_to(child);
        end_complaint(child);
    }
    spawned_kill(&child->process);
    free(child);
}
