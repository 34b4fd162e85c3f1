/* What a stranger's program can reach: nothing but its own. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "programs/child.h"

#define PATIENT 60000
#define LIMITS                                                                                     \
    {                                                                                              \
        .memory_bytes = (uint64_t)256 << 20, .cpu_s = 60, .file_bytes = 1 << 20, .processes = 16,  \
        .sealed = true                                                                             \
    }

static struct keeper *keeper;

static void setup(void)
{
    keeper = keeper_start(true, NULL, 0);
    cr_assert_not_null(keeper);
}

static void teardown(void)
{
    keeper_end(keeper);
}

TestSuite(sealed, .timeout = 600, .init = setup, .fini = teardown);

static enum child_status begin(const char *source, struct child **out)
{
    const struct child_settings settings = {.keeper = keeper,
                                            .command = "exec python3 -I /world",
                                            .source = source,
                                            .source_size = strlen(source),
                                            .answer_ms = PATIENT,
                                            .limits = LIMITS};
    return child_start(&settings, out);
}

/* What the Python program SOURCE answers to its first question. */
static enum child_status answer_of(const char *source, char out[512])
{
    struct child *child = NULL;
    const char *answer = "";
    size_t size = 0;
    out[0] = '\0';
    cr_assert_eq(begin(source, &child), CHILD_OK);
    enum child_status status = child_ask(child, "go\n", 3, &answer, &size);
    if (status == CHILD_OK)
        snprintf(out, 512, "%s", answer);
    child_end(child);
    return status;
}

/* Runs each of the Python expressions in BODY and answers with what each gave. */
#define EACH(BODY)                                                                                 \
    "import os, sys, socket, ctypes\n"                                                             \
    "c = ctypes.CDLL(None, use_errno=True)\n"                                                      \
    "def call(*a):\n"                                                                              \
    "    return 'done' if c.syscall(*a) >= 0 else os.strerror(ctypes.get_errno())\n"               \
    "def each(*tries):\n"                                                                          \
    "    said = []\n"                                                                              \
    "    for t in tries:\n"                                                                        \
    "        try: said.append(str(t()))\n"                                                         \
    "        except Exception as e: said.append(type(e).__name__)\n"                               \
    "    print(*said, sep=',', flush=True)\n"                                                      \
    "input()\n"                                                                                    \
    "each(" BODY ")\n"

Test(sealed, its_root_holds_programs_and_its_source_alone)
{
    char answer[512];
    cr_assert_eq(
        answer_of(EACH("lambda: ' '.join(sorted(set(os.listdir('/')) - {'lib32', 'lib64', "
                       "'libx32', 'sbin', 'bin', 'lib'})), lambda: sorted(os.listdir('/dev')), "
                       "lambda: os.listdir('/tmp'), lambda: os.getcwd(), "
                       "lambda: open('/world').read(6), lambda: sorted(os.environ), "
                       "lambda: os.uname().nodename"),
                  answer),
        CHILD_OK);
    cr_expect_str_eq(
        answer,
        "dev tmp usr world,['null', 'urandom'],[],/tmp,import,['LANG', 'PATH', 'PWD'],world");
}

/* The data directory of a service as the program's neighbour would know it. */
Test(sealed, a_file_elsewhere_is_not_there)
{
    char source[2048], answer[512], path[] = "/tmp/tacet-sealed-XXXXXX";
    int file = mkstemp(path);
    cr_assert_geq(file, 0);
    snprintf(source, sizeof source,
             EACH("lambda: open('%s'), lambda: os.stat('%s'), lambda: os.stat('/etc/passwd'), "
                  "lambda: os.stat('/proc/%d/environ'), lambda: os.stat('/proc'), "
                  "lambda: os.stat('/../../tmp/x'), lambda: os.listdir('/proc/1/root')"),
             path, path, (int)getpid());
    cr_assert_eq(answer_of(source, answer), CHILD_OK);
    cr_expect_str_eq(answer, "FileNotFoundError,FileNotFoundError,FileNotFoundError,"
                             "FileNotFoundError,FileNotFoundError,FileNotFoundError,"
                             "FileNotFoundError");
    close(file);
    unlink(path);
}

