/* DESIGN. SQLite leaves the last bytes of each page to us (byte 20 of the file says how many). They
 * hold a hash of the other bytes and of the page's number, so that a page at another's place is
 * found, too. It is no secret: it tells of accidents. SQLite's files are used as they are, but for
 * two functions of the database's own.
 *
 * SQLite never sees a sum, but zeros, and so a page has zeros there in the log. If another program
 * (the sqlite3 shell) then moves it from the log into the database, it has no sum until it is
 * written again, and is read unchecked. A flipped bit makes no sum zero. While a page is in the log
 * alone, nothing checks it but SQLite's own recovery after a crash. */
#include "storage/db/sqlite_pages.h"

#include <assert.h>
#include <pthread.h>
#include <sodium.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define HEADER_BYTES   100
#define HEADER_PAGE    16 /* where the size of a page stands, big endian */
#define HEADER_RESERVE 20 /* where SQLITE_PAGES_SUM_BYTES stands */
#define SUMMED_BYTES   (SQLITE_PAGES_BYTES - SQLITE_PAGES_SUM_BYTES)
#define VFS_MAX        4

_Static_assert(SQLITE_PAGES_SUM_BYTES == crypto_shorthash_BYTES, "a sum is a short hash");

struct pages_vfs {
    sqlite3_vfs ours;
    sqlite3_vfs *under;
    char name[64];
};

/* Stands behind the file of the VFS under it. */
struct pages {
    sqlite3_io_methods ours;
    const sqlite3_io_methods *theirs;
    bool summed;
    sqlite3_int64 damaged;
};

static size_t pages_offset(const sqlite3_vfs *under)
{
    return ((size_t)under->szOsFile + 15) / 16 * 16;
}

/* The struct is found by its first member, to which the file points. */
static struct pages *pages_of(sqlite3_file *file)
{
    return (struct pages *)(uintptr_t)file->pMethods;
}

/* What another program changes in the first page of its copy, where the sum stays as it was: how
 * often the file has changed, its size, the schema's number, and the version of SQLite. */
static void forget_counters(unsigned char *page)
{
    memset(page + 24, 0, 8);
    memset(page + 40, 0, 4);
    memset(page + 92, 0, 8);
}

static void page_sum(const unsigned char *page, sqlite3_int64 number,
                     unsigned char sum[SQLITE_PAGES_SUM_BYTES])
{
    unsigned char first[SUMMED_BYTES];
    if (number == 1) {
        memcpy(first, page, sizeof first);
        forget_counters(first);
        page = first;
    }
    unsigned char key[crypto_shorthash_KEYBYTES] = "page";
    for (unsigned i = 0; i < 8; i++)
        key[8 + i] = (unsigned char)(number >> 8 * i);
    crypto_shorthash(sum, page, SUMMED_BYTES, key);
}

static bool header_says(const unsigned char *header)
{
    return memcmp(header, "SQLite format 3", 16) == 0 &&
           header[HEADER_PAGE] << 8 == SQLITE_PAGES_BYTES && header[HEADER_PAGE + 1] == 0 &&
           header[HEADER_RESERVE] == SQLITE_PAGES_SUM_BYTES;
}

static bool is_page(int size, sqlite3_int64 at)
{
    return size == SQLITE_PAGES_BYTES && at % SQLITE_PAGES_BYTES == 0;
}

/* Whether the first page says that there are no sums, and has one. */
static bool header_lies(const unsigned char *page)
{
    unsigned char first[SQLITE_PAGES_BYTES], sum[SQLITE_PAGES_SUM_BYTES];
    memcpy(first, page, sizeof first);
    first[HEADER_RESERVE] = SQLITE_PAGES_SUM_BYTES;
    page_sum(first, 1, sum);
    return memcmp(sum, page + SUMMED_BYTES, sizeof sum) == 0;
}

static bool page_holds(const unsigned char *page, sqlite3_int64 number)
{
    static const unsigned char none[SQLITE_PAGES_SUM_BYTES];
    unsigned char sum[SQLITE_PAGES_SUM_BYTES];
    if (memcmp(page + SUMMED_BYTES, none, sizeof none) == 0)
        return true;
    page_sum(page, number, sum);
    return memcmp(page + SUMMED_BYTES, sum, sizeof sum) == 0;
}

