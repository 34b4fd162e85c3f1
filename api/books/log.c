#include "api/books/log.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "api/books/accounts.h"
#include "api/call/certificate.h"
#include "api/call/tlog.h"
#include "memory/memory.h"
#include "storage/ledger/ledger_reduce.h"

#define ENTRIES    (-1) /* the level of tiles that hold leaves */
#define REPLY_MOST ((size_t)1 << 16)
#define NOTE_TYPE  "text/plain; charset=utf-8"

struct log_work {
    const struct app *app;
    int64_t old; /* size that is known */
    int level;
    int64_t tile;
    unsigned count; /* of its nodes */
    uint64_t size;  /* of the log whose checkpoint is given; 0: none */
    struct buffer out;
};

/* Answers with what WRITE adds to WORK's text. */
static enum problem log_reply(struct call *call, struct log_work *work, const char *type,
                              db_work_fn *write)
{
    size_t size = 0;
    work->app = call->app;
    work->out.lid = REPLY_MOST;
    enum db_status status = db_view(call->db, write, work);
    if (status == DB_OK && work->size > 0)
        status = ledger_head_keep(call->db, work->size);
    if (status == DB_OK) {
        char *bytes = buffer_take(&work->out, &size);
        return call_reply_bytes(call, 200, type, bytes, size);
    }
    buffer_clear(&work->out);
    if (status == DB_NONE)
        return call_problem(call, PROBLEM_NOT_FOUND, "The log of the ledger has no such part.");
    return call_db(call, status);
}

static enum db_status add_checkpoint(struct db *db, struct ledger_tree *tree, struct log_work *work)
{
    work->size = tree->tree.size;
    return certificate_checkpoint(work->app, db, tree, &work->out);
}

static enum db_status write_checkpoint(struct db *db, void *context)
{
    struct ledger_tree *tree = NULL;
    enum db_status status = ledger_tree_open(db, -1, &tree);
    if (status == DB_OK)
        status = add_checkpoint(db, tree, context);
    free(tree);
    return status;
}

enum problem api_log_checkpoint(struct call *call)
{
    struct log_work work = {.old = 0};
    call_header(call, "Cache-Control", "no-store");
    return log_reply(call, &work, NOTE_TYPE, write_checkpoint);
}

/* ---- consistency */

static enum db_status write_consistency(struct db *db, void *context)
{
    struct log_work *work = context;
    struct ledger_tree *tree = NULL;
    struct merkle_proof proof;
    enum db_status status = ledger_tree_open(db, -1, &tree);
    if (status != DB_OK)
        return status;
    status = DB_NONE;
    if ((uint64_t)work->old <= tree->tree.size) {
        bool read = merkle_consistency(&tree->tree, (uint64_t)work->old, &proof);
        status = ledger_tree_status(tree, read);
    }
    if (status == DB_OK) {
        tlog_request_add(&work->out, work->old, &proof);
        status = add_checkpoint(db, tree, work);
    }
    free(tree);
    return status;
}

/* Reads decimal digits, written in the one way, up to END. False: there is something else. */
static bool read_decimal(const char *at, const char *end, int64_t *out)
{
    if (at == end || end - at > 18 || (*at == '0' && end - at > 1))
        return false;
    for (*out = 0; at < end; at++) {
        if (*at < '0' || *at > '9')
            return false;
        *out = *out * 10 + (*at - '0');
    }
    return true;
}

enum problem api_log_consistency(struct call *call)
{
    struct log_work work = {.old = 0};
    const char *old = call_query(call, "old");
    if (old && !read_decimal(old, old + strlen(old), &work.old))
        return call_invalid_query(call, "old", "must be a number of leaves, such as 0 or 1234");
    call_header(call, "Cache-Control", "no-store");
    return log_reply(call, &work, NOTE_TYPE, write_consistency);
}

/* ---- tiles */

/* Reads "x001/x234/067" up to END: groups of three digits, of which all but the last begin with an
 * x, and no more than the number needs. */
