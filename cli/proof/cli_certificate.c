/* tacet certificate verify: checks one certificate off-line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/proof/certificate_check.h"
#include "cli/proof/key_files.h"

#define TEXT_MOST    ((size_t)16 << 20)
#define WEIGHTS_MOST ((size_t)1 << 30)

struct certificate_options {
    const char *keys, *newer, *weights;
};

#define FLAG_OPTIONS struct certificate_options

static const struct flag TABLE[] = {
    {"keys", AS_TEXT(keys), NULL, "FILE",
     "the service's /.well-known/jwks.json, fetched over a connection that you trust",
     FLAG_REQUIRED},
    KEY_FILES_FLAG_NEWER(newer),
    {"weights", AS_TEXT(weights), NULL, "FILE",
     "a download of the policy: JSON, safetensors or ONNX", 0},
};

static const struct flags FLAGS = {
    .program = "tacet certificate verify",
    .usage =
        "usage: tacet certificate verify --keys FILE [--newer FILE] [--weights FILE] CERTIFICATE\n"
        "       tacet certificate verify --keys FILE [--newer FILE] POLICY | RECEIPT\n\n"
        "Checks without a server that a certificate is genuine, and that it was issued for\n"
        "these weights, and prints what it guarantees. A downloaded POLICY carries its\n"
        "certificate. A RECEIPT is that of an erasure. Exit code 0: all holds, 1: something\n"
        "does not, or a file cannot be read.\n\n",
    .once = true,
    FLAG_TABLE(TABLE),
    .takes_arguments = true,
};

/* Reads the file NAME. NULL, after one line on standard error. */
static char *read_certificate_file(const char *name, size_t most, size_t *out_size)
{
    char error[CLI_ERROR_SIZE];
    char *text = cli_read_file(name, most, out_size, error);
    if (!text)
        (void)cli_complain(&FLAGS, CLI_FAILED, "%s", error);
    return text;
}

/* Complains about the file NAME unless WHY is NULL. */
static bool holds_good(const char *name, const char *why)
{
    if (why)
        (void)cli_complain(&FLAGS, CLI_FAILED, "%.400s: %s", name, why);
    return !why;
}

static bool check_weights(const char *name, const struct certificate_facts *facts,
                          const struct proof_keys *keys)
{
    size_t size = 0;
    char *bytes = read_certificate_file(name, WEIGHTS_MOST, &size);
    bool good = bytes && holds_good(name, proof_weights(facts, keys, bytes, size));
    free(bytes);
    if (good)
        printf("%s: the weights that it was issued for\n", name);
    return good;
}

/* Prints what was found, and a line for each of SAYS. */
static void print_genuine(const char *name, const struct certificate_facts *facts,
                          const struct buffer *says)
{
    printf("%s: %s is genuine", name, facts->receipt ? "it" : facts->id);
    if (!facts->receipt)
        printf(", issued by tacet %s", facts->software);
    if (facts->account[0] != '\0' && facts->entries > 0)
        printf(", paid from %s, whose entry %lld it names", facts->account,
               (long long)facts->entries);
    if (facts->proven)
        printf(", which is leaf %lld of the log %s of %lld", (long long)facts->leaf,
               facts->log.origin, (long long)facts->log.size);
    if (facts->followed[0] != '\0')
        printf(", signed with a key that another followed at %s", facts->followed);
    printf("\n");
    if (facts->receipt)
        printf("%s: whether the audit trail has it, \"tacet verify --receipt\" says\n", name);
    for (const char *line = says->bytes; line && *line != '\0'; line += strcspn(line, "\n") + 1)
        printf("%s: %.*s\n", name, (int)strcspn(line, "\n"), line);
}

static bool check_genuine(const char *name, const struct certificate_options *options)
{
    struct certificate_facts facts;
    struct proof_keys keys;
    struct buffer says = {.lid = TEXT_MOST};
    char error[CLI_ERROR_SIZE];
    size_t size = 0;
    bool carried = false;
    char *text = read_certificate_file(name, WEIGHTS_MOST, &size);
    bool good = text && key_files_read(options->keys, options->newer, &keys, error);
    if (text && !good)
        (void)cli_complain(&FLAGS, CLI_FAILED, "%s", error);
    good = good && holds_good(name, proof_certificate_or_policy(text, size, &keys, &facts, &carried,
                                                                &says));
    free(text);
    if (good)
        print_genuine(name, &facts, &says);
    buffer_clear(&says);
    if (!good)
        return false;
    if (carried)
        printf("%s: the weights that it was issued for\n", name);
    return !options->weights || check_weights(options->weights, &facts, &keys);
}

int cli_certificate(int argc, char **argv)
{
    struct certificate_options options = {.keys = NULL};
    struct flags_found found;
    bool help = argc > 0 && (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0);
    if (!help && (argc == 0 || strcmp(argv[0], "verify") != 0)) {
        fprintf(stderr, "tacet certificate: its command is \"verify\"; --help shows it\n");
        return CLI_USAGE;
    }
    int status = cli_read_flags(&FLAGS, argc - !help, argv + !help, &options, &found);
    if (status != CLI_GO_ON)
        return status;
    if (found.arguments != 1)
        return cli_complain(&FLAGS, CLI_USAGE,
                            "takes one CERTIFICATE, POLICY or RECEIPT; --help shows how");
    bool good = check_genuine(argv[1], &options);
    return fflush(stdout) == 0 && good ? CLI_DONE : CLI_FAILED;
}
