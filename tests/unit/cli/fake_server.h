/* A server that answers what it is told, one exchange after another, and remembers what it heard:
 * for clients, which must bear any answer. */
#ifndef TACET_TESTS_UNIT_CLI_FAKE_SERVER_H
#define TACET_TESTS_UNIT_CLI_FAKE_SERVER_H

#define FAKE_EXCHANGES 16

struct fake_server;

/* Listens on a free port of 127.0.0.1. ANSWERS, up to a NULL, are sent as they are, each on a
 * connection of its own, which is then closed; "" closes without a word. */
struct fake_server *fake_server_start(const char *const *answers);

/* "http://127.0.0.1:PORT", as long as the server lives. */
const char *fake_server_base(const struct fake_server *server);

/* Ends it; gives the number of requests that came. Only then HEARD may be asked. */
unsigned fake_server_stop(struct fake_server *server);

/* Head and body of request INDEX. */
const char *fake_server_heard(const struct fake_server *server, unsigned index);
void fake_server_free(struct fake_server *server);

#endif
