/* A process that speaks to other machines, because the service itself may not. It is begun before
 * the service confines itself, and ends with it. */
#ifndef TACET_SERVER_OS_OUTGOING_H
#define TACET_SERVER_OS_OUTGOING_H

#include <stddef.h>
#include <stdint.h>

#define OUTGOING_SOCKET 3 /* the socket to the service, in the process */

/* NULL: ADDRESS may be asked: https, or http to this machine. Otherwise a sentence (static text).
 */
const char *outgoing_address_wrong(const char *address);

/* Runs WORK in a process of its own, which is started anew when it dies; in a process that was just
 * forked. It is called NAME, keeps nothing that the service had but SOCKET (of packets), as
 * OUTGOING_SOCKET, and may do nothing but read and connect. When it dies, the packet DIED is sent
 * through the socket. Ends when WORK exits with 0 or when the other end is closed. */
_Noreturn void outgoing_run(const char *name, int socket, void (*work)(const void *context),
                            const void *context, const void *died, size_t died_size);

/* Milliseconds of the monotonic clock. */
int64_t outgoing_clock_ms(void);

#endif
