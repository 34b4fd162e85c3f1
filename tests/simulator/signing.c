/* The keys that sign: a new one now and then, and what was signed for somebody holds ever after. */
#include <stdlib.h>
#include <string.h>

#include "api/call/tlog.h"
#include "server/database.h"
#include "storage/ledger/ledger_log.h"
#include "storage/signing_keys.h"
#include "tests/simulator/life.h"

struct rotation {
    const unsigned char *seed;
    struct signing_key made;
};

static enum db_status add_key(struct db *db, void *context)
{
    struct rotation *rotation = context;
    return signing_keys_add(db, rotation->seed, service_clock_ms, &rotation->made);
}

void life_rotate(struct life *life)
{
    struct rotation rotation = {.seed = life->scene->seed};
    const unsigned number = life_draw_server(life);
    struct db *db = life->servers[number].door;
    const uint64_t failures = disk.failures;
    void (*between)(void *) = disk.between;
    disk.between = NULL; /* one thread has the door */
    unsigned running = disk_enter(number);
    enum db_status status = db_transact(db, add_key, &rotation);
    database_heed(db);
    bool over = disk_is_dead();
    disk.server = running;
    disk.between = between;
    life_note(life, "rotate: %d", status);
    if (over)
        return;
    if (status == DB_OK && rotation.made.number > life->keys) {
        life->keys = rotation.made.number;
        life->count[LIFE_ROTATED]++;
    } else if (disk.failures == failures) {
        life_fail(life, "there is no new key: %s", db_last_error(db));
    }
}

struct reading {
    const struct api_reply *reply;
    struct tlog_checkpoint checkpoint;
    int64_t keys, least; /* the first that may have signed it */
    int64_t signer;      /* the newest that has; 0: none */
};

static void try_key(struct reading *reading, const unsigned char key[32])
{
    const struct api_reply *reply = reading->reply;
    reading->keys++;
    if (reply && reading->keys >= reading->least &&
        !tlog_checkpoint_read(life_text(reply), reply->body_size, key, &reading->checkpoint))
        reading->signer = reading->keys;
}

static bool see_key(void *context, const struct signing_key *key)
{
    try_key(context, key->public_key);
    return true;
}

/* disk.aside is set. */
static void read_keys(struct life *life, struct reading *reading)
{
    try_key(reading, life->scene->public_key);
    if (signing_keys_list(life->auditor, see_key, reading) != DB_OK)
        life_fail(life, "the keys cannot be read");
}

void life_judge_checkpoint(struct life *life, const struct flight *flight,
                           const struct api_reply *reply)
{
    struct reading reading = {.reply = reply, .least = flight->keys};
    struct shown *shown = &life->shown;
    if (disk.lags) /* pool.c would wait for the standby before it leaves */
        return;
    disk.aside = true;
    read_keys(life, &reading);
    disk.aside = false;
    if (reply->status != 200 || reading.signer == 0)
        life_fail(life, "a checkpoint: %d, not signed by key %lld or one since", reply->status,
                  (long long)flight->keys);
    const struct tlog_checkpoint *now = &reading.checkpoint;
    if (now->size < flight->size ||
        (now->size == shown->size && memcmp(now->root, shown->root, sizeof now->root) != 0))
        life_fail(life, "the log has forked");
    struct shown *held = &life->held[life->count[LIFE_CHECKPOINTS]++ / 4 % LIFE_HELD];
    held->size = now->size;
    memcpy(held->root, now->root, sizeof held->root);
    if (now->size >= shown->size) {
        shown->size = now->size;
        memcpy(shown->root, now->root, sizeof shown->root);
    }
    if (reading.signer > shown->signer)
        shown->signer = reading.signer;
}

static enum db_status read_root(struct db *db, void *context)
{
    struct shown *is = context;
    struct ledger_tree *tree = NULL;
    enum db_status status = ledger_tree_open(db, is->size, &tree);
    if (status == DB_OK)
        status = ledger_tree_status(tree, merkle_root(&tree->tree, is->root));
    free(tree);
    return status;
}

/* The log still shows that it goes on from SHOWN. */
static void check_root(struct life *life, const struct shown *shown)
{
    struct shown is = *shown;
    if (is.size > 0 && (db_view(life->auditor, read_root, &is) != DB_OK ||
                        memcmp(is.root, shown->root, sizeof is.root) != 0))
        life_fail(life, "the log is not the one that a checkpoint of size %lld showed",
                  (long long)is.size);
}

void life_check_shown(struct life *life)
{
    struct reading reading = {.keys = 0};
    read_keys(life, &reading);
    if (reading.keys < life->keys || reading.keys < life->shown.signer)
        life_fail(life, "a key that signed is gone");
    check_root(life, &life->shown);
    for (unsigned i = 0; i < LIFE_HELD; i++)
        check_root(life, &life->held[i]);
}
