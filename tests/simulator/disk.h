/* SQLite's driver as the simulator's disk: it counts calls, fails at a drawn one, and at another
 * one the process dies. It is also a database with a standby that takes over (standby.c). The
 * linker gives it to the whole program in place of db_driver_sqlite. */
#ifndef TACET_TESTS_SIMULATOR_DISK_H
#define TACET_TESTS_SIMULATOR_DISK_H

#include <stdbool.h>
#include <stdint.h>

#include "storage/db/db.h"

#define DISK_NEVER   INT64_MAX
#define DISK_UNKNOWN UINT64_MAX /* no number of commits */

enum disk_end {                           /* where a process ended */
                DISK_ENDED_COMMITTED,     /* at a commit that reached the disk */
                DISK_ENDED_NOT_COMMITTED, /* at one that did not */
                DISK_ENDED_WITHIN,        /* within a transaction */
                DISK_ENDED_BETWEEN,       /* at another call */
                DISK_ENDS
};

enum disk_wait {                /* what becomes of a commit for which the standby is waited */
                 DISK_SHOWN,    /* the wait is ended: the primary shows it, the standby lacks it */
                 DISK_LOST,     /* a failover comes first: nobody has it */
                 DISK_TAKEN,    /* a failover comes after the standby had it: the reply is lost */
                 DISK_IN_STEP,  /* the standby is in step again: it is durable */
                 DISK_OUTDATED, /* it is one at the old primary: it is never confirmed */
                 DISK_WAITS
};

#define DISK_INDEX 96 /* bytes of the index of SQLite's log that say where it ends */

struct disk {
    int64_t calls;    /* so far */
    int64_t fails_at; /* the call that fails; DISK_NEVER */
    enum db_status failure;
    bool stays;      /* all later ones fail, too */
    int64_t dies_at; /* the call at which the process ends; DISK_NEVER */
    int64_t tries;   /* of commits so far */
    int64_t dies_at_try;
    bool keeps; /* if that is a commit, it reaches the disk first */
    bool aside; /* calls are the simulator's own: not counted, none fails */
    bool dead;  /* all have ended: nothing reaches the disk any more */
    /* The server whose code runs, and, a bit for each, which there are and which have ended alone.
     */
    unsigned server, servers, ended;
    char place[112]; /* the database's folder */
    /* SQLite has one connection for all of a process, and its next processes have it, too: quicker.
     * No two are within a transaction at once, because BETWEEN is only called outside of any.
     * APART: never so. */
    bool shares, apart;
    bool sound; /* the file's own form need not be checked */
    uint64_t failures, commits, ends[DISK_ENDS];
    uint64_t hits; /* failures but the later ones of those that stay */
    /* The standby. */
    int64_t waits_at_try;              /* the writing commit for which it is waited; DISK_NEVER */
    int64_t moves_at;                  /* the call before which it takes over; DISK_NEVER */
    enum disk_wait first, next;        /* what becomes of that commit, and of those while it lags */
    bool lags;                         /* it lacks something that the primary shows */
    unsigned char standby[DISK_INDEX]; /* then: where its log ends */
    bool writes;                       /* the open transaction does */
    unsigned strands;                  /* calls that another server stays at the old primary after a
                                          failover; 0: none does */
    unsigned behind;                   /* a bit for the one that does */
    int64_t leaves_at;                 /* the call before which it comes to the new one */
    bool unheeded;       /* a server has to end: nobody knows what became of its commit */
    unsigned running;    /* statements */
    unsigned savepoints; /* of the open transaction */
    uint64_t waits[DISK_WAITS], moves; /* failovers */
    /* Called when a server has ended alone, when one stays at the old primary, and when the standby
     * lags no more; MOVED: because it has taken over without what it lacked. */
    void (*alone)(void *context);
    void (*stranded)(void *context);
    void (*settled)(void *context, bool moved);
    /* Called before a change, and before a statement outside of any transaction: what other threads
     * do meanwhile. */
    void (*between)(void *context);
    void *context;
};

extern struct disk disk;

/* Nothing fails from now on. */
void disk_heal(void);

/* True when the process has ended whose code runs. */
bool disk_is_dead(void);

/* From now on the code of SERVER runs; gives whose did. */
unsigned disk_enter(unsigned server);

/* Its process ends alone, if there is another one. */
void disk_end_alone(void);

/* The standby has all that the primary shows. */
void disk_catch_up(void);

/* The standby becomes the primary. No transaction is open and no statement runs. */
void disk_fail_over(void);

/* The old primary is no more. The same. */
void disk_leave_old(void);

/* Copies the files of a data directory, as a process that ends leaves them, into TO, which is made
 * (mode 0700) or holds none of them. False: it cannot. */
bool disk_copy(const char *from, const char *to);

/* Moves them there: quicker. The connections that are open on them must be closed afterwards, after
 * disk_keeps_logs. */
bool disk_move(const char *from, const char *to);

/* Tells the program whether its database is as PostgreSQL is: other servers may be at work on it,
 * parameters may be lists, and a statement that fails ends a transaction without savepoints. */
void disk_is_shared(bool shared);

/* Closes the connection that processes share, if there is one. None of them is open. */
void disk_part(void);

/* From now on a connection that is closed leaves the write-ahead log as it is, as the end of a
 * process does. */
void disk_keeps_logs(void);

/* Removes the files of a data directory, and it. */
void disk_remove(const char *directory);

#endif
