/* Two processes: what works has libcurl with TLS, which may crash on what it is sent; what started
 * it waits for its end and does nothing else. A packet is sent whole or not at all, so that a crash
 * leaves no half of one. */
#include "server/os/outgoing.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "memory/memory.h"
#include "server/os/confine.h"

#define RESTART_MS   1000 /* before the work is started anew; twice as long each time */
#define RESTART_MOST 60000

/* ---- addresses */

/* True when curl reads ADDRESS as one of this machine. */
static bool is_near(CURLU *address)
{
    static const char *const near[] = {"127.0.0.1", "[::1]", "localhost"};
    char *host = NULL;
    bool found = false;
    if (curl_url_get(address, CURLUPART_HOST, &host, 0) != CURLUE_OK)
        return false;
    for (size_t i = 0; i < sizeof near / sizeof near[0]; i++)
        found = found || strcasecmp(host, near[i]) == 0;
    curl_free(host);
    return found;
}

const char *outgoing_address_wrong(const char *text)
{
    const char *wrong = NULL;
    CURLU *address = memory_must(curl_url());
    CURLUcode read = curl_url_set(address, CURLUPART_URL, text, CURLU_DISALLOW_USER);
    if (read == CURLUE_USER_NOT_ALLOWED)
        wrong = "an address may have no user or password";
    else if (read != CURLUE_OK)
        wrong = "it looks like an address and cannot be read as one";
    else if (strncasecmp(text, "https://", 8) != 0 &&
             !(strncasecmp(text, "http://", 7) == 0 && is_near(address)))
        wrong = "an address must begin with https://; http:// is for this machine alone";
    curl_url_cleanup(address);
    return wrong;
}

/* ---- the process */

static void leave_service(const char *name, int socket)
{
    sigset_t none;
    int nowhere = open("/dev/null", O_RDWR);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, name);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
    for (int i = 0; i < OUTGOING_SOCKET; i++)
        dup2(nowhere, i);
    if (socket != OUTGOING_SOCKET)
        dup2(socket, OUTGOING_SOCKET);
    closefrom(OUTGOING_SOCKET + 1);
    confine_writes();
}

int64_t outgoing_clock_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Waits before the next start. False: the other end is closed. What comes from there meanwhile
 * stays for the work. */
static bool wait_to_restart(int wait_ms)
{
    struct pollfd service = {.fd = OUTGOING_SOCKET, .events = POLLRDHUP};
    return poll(&service, 1, wait_ms) <= 0;
}

void outgoing_run(const char *name, int socket, void (*work)(const void *context),
                  const void *context, const void *died, size_t died_size)
{
    int wait_ms = RESTART_MS, status = 0;
    leave_service(name, socket);
    for (;;) {
        int64_t begun = outgoing_clock_ms();
        pid_t worker = fork();
        if (worker == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            work(context);
            _exit(0);
        }
        if (worker > 0 && waitpid(worker, &status, 0) == worker && WIFEXITED(status) &&
            WEXITSTATUS(status) == 0)
            _exit(0);
        if (outgoing_clock_ms() - begun > RESTART_MOST)
            wait_ms = RESTART_MS;
        if (send(OUTGOING_SOCKET, died, died_size, MSG_NOSIGNAL) < 0 || !wait_to_restart(wait_ms))
            _exit(0);
        wait_ms = wait_ms < RESTART_MOST / 2 ? 2 * wait_ms : RESTART_MOST;
    }
}
