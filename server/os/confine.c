/* Each part stands alone: a system that lacks one has the others. */
#include "server/os/confine.h"

#include <openssl/crypto.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "server/os/log.h"

#ifdef __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED true
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#endif
#ifndef SANITIZED
#define SANITIZED false
#endif

void confine_from_start(bool wanted)
{
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    if (!wanted || SANITIZED)
        return;
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

static const char *confine_word(int error)
{
    return error == 0 ? "on" : strerror(error);
}

void confine_process(const char *const directories[CONFINE_DIRECTORIES], bool wanted, bool connects)
{
    if (!wanted || SANITIZED) {
        log_event(LOG_LEVEL_WARN, "not-confined", "why=\"%s\"",
                  wanted ? "a build with sanitizers" : "--confine off");
        return;
    }
    int version = 0;
    OPENSSL_init_crypto(OPENSSL_INIT_LOAD_CONFIG, NULL); /* it would read its settings later */
    bool no_new = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
    bool private = prctl(PR_GET_DUMPABLE) == 0;
    int files = confine_files(directories, connects, &version);
    int calls = confine_calls(connects);
    log_event(files == 0 && calls == 0 ? LOG_LEVEL_INFO : LOG_LEVEL_WARN, "confined",
              "files=\"%s\" landlock=%d calls=\"%s\" privileges=%s memory=%s cores=off",
              confine_word(files), version, confine_word(calls), no_new ? "none-new" : "open",
              private ? "private" : "open");
}
