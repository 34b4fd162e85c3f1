/* The receipt of an erasure is the service's word that it erased. Its digest is the subject of the
 * erasure's row of the audit trail, and so is in the log. */
#include <stdio.h>
#include <string.h>

#include "api/proof/verify_state.h"

void verify_receipt_row(struct verify *verify, int64_t number, const char *text)
{
    const struct certificate_facts *receipt = &verify->receipt;
    char about[160];
    bool erases = strstr(text, "\"action\":\"DELETE /v1/datasets/{id}") &&
                  strstr(text, ",\"outcome\":\"ok\",");
    verify->report->erased += erases;
    if (receipt->digest[0] == '\0' || !erases)
        return;
    snprintf(about, sizeof about, ",\"resource\":\"%s\",\"subject\":\"%s\",",
             receipt->figures.dataset, receipt->digest);
    if (strstr(text, about))
        verify->report->receipt = number;
    snprintf(about, sizeof about, ",\"resource\":\"%s\",\"subject\":\"\",",
             receipt->figures.dataset);
    verify->old_erasure = verify->old_erasure || strstr(text, about);
}

void verify_receipt_end(struct verify *verify)
{
    const char *why = "no row of the audit trail has the receipt";
    if (verify->receipt.digest[0] == '\0' || verify->report->receipt > 0)
        return;
    if (verify->old_erasure)
        why = "no row of the audit trail has the receipt; one of an erasure of its dataset names "
              "none, as rows of older versions do";
    verify_fault(verify, verify->receipt.figures.dataset, 0, why);
}
