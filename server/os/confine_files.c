/* Landlock. Its numbers are written out here, because headers are often older than the system. */
#include "server/os/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule       445
#define SYS_landlock_restrict_self  446
#endif

#define BIND         1u
#define ASK_VERSION  1u
#define RULE_BENEATH 1

/* Bits of access to files: 0 to 12 since version 1, then one more with versions 2, 3 and 5. */
#define FILES_1  ((UINT64_C(1) << 13) - 1)
#define REFER    (UINT64_C(1) << 13)
#define TRUNCATE (UINT64_C(1) << 14)
#define IOCTL    (UINT64_C(1) << 15)
/* Beneath the data directory: write and read files, list; remove and make plain files. */
#define BENEATH                                                                                    \
    (UINT64_C(1) << 1 | UINT64_C(1) << 2 | UINT64_C(1) << 3 | UINT64_C(1) << 5 | UINT64_C(1) << 8)

#define READ_FILE (UINT64_C(1) << 2)
#define READ_ANY  (READ_FILE | UINT64_C(1) << 3)

/* What libraries look at late: how many cores there are, whether memory is given back, and SQLite's
 * seed for the names of its temporary files. */
static const char *const READABLE[] = {"/sys/devices/system/cpu/online",
                                       "/proc/sys/vm/overcommit_memory", "/dev/urandom"};

/* How a host's name becomes an address. */
static const char *const NAMES[] = {"/etc/hosts", "/etc/resolv.conf", "/etc/nsswitch.conf",
                                    "/etc/host.conf", "/etc/gai.conf"};

struct files_rules {
    uint64_t files;
    uint64_t network; /* bind, connect: version 4 */
    uint64_t scoped;  /* abstract sockets, signals: version 6 */
};

struct files_beneath {
    uint64_t allowed;
    int32_t parent;
} __attribute__((packed));

static struct files_rules files_rules_of(int version, size_t *out_size)
{
    struct files_rules rules = {.files = FILES_1};
    *out_size = sizeof rules.files;
    if (version >= 2)
        rules.files |= REFER;
    if (version >= 3)
        rules.files |= TRUNCATE;
    if (version >= 4) {
        rules.network = 3;
        *out_size = offsetof(struct files_rules, scoped);
    }
    if (version >= 5)
        rules.files |= IOCTL;
    if (version >= 6) {
        rules.scoped = 3;
        *out_size = sizeof rules;
    }
    return rules;
}

static bool files_permit(int set, const char *path, uint64_t access)
{
    const struct files_beneath beneath = {.allowed = access,
                                          .parent = open(path, O_PATH | O_CLOEXEC)};
    bool permitted =
        beneath.parent >= 0 && syscall(SYS_landlock_add_rule, set, RULE_BENEATH, &beneath, 0) == 0;
    int kept_errno = errno;
    if (beneath.parent >= 0)
        close(beneath.parent);
    errno = kept_errno;
    return permitted;
}

int confine_files(const char *const directories[CONFINE_DIRECTORIES], bool connects,
                  int *out_version)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, ASK_VERSION);
    if (version < 1)
        return version < 0 ? errno : ENOTSUP;
    *out_version = (int)version;
    size_t size = 0;
    struct files_rules rules = files_rules_of((int)version, &size);
    if (connects)
        rules.network &= BIND;
    int set = (int)syscall(SYS_landlock_create_ruleset, &rules, size, 0);
    if (set < 0)
        return errno;
    for (size_t i = 0; i < sizeof READABLE / sizeof READABLE[0]; i++)
        files_permit(set, READABLE[i], READ_FILE); /* what is not there is not read */
    for (size_t i = 0; connects && i < sizeof NAMES / sizeof NAMES[0]; i++)
        files_permit(set, NAMES[i], READ_FILE);
    int error = 0;
    for (int i = 0; error == 0 && i < CONFINE_DIRECTORIES && directories[i]; i++)
        if (!files_permit(set, directories[i], rules.files & (BENEATH | TRUNCATE)))
            error = errno;
    if (error == 0 && syscall(SYS_landlock_restrict_self, set, 0) != 0)
        error = errno;
    close(set);
    return error;
}

int confine_writes(void)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, ASK_VERSION);
    if (version < 1)
        return version < 0 ? errno : ENOTSUP;
    size_t size = 0;
    struct files_rules rules = files_rules_of((int)version, &size);
    rules.files &= ~READ_ANY;
    rules.network = 0; /* it may connect */
    rules.scoped = 0;
    int set = (int)syscall(SYS_landlock_create_ruleset, &rules, size, 0);
    if (set < 0)
        return errno;
    int error = syscall(SYS_landlock_restrict_self, set, 0) == 0 ? 0 : errno;
    close(set);
    return error;
}
