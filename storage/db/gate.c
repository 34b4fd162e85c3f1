/* Each waiter sleeps on a condition of its own, and who leaves hands the gate to the first of the
 * queue: nobody can overtake, and nobody is woken in vain. */
#include "storage/db/gate.h"

#include <assert.h>
#include <stddef.h>

struct gate_waiter {
    pthread_cond_t turn;
    bool granted;
    struct gate_waiter *next;
};

bool gate_init(struct gate *gate)
{
    *gate = (struct gate){0};
    return pthread_mutex_init(&gate->mutex, NULL) == 0;
}

void gate_destroy(struct gate *gate)
{
    assert(!gate->taken && !gate->first);
    pthread_mutex_destroy(&gate->mutex);
}

void gate_enter(struct gate *gate)
{
    pthread_mutex_lock(&gate->mutex);
    if (!gate->taken) {
        gate->taken = true;
        pthread_mutex_unlock(&gate->mutex);
        return;
    }
    struct gate_waiter self = {.turn = PTHREAD_COND_INITIALIZER};
    if (!gate->last) {
        /* it leaves the queue before this function returns */
        gate->first = &self; // cppcheck-suppress autoVariables
    } else {
        gate->last->next = &self;
    }
    gate->last = &self; // cppcheck-suppress autoVariables
    while (!self.granted)
        pthread_cond_wait(&self.turn, &gate->mutex);
    pthread_mutex_unlock(&gate->mutex);
    pthread_cond_destroy(&self.turn);
}

void gate_leave(struct gate *gate)
{
    pthread_mutex_lock(&gate->mutex);
    assert(gate->taken);
    struct gate_waiter *next = gate->first;
    if (!next) {
        gate->taken = false;
    } else {
        gate->first = next->next;
        if (!gate->first)
            gate->last = NULL;
        next->granted = true;
        pthread_cond_signal(&next->turn);
    }
    pthread_mutex_unlock(&gate->mutex);
}
