/* tacet verify: checks exports off-line, and says in a few lines what was checked. */
#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/proof/verify.h"
#include "cli/proof/key_files.h"

struct verify_options {
    const char *keys, *newer, *earlier, *checkpoint, *witness, *receipt;
};

#define FLAG_OPTIONS struct verify_options

static const struct flag TABLE[] = {
    {"keys", AS_TEXT(keys), NULL, "FILE",
     "the service's /.well-known/jwks.json, fetched over a connection that you trust", 0},
    KEY_FILES_FLAG_NEWER(newer),
    {"earlier", AS_TEXT(earlier), NULL, "FILE",
     "an export of before: FILE has to go on from its last entries", 0},
    {"checkpoint", AS_TEXT(checkpoint), NULL, "FILE",
     "a checkpoint of before, as a witness keeps it: the log has to go on from it; needs --keys",
     0},
    {"witness", AS_TEXT(witness), NULL, "KEY",
     "NAME+ID+BASE64, as \"tacet witness\" prints it: this witness has to have cosigned "
     "--checkpoint",
     0},
    {"receipt", AS_TEXT(receipt), NULL, "FILE",
     "the receipt of an erasure: the audit trail has to have it; needs --keys", 0},
};

static const struct flags FLAGS = {
    .program = "tacet verify",
    .usage =
        "usage: tacet verify [--keys FILE [--newer FILE]] [--earlier FILE]\n"
        "                    [--checkpoint FILE [--witness KEY]] [--receipt FILE] FILE\n\n"
        "Checks what \"tacet export\" wrote, without access to the service: every line's form and\n"
        "the signature over all of them, every hash, sum and limit of the ledger, the price of\n"
        "every entry by the accountants, and every certificate. - reads standard input. Exit code\n"
        "0: all is well, 1: something is not, or the file cannot be read.\n\n",
    .once = true,
    FLAG_TABLE(TABLE),
    .takes_arguments = true,
};

static long read_export_file(void *context, unsigned char *buffer, size_t size)
{
    FILE *file = context;
    size_t got = fread(buffer, 1, size, file);
    return got == 0 && ferror(file) ? -1 : (long)got;
}

static void print_fault(const struct verify_fault *fault)
{
    printf("  line %lld", fault->line);
    if (fault->where[0] != '\0')
        printf(", %s", fault->where);
    if (fault->sequence > 0)
        printf(", entry %lld", fault->sequence);
    printf(": %s\n", fault->what);
}

/* Where the receipt of FACTS is. */
static void print_receipt(const struct verify_report *r, const struct certificate_facts *facts)
{
    bool one = facts->expert[0] != '\0';
    printf("  the receipt is in row %" PRId64 " of the audit trail, of %s; %" PRId64
           " later rows repeat it\n",
           r->receipt, r->receipt_time, r->receipts - 1);
    printf("  it says that %s%s%s of the dataset %s", one ? "the expert \"" : "all", facts->expert,
           one ? "\"" : "", facts->figures.dataset);
    if (one)
        printf(" was erased (%s%s)",
               facts->client[0] != '\0' ? "uploaded by " : "it does not say whose", facts->client);
    else
        printf(" was erased");
    printf("; %s called\n", r->receipt_by);
}

static void print_report(const char *name, const struct verify_report *r,
                         const struct certificate_facts *receipt)
{
    char when[40] = "";
    if (!r->begun) {
        printf("%s: %s\n  IT DOES NOT HOLD\n", name, r->faults[0].what);
        return;
    }
    time_t seconds = (time_t)(r->time_ms / 1000);
    struct tm utc;
    if (gmtime_r(&seconds, &utc))
        strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &utc);
    const char *known = r->trusted ? "one of --keys" : "none of --keys";
    if (r->follows)
        known = "follows one of --keys";
    printf("%s: of %s, key %s (%s%s%s)\n", name, when, r->key_id,
           r->asked ? known : "the export's own word",
           r->followed[0] != '\0' ? "; a key that another followed at " : "", r->followed);
    printf("  %" PRId64 " accounts, %" PRId64 " entries (%" PRId64 " of them folded, %" PRId64
           " of these not in the earlier export), %" PRId64 " open holds, %" PRId64
           " certificates\n",
           r->accounts, r->entries, r->folded, r->unproven, r->open_holds, r->certificates);
    printf("  %" PRId64 " prices computed again, %" PRId64 " out of the accountants' reach\n",
           r->prices, r->unknown);
    printf("  %" PRId64 " hashes of certificates and earlier exports compared, %" PRId64
           " inside of folds\n",
           r->heads, r->lost);
    printf("  %" PRId64 " leaves of the log, %" PRId64 " of them as hashes alone (%" PRId64
           " of these not in the earlier export), %" PRId64 " rows of the audit trail\n",
           r->leaves + r->removed, r->removed, r->unshown, r->trail);
    printf("  %" PRId64 " limits raised, %" PRId64
           " datasets that no budget covers any more, %" PRId64 " calls that erased data (%" PRId64
           " more only repeat one)\n",
           r->raised, r->uncovered, r->erased - r->repeated, r->repeated);
    if (r->receipt > 0)
        print_receipt(r, receipt);
    for (unsigned i = 0; i < r->described; i++)
        print_fault(&r->faults[i]);
    if (r->fault_count > r->described)
        printf("  and %" PRId64 " more\n", r->fault_count - r->described);
    printf("  %s\n", r->fault_count == 0 ? "all of it holds" : "IT DOES NOT HOLD");
}