static int pages_read(sqlite3_file *file, void *out, int size, sqlite3_int64 at)
{
    struct pages *pages = pages_of(file);
    sqlite3_int64 number = at / SQLITE_PAGES_BYTES + 1;
    int code = pages->theirs->xRead(file, out, size, at);
    if (code == SQLITE_OK && at == 0 && size >= HEADER_BYTES && header_says(out))
        pages->summed = true;
    /* SQLite reads the first page of a file that is still empty, and no other page past the end. */
    bool cut = code == SQLITE_IOERR_SHORT_READ && at > 0;
    if (!is_page(size, at) || (code != SQLITE_OK && !cut))
        return code;
    bool damaged =
        pages->summed ? cut || !page_holds(out, number) : number == 1 && header_lies(out);
    if (damaged) {
        pages->damaged = number;
        return SQLITE_IOERR_DATA;
    }
    if (pages->summed)
        memset((unsigned char *)out + SUMMED_BYTES, 0, SQLITE_PAGES_SUM_BYTES);
    return code;
}

static int pages_write(sqlite3_file *file, const void *bytes, int size, sqlite3_int64 at)
{
    unsigned char page[SQLITE_PAGES_BYTES];
    struct pages *pages = pages_of(file);
    if (at == 0 && is_page(size, at))
        pages->summed =
            header_says(bytes); /* SQLite may not leave the bytes that it was asked for */
    if (!pages->summed || !is_page(size, at))
        return pages->theirs->xWrite(file, bytes, size, at);
    memcpy(page, bytes, SUMMED_BYTES);
    page_sum(page, at / SQLITE_PAGES_BYTES + 1, page + SUMMED_BYTES);
    return pages->theirs->xWrite(file, page, size, at);
}

static int pages_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                      int *out_flags)
{
    sqlite3_vfs *under = ((struct pages_vfs *)vfs)->under;
    int code = under->xOpen(under, name, file, flags, out_flags);
    if (code != SQLITE_OK || (flags & SQLITE_OPEN_MAIN_DB) == 0)
        return code;
    struct pages *pages = (struct pages *)((char *)file + pages_offset(under));
    *pages = (struct pages){.ours = *file->pMethods, .theirs = file->pMethods};
    if (pages->ours.iVersion > 2)
        pages->ours.iVersion = 2; /* no maps of the file, which would go past us */
    pages->ours.xRead = pages_read;
    pages->ours.xWrite = pages_write;
    file->pMethods = &pages->ours;
    return SQLITE_OK;
}

const char *sqlite_pages_vfs(const char *under)
{
    static struct pages_vfs known[VFS_MAX];
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    sqlite3_vfs *found = sqlite3_vfs_find(under);
    unsigned i = 0;
    if (!found)
        return under; /* which SQLite refuses */
    pthread_mutex_lock(&lock);
    while (i < VFS_MAX && known[i].under && known[i].under != found)
        i++;
    assert(i < VFS_MAX);
    struct pages_vfs *vfs = &known[i];
    if (!vfs->under) {
        *vfs = (struct pages_vfs){.ours = *found, .under = found};
        snprintf(vfs->name, sizeof vfs->name, "pages-%s", found->zName);
        vfs->ours.zName = vfs->name;
        vfs->ours.pNext = NULL;
        vfs->ours.szOsFile = (int)(pages_offset(found) + sizeof(struct pages));
        vfs->ours.xOpen = pages_open;
        (void)sqlite3_vfs_register(&vfs->ours, 0);
    }
    pthread_mutex_unlock(&lock);
    return vfs->name;
}

static struct pages *pages_in(sqlite3 *handle)
{
    sqlite3_file *file = NULL;
    int code = sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    bool ours = code == SQLITE_OK && file && file->pMethods && file->pMethods->xRead == pages_read;
    return ours ? pages_of(file) : NULL;
}

void sqlite_pages_look(sqlite3 *handle)
{
    unsigned char header[HEADER_BYTES];
    sqlite3_file *file = NULL;
    int code = sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (code == SQLITE_OK && file && file->pMethods)
        (void)file->pMethods->xRead(file, header, sizeof header, 0);
}

void sqlite_pages_begin(sqlite3 *handle)
{
    int bytes = SQLITE_PAGES_SUM_BYTES;
    struct pages *pages = pages_in(handle);
    if (pages &&
        sqlite3_file_control(handle, "main", SQLITE_FCNTL_RESERVE_BYTES, &bytes) == SQLITE_OK)
        pages->summed = true;
}

bool sqlite_pages_begun(sqlite3 *handle)
{
    const struct pages *pages = pages_in(handle);
    return pages && pages->summed;
}

bool sqlite_pages_damaged(sqlite3 *handle)
{
    const struct pages *pages = pages_in(handle);
    return pages && pages->damaged != 0;
}

void sqlite_pages_explain(sqlite3 *handle, int code, char *text, size_t size)
{
    const struct pages *pages = code == SQLITE_IOERR_DATA ? pages_in(handle) : NULL;
    if (pages)
        snprintf(text, size, "page %lld of the database is not as it was written", pages->damaged);
    else
        snprintf(text, size, "%s", sqlite3_errmsg(handle));
}