Test(sealed, it_writes_its_scratch_alone_and_no_more_than_its_room)
{
    char answer[512];
    cr_assert_eq(
        answer_of("import os\n"
                  "input()\n"
                  "refused = 0\n"
                  "for at in ('/x', '/usr/x', '/usr/bin/x', '/dev/x', '/world', '/usr/bin/env'):\n"
                  "    try: open(at, 'w')\n"
                  "    except OSError: refused += 1\n"
                  "written = 0\n"
                  "try:\n"
                  "    for i in range(100):\n"
                  "        f = os.open('/tmp/%d' % i, os.O_CREAT | os.O_WRONLY)\n"
                  "        for _ in range(7): written += os.write(f, bytes(65536))\n"
                  "        os.close(f)\n"
                  "except OSError: pass\n"
                  "print(refused, 900000 < written <= 1 << 20, flush=True)\n",
                  answer),
        CHILD_OK);
    cr_expect_str_eq(answer, "6 True");
}

/* A listener of this very machine, a socket of any kind, and the calls that reach further. */
Test(sealed, it_makes_no_socket_mount_trace_or_ring)
{
    char answer[512], source[4096];
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    cr_assert_eq(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    cr_assert_eq(listen(listener, 1), 0);
    cr_assert_eq(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    snprintf(
        source, sizeof source,
        EACH("lambda: socket.create_connection(('127.0.0.1', %d)), "
             "lambda: socket.socket(socket.AF_UNIX), lambda: socket.socket(socket.AF_NETLINK), "
             "lambda: socket.socketpair(), "
             "lambda: c.unshare(0x10000000), lambda: c.mount(b'x', b'/tmp', b'tmpfs', 0, 0), "
             "lambda: c.ptrace(16, 1, 0, 0), lambda: c.chroot(b'/'), "
             "lambda: call(425, 1, 0), lambda: call(319, b'x', 0), lambda: call(321, 0, 0, 0), "
             "lambda: call(310, 1, 0, 0, 0, 0, 0), lambda: call(56, 0x10000011, 0, 0, 0, 0)"),
        ntohs(address.sin_port));
    cr_assert_eq(answer_of(source, answer), CHILD_OK);
#if defined(__x86_64__) /* the numbers are this machine's */
    cr_expect_str_eq(answer, "OSError,OSError,OSError,OSError,-1,-1,-1,-1,"
                             "Function not implemented,Function not implemented,"
                             "Function not implemented,Function not implemented,"
                             "Function not implemented");
#endif
    close(listener);
}

Test(sealed, it_is_nobody_with_no_right)
{
    char answer[512];
    cr_assert_eq(answer_of(EACH("lambda: os.getuid() != 0, lambda: os.setuid(0), "
                                "lambda: os.kill(1, 9), lambda: os.getppid(), "
                                "lambda: c.prctl(23, 0), lambda: c.prctl(39, 0, 0, 0, 0), "
                                "lambda: c.sethostname(b'x', 1), lambda: os.statvfs('/usr'), "
                                "lambda: os.isatty(0)"),
                           answer),
                 CHILD_OK);
    /* PR_CAPBSET_READ of a capability: not there; PR_GET_NO_NEW_PRIVS: set; and no signal reaches
     * the first process of its namespace. */
    cr_expect_str_eq(answer, "True,OSError,None,1,0,1,-1,OSError,False");
}

Test(sealed, it_forks_no_further_than_its_limit)
{
    char answer[512];
    cr_assert_eq(answer_of("import os, time\n"
                           "input()\n"
                           "made = 0\n"
                           "try:\n"
                           "    while True:\n"
                           "        if os.fork() == 0: time.sleep(60)\n"
                           "        made += 1\n"
                           "except OSError: pass\n"
                           "print(made, flush=True)\n"
                           "time.sleep(60)\n",
                           answer),
                 CHILD_OK);
    cr_expect(atoi(answer) > 0 && atoi(answer) <= 16, "%s", answer);
}

/* Each process stays below the limit, and all together do not. */
Test(sealed, what_its_processes_hold_together_ends_it)
{
    char answer[512];
    cr_expect_eq(answer_of("import os, time\n"
                           "input()\n"
                           "for i in range(4):\n"
                           "    if os.fork() == 0: break\n"
                           "held = b'x' * (100 << 20)\n"
                           "time.sleep(60)\n"
                           "print('alive', flush=True)\n",
                           answer),
                 CHILD_ENDED);
    /* The first thread of each has ended; another holds the memory. */
    cr_expect_eq(answer_of("import ctypes, os, threading, time\n"
                           "input()\n"
                           "for i in range(4):\n"
                           "    if os.fork() == 0: break\n"
                           "else:\n"
                           "    time.sleep(30)\n"
                           "    print('alive', flush=True)\n"
                           "def hold():\n"
                           "    time.sleep(1)\n"
                           "    held = b'x' * (100 << 20)\n"
                           "    time.sleep(60)\n"
                           "threading.Thread(target=hold, daemon=True).start()\n"
                           "ctypes.CDLL(None).syscall(60 if os.uname().machine == 'x86_64' else "
                           "93, 0)\n",
                           answer),
                 CHILD_ENDED);
    cr_expect_eq(answer_of("input()\n"
                           "try: held = b'x' * (300 << 20)\n"
                           "except MemoryError: print('refused', flush=True)\n",
                           answer),
                 CHILD_OK);
    cr_expect_str_eq(answer, "refused");
}

/* It would stay when no process shows it. */
Test(sealed, it_has_no_memory_that_is_shared_without_a_file)
{
    char answer[512];
    cr_assert_eq(answer_of(EACH("lambda: __import__('mmap').mmap(-1, 4096), "
                                "lambda: len(__import__('mmap').mmap(-1, 4096, flags=0x22)), "
                                "lambda: os.truncate(os.open('/tmp/x', os.O_CREAT | os.O_RDWR), "
                                "4096), lambda: len(__import__('mmap').mmap(os.open('/tmp/x', "
                                "os.O_RDWR), 4096))"),
                           answer),
                 CHILD_OK);
    cr_expect_str_eq(answer, "OSError,4096,None,4096");
}

/* What is held is counted where it is in memory, so the program may not move it elsewhere:
 * MADV_COLD and MADV_PAGEOUT are refused, and what allocators ask for is not. */
Test(sealed, it_moves_nothing_to_swap)
{
    char answer[512];
    cr_assert_eq(answer_of(EACH("*[lambda a=a: __import__('mmap').mmap(-1, 4096, "
                                "flags=0x22).madvise(a) for a in (4, 8, 14, 20, 21)]"),
                           answer),
                 CHILD_OK);
    cr_expect_str_eq(answer, "None,None,None,OSError,OSError");
}

/* F_SETLEASE and F_NOTIFY tell who opens what; F_SETPIPE_SZ takes memory from its user's others. */
Test(sealed, fcntl_tells_it_nothing_of_others)
{
    char answer[512];
    cr_assert_eq(answer_of(EACH("lambda: __import__('fcntl').fcntl(os.open('/usr/bin', 0), 1026, "
                                "0x80000001), lambda: __import__('fcntl').fcntl(os.open('/tmp/x', "
                                "os.O_CREAT | os.O_RDWR), 1024, 1), "
                                "lambda: __import__('fcntl').fcntl(os.pipe()[1], 1031, 8192), "
                                "lambda: __import__('fcntl').fcntl(0, 1030, 50), "
                                "lambda: __import__('fcntl').fcntl(0, 1)"),
                           answer),
                 CHILD_OK);
    cr_expect_str_eq(answer, "OSError,OSError,OSError,50,0");
}

Test(sealed, a_source_may_be_of_256_KiB_and_no_longer)
{
    char *source = malloc(PROGRAM_SOURCE_MAX + 2), answer[512];
    static const char program[] = "input()\nprint(len(open('/world').read()), flush=True)\n";
    memset(source, '#', PROGRAM_SOURCE_MAX + 1);
    memcpy(source, program, sizeof program - 1);
    source[PROGRAM_SOURCE_MAX] = '\0';
    cr_assert_eq(answer_of(source, answer), CHILD_OK);
    cr_expect_str_eq(answer, "262144");
    struct child *child = NULL;
    source[PROGRAM_SOURCE_MAX] = '#';
    source[PROGRAM_SOURCE_MAX + 1] = '\0';
    cr_expect_eq(begin(source, &child), CHILD_NOT_STARTED);
    free(source);
}

Test(sealed, without_namespaces_it_is_not_started)
{
    struct keeper *usual = keeper;
    struct child *child = NULL;
    keeper = keeper_start(false, NULL, 0);
    cr_expect_eq(begin("print('unprotected', flush=True)", &child), CHILD_NOT_SEALED);
    cr_expect_null(child);
    keeper_end(keeper);
    keeper = usual;
}
