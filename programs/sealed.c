/* DESIGN. What a program must not read is not hidden but absent: the process gets a new file system
 * in memory, into which the directories of programs are bound, and the old root is taken away. A
 * list of what may be opened (Landlock) would still show names, sizes and times of files elsewhere,
 * and /proc. Every step must succeed: a program that is half sealed is not started. */
#include "programs/sealed.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Any directory that is there: the new root stands on it until it is the root. */
#define PLACE         "/proc"

#define NICENESS      5                    /* the service goes before its clients' programs */
#define SCRATCH_BYTES (UINT64_C(64) << 20) /* of /tmp, where files have no limit */

#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif
#define READ_ONLY   UINT64_C(1) /* mount_setattr(2) */
#define NO_SETUID   UINT64_C(2)
#define NO_DEVICES  UINT64_C(4)
#define WITH_NESTED 0x8000u

struct sealed_attributes {
    uint64_t set, clear, propagation, user_namespace;
};

static bool sealed_protect(const char *path, uint64_t attributes)
{
    const struct sealed_attributes all = {.set = attributes};
    return syscall(SYS_mount_setattr, AT_FDCWD, path, WITH_NESTED, &all, sizeof all) == 0;
}

/* ---- the new root, which is the working directory */

/* Binds the tree /NAME to NAME, to be read alone. */
static bool sealed_bind_tree(const char *name)
{
    char from[32];
    snprintf(from, sizeof from, "/%s", name);
    return mkdir(name, 0755) == 0 && mount(from, name, NULL, MS_BIND | MS_REC, NULL) == 0 &&
           sealed_protect(name, READ_ONLY | NO_SETUID | NO_DEVICES);
}

/* Makes NAME what /NAME is: a link, a directory or nothing. */
static bool sealed_copy(const char *name)
{
    char from[32], target[PATH_MAX];
    snprintf(from, sizeof from, "/%s", name);
    ssize_t size = readlink(from, target, sizeof target - 1);
    if (size >= 0) {
        target[size] = '\0';
        return symlink(target, name) == 0;
    }
    return errno == ENOENT || (errno == EINVAL && sealed_bind_tree(name));
}

static bool sealed_bind_device(const char *name)
{
    char from[32];
    snprintf(from, sizeof from, "/%s", name);
    int file = open(name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0444);
    if (file < 0)
        return false;
    close(file);
    return mount(from, name, NULL, MS_BIND, NULL) == 0 && sealed_protect(name, NO_SETUID);
}

static bool sealed_write_source(int source)
{
    char bytes[4096];
    ssize_t count = 0;
    int file = open("world", O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0444);
    bool good = file >= 0;
    while (good && (count = read(source, bytes, sizeof bytes)) > 0)
        good = write(file, bytes, (size_t)count) == count;
    if (file >= 0)
        close(file);
    return good && count == 0;
}

static bool sealed_make_scratch(uint64_t file_bytes)
{
    char options[96];
    snprintf(options, sizeof options, "size=%llu,nr_inodes=1024,mode=1777",
             (unsigned long long)(file_bytes > 0 ? file_bytes : SCRATCH_BYTES));
    return mkdir("tmp", 0755) == 0 &&
           mount("scratch", "tmp", "tmpfs", MS_NOSUID | MS_NODEV, options) == 0;
}

static bool sealed_build_root(const struct program_limits *limits, int source)
{
    static const char *const trees[] = {"bin", "sbin", "lib", "lib32", "lib64", "libx32"};
    static const char options[] = "size=1m,nr_inodes=64,mode=755";
    umask(0);
    bool good = mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
                mount("root", PLACE, "tmpfs", MS_NOSUID | MS_NODEV, options) == 0 &&
                chdir(PLACE) == 0 && sealed_bind_tree("usr") && mkdir("dev", 0755) == 0 &&
                sealed_bind_device("dev/null") && sealed_bind_device("dev/urandom") &&
                sealed_write_source(source) && sealed_make_scratch(limits->file_bytes);
    for (size_t i = 0; good && i < sizeof trees / sizeof trees[0]; i++)
        good = sealed_copy(trees[i]);
    umask(077);
    return good && mount(NULL, ".", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV,
                         NULL) == 0;
}

/* The old root is where the new one was put, and is taken away from there: pivot_root(2). */
static bool sealed_change_root(void)
{
    return syscall(SYS_pivot_root, ".", ".") == 0 && umount2(".", MNT_DETACH) == 0 &&
           chdir("/tmp") == 0;
}

/* ---- rights */

static bool sealed_drop_rights(void)
{
    const unsigned locked = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                            SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
                            SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[2] = {{0}, {0}};
    for (int i = 0; prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; i++)
        if (prctl(PR_CAPBSET_DROP, i, 0, 0, 0) != 0)
            return false;
    return prctl(PR_SET_SECUREBITS, locked, 0, 0, 0) == 0 &&
           prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && syscall(SYS_capset, &header, none) == 0;
}

bool sealed_enter(const struct program_limits *limits, int source)
{
    return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0 && sethostname("world", 5) == 0 &&
           unshare(CLONE_NEWNS) == 0 && sealed_build_root(limits, source) && sealed_change_root() &&
           setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + NICENESS) == 0 &&
           sealed_drop_rights() && sealed_limit_calls();
}
