/* Any text as certificate, key and priorities of the server, each behind a NUL. It starts, or says
 * why not. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "server/httpd.h"
#include "tests/fuzz/fuzz.h"

/* A listening socket without an address in any network. */
static int open_socket(void)
{
    const struct sockaddr_un any = {.sun_family = AF_UNIX};
    int listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listening < 0 || bind(listening, (const void *)&any, sizeof any.sun_family) != 0 ||
        listen(listening, 4) != 0)
        abort();
    return listening;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char error[200] = "", *text = fuzz_copy(data, size, true);
    size_t first = strlen(text),
           second = first < size ? first + 1 + strlen(text + first + 1) : size;
    struct httpd_settings settings = {.tls_cert = text,
                                      .tls_key = first < size ? text + first + 1 : "",
                                      .tls_priorities =
                                          second < size ? text + second + 1 : "NORMAL",
                                      .connections = 4,
                                      .metrics = metrics_new(),
                                      .idle_timeout_s = 1,
                                      .head_timeout_s = 1,
                                      .pace = {1, 1, 1, 1}};
    int listening = open_socket();
    struct httpd *httpd = httpd_start(&settings, listening, error, sizeof error);
    assert((httpd == NULL) == (error[0] != '\0'));
    if (httpd) {
        httpd_drain(httpd);
        httpd_stop(httpd);
        httpd_free(httpd);
    } else {
        close(listening);
    }
    metrics_free(settings.metrics);
    free(text);
    return 0;
}