/* Verifies the file NAME and prints the report. Gives the exit code. */
static int verify_file(struct verify *verify, const char *name, const struct proof_keys *keys,
                       const struct certificate_facts *receipt, struct verify_report *report)
{
    bool standard = strcmp(name, "-") == 0;
    FILE *file = standard ? stdin : fopen(name, "rb");
    if (!file)
        return cli_complain(&FLAGS, CLI_FAILED, "%s: cannot be read: %s", name, strerror(errno));
    export_verify(verify, (struct byte_reader){file, read_export_file}, keys, report);
    if (!standard)
        fclose(file);
    print_report(name, report, receipt);
    return report->fault_count == 0 ? CLI_DONE : CLI_FAILED;
}

/* Checks that the witness of KEY has cosigned NOTE. NULL, or a sentence. */
static const char *check_witness(const char *key_text, const char *note, size_t size)
{
    char name[TLOG_NAME_SIZE];
    unsigned char key[32];
    int64_t time_s = 0;
    if (!tlog_key_read(key_text, name, key))
        return "--witness is no key of a witness: \"tacet witness\" prints one, NAME+ID+BASE64";
    return tlog_cosigned(note, size, name, key, &time_s);
}

/* Reads the checkpoint of OPTIONS that one of KEYS signed, and its witness cosigned. */
static bool read_kept_checkpoint(const struct verify_options *options,
                                 const struct proof_keys *keys, struct tlog_checkpoint *out,
                                 char error[CLI_ERROR_SIZE])
{
    size_t size = 0;
    const char *name = options->checkpoint;
    char *text = cli_read_file(name, TLOG_NOTE_MOST, &size, error);
    const char *why = text ? proof_checkpoint_read(text, size, keys, out) : NULL;
    if (text && !why && options->witness)
        why = check_witness(options->witness, text, size);
    if (why)
        snprintf(error, CLI_ERROR_SIZE, "%.400s: %s", name, why);
    bool good = text && !why;
    free(text);
    return good;
}

/* Reads the receipt NAME that one of KEYS signed. */
static bool read_receipt(const char *name, const struct proof_keys *keys,
                         struct certificate_facts *out, char error[CLI_ERROR_SIZE])
{
    size_t size = 0;
    char *text = cli_read_file(name, KEY_FILES_MOST, &size, error);
    const char *why = text ? proof_receipt(text, size, keys, out) : NULL;
    if (why)
        snprintf(error, CLI_ERROR_SIZE, "%.400s: %s", name, why);
    bool good = text && !why;
    free(text);
    return good;
}

int cli_verify(int argc, char **argv)
{
    struct verify_options options = {.keys = NULL};
    struct proof_keys keys = {.count = 0};
    struct flags_found found;
    char error[CLI_ERROR_SIZE] = "";
    int status = cli_read_flags(&FLAGS, argc, argv, &options, &found);
    if (status != CLI_GO_ON)
        return status;
    if (found.arguments != 1)
        return cli_complain(&FLAGS, CLI_USAGE, "takes one FILE; --help shows how");
    if (options.newer && !options.keys)
        return cli_complain(&FLAGS, CLI_USAGE, "--newer needs --keys");
    if (options.keys && !key_files_read(options.keys, options.newer, &keys, error))
        return cli_complain(&FLAGS, CLI_FAILED, "%s", error);
    struct tlog_checkpoint kept = {.size = 0};
    if (options.checkpoint && !options.keys)
        return cli_complain(&FLAGS, CLI_USAGE, "--checkpoint needs --keys");
    if (options.witness && !options.checkpoint)
        return cli_complain(&FLAGS, CLI_USAGE, "--witness needs --checkpoint");
    if (options.checkpoint && !read_kept_checkpoint(&options, &keys, &kept, error))
        return cli_complain(&FLAGS, CLI_FAILED, "%s", error);
    struct certificate_facts receipt = {.id = ""};
    if (options.receipt && !options.keys)
        return cli_complain(&FLAGS, CLI_USAGE, "--receipt needs --keys");
    if (options.receipt && !read_receipt(options.receipt, &keys, &receipt, error))
        return cli_complain(&FLAGS, CLI_FAILED, "%s", error);
    const struct proof_keys *trusted = options.keys ? &keys : NULL;
    struct verify *verify = export_verify_new();
    struct verify_report before = {.begun = false}, report = {.begun = false};
    status = options.earlier ? verify_file(verify, options.earlier, trusted, &receipt, &before)
                             : CLI_DONE;
    export_verify_expect(verify, &kept);
    export_verify_receipt(verify, &receipt);
    int last = verify_file(verify, argv[0], trusted, &receipt, &report);
    if (before.begun && report.begun && before.time_ms > report.time_ms)
        printf("--earlier is of a later time than %s: are the two swapped?\n", argv[0]);
    bool same = before.begun && !sodium_is_zero(report.digest, sizeof report.digest) &&
                memcmp(before.digest, report.digest, sizeof report.digest) == 0;
    if (same)
        printf("--earlier is the same export as %s: that it goes on from itself shows nothing\n",
               argv[0]);
    if (last == CLI_DONE && (!options.earlier || same) && !options.checkpoint)
        printf(
            "  without --earlier or --checkpoint nothing shows that this history is the first\n");
    export_verify_free(verify);
    if (fflush(stdout) != 0)
        return CLI_FAILED;
    return status == CLI_DONE ? last : status;
}
