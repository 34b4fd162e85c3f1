/* The running service: everything `tacet serve` starts, in the order in which it must stop. */
#ifndef TACET_SERVER_SERVER_H
#define TACET_SERVER_SERVER_H

#include <stdbool.h>
#include <stddef.h>

#include "server/config.h"

#define TACET_VERSION "0.1.0"

struct reopen;
struct server;
struct worlds;

/* Takes the data directory, migrates, verifies the ledger, opens the socket, starts every thread. A
 * process that works alone (config.h) does neither of the two in the middle.
 * CONFIG and WORLDS (api/worlds/worlds.h) are borrowed for the server's life. NULL: everything is
 * undone and ERROR holds a sentence. The caller must already block the signals that it waits for,
 * because threads inherit the signal mask. */
struct server *server_start(struct config *config, const struct worlds *worlds, char *error,
                            size_t error_size);

/* Reads the TLS certificate and its key again, through FILES (server/os/reopen.h, begun with
 * server_files). Connections that begin from now on get them; jobs and open connections notice
 * nothing. False: what was before stays, and ERROR holds a sentence. */
bool server_renew(struct server *server, struct reopen *files, char *error, size_t error_size);

/* "http://127.0.0.1:8080". */
const char *server_url(const struct server *server);

/* Stops new work: sockets close, event streams end, jobs save themselves and pause. Does not wait.
 */
void server_drain(struct server *server);

/* True when nothing is running any more after server_drain. */
bool server_is_quiet(struct server *server);

/* Ends every thread and frees. The server is quiet. */
void server_stop(struct server *server);

#endif
