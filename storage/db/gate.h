/* A mutual exclusion that is fair: threads get it in the order in which they came. */
#ifndef TACET_STORAGE_DB_GATE_H
#define TACET_STORAGE_DB_GATE_H

#include <pthread.h>
#include <stdbool.h>

struct gate_waiter;

struct gate {
    pthread_mutex_t mutex;
    bool taken;
    struct gate_waiter *first, *last;
};

bool gate_init(struct gate *gate); /* false: out of resources */
void gate_destroy(struct gate *gate);

void gate_enter(struct gate *gate); /* waits for its turn; not recursive */
void gate_leave(struct gate *gate);

#endif