static bool read_tile_number(const char *at, const char *end, int64_t *out)
{
    int64_t number = 0, least = 0; /* that has so many groups */
    for (;; least = least == 0 ? 1000 : least * 1000) {
        bool more = at < end && *at == 'x';
        at += more;
        if (end - at < 3 || number > INT64_C(1000000000000) || least > INT64_C(1000000000000))
            return false;
        for (unsigned i = 0; i < 3; i++, at++) {
            if (*at < '0' || *at > '9')
                return false;
            number = number * 10 + (*at - '0');
        }
        if (!more)
            break;
        if (at == end || *at++ != '/')
            return false;
    }
    *out = number;
    return at == end && number >= least;
}

static bool read_tile(const char *level, const char *tile, struct log_work *out)
{
    const char *end = strstr(tile, ".p/");
    int64_t number = ENTRIES, width = MERKLE_TILE;
    if (strcmp(level, "entries") != 0 &&
        (!read_decimal(level, level + strlen(level), &number) || number > 63))
        return false;
    out->level = (int)number;
    if (end &&
        (!read_decimal(end + 3, tile + strlen(tile), &width) || width < 1 || width >= MERKLE_TILE))
        return false;
    out->count = (unsigned)width;
    return read_tile_number(tile, end ? end : tile + strlen(tile), &out->tile);
}

static enum db_status write_leaves(struct db *db, struct log_work *work)
{
    struct ledger_leaf leaves[MERKLE_TILE];
    unsigned count = 0;
    enum db_status status =
        ledger_log_leaves(db, work->tile * MERKLE_TILE, work->count, leaves, &count);
    if (status == DB_OK && count < work->count)
        status = DB_NONE;
    for (unsigned i = 0; i < count && status == DB_OK; i++) {
        char text[LEDGER_LEAF_SIZE];
        size_t size = ledger_leaf_text(&leaves[i], text);
        const unsigned char length[] = {(unsigned char)(size >> 8), (unsigned char)size};
        (void)buffer_add(&work->out, length, sizeof length);
        (void)buffer_add(&work->out, text, size);
    }
    return status;
}

static enum db_status write_tile(struct db *db, void *context)
{
    struct log_work *work = context;
    unsigned char tile[MERKLE_TILE][MERKLE_HASH_SIZE];
    struct ledger_tree *tree = NULL;
    if (work->level == ENTRIES)
        return write_leaves(db, work);
    enum db_status status = ledger_tree_open(db, -1, &tree);
    if (status == DB_OK)
        status = ledger_tree_tile(tree, (unsigned)work->level, work->tile, work->count, tile);
    if (status == DB_OK)
        (void)buffer_add(&work->out, tile, work->count * sizeof *tile);
    free(tree);
    return status;
}

enum problem api_log_tile(struct call *call)
{
    struct log_work work = {.old = 0};
    if (!read_tile(call_parameter(call, "level"), call_parameter(call, "tile"), &work))
        return call_problem(call, PROBLEM_NOT_FOUND, "The log of the ledger has no such part.");
    call_header(call, "Cache-Control", "private, max-age=86400, immutable");
    return log_reply(call, &work, "application/octet-stream", write_tile);
}

/* ---- accounts */

enum problem api_log_proof(struct call *call)
{
    struct ledger_account account;
    json_t *proof = NULL;
    enum problem problem = account_of_call(call, call_parameter(call, "id"), &account);
    if (problem != PROBLEM_NONE)
        return problem;
    enum db_status status = certificate_proof(call->app, call->db, &account, &proof);
    if (status != DB_OK)
        return call_db(call, status);
    size_t size = json_string_length(proof);
    char *text = memory_copy(json_string_value(proof), size);
    json_decref(proof);
    call_header(call, "Cache-Control", "no-store");
    return call_reply_bytes(call, 200, NOTE_TYPE, text, size);
}
