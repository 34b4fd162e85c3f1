/* What a webhook says, and how it is signed. */
#include <criterion/criterion.h>
#include <string.h>

#include "server/webhooks/webhook_message.h"

TestSuite(webhook_message);

/* The example of the reference libraries of Standard Webhooks. */
Test(webhook_message, is_signed_as_the_standard_says)
{
    struct webhook_key key;
    char signature[WEBHOOK_SIGNATURE_SIZE];
    cr_assert_null(webhook_key_read("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n", &key));
    webhook_sign(&key, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, "{\"test\": 2432232314}",
                 signature);
    cr_expect_str_eq(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
}

Test(webhook_message, a_key_is_long_enough_and_in_its_form)
{
    struct webhook_key key;
    char most[6 + 88 + 1] = "whsec_";
    cr_expect_not_null(webhook_key_read("", &key));
    cr_expect_not_null(webhook_key_read("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", &key));
    cr_expect_not_null(webhook_key_read("whsec_", &key));
    cr_expect_not_null(webhook_key_read("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLa==", &key));
    cr_expect_not_null(webhook_key_read("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw!", &key));
    memset(most + 6, 'A', 84);
    memcpy(most + 90, "AA==", 5);
    cr_expect_null(webhook_key_read(most, &key));
    cr_expect_eq(key.size, 64);
    memcpy(most + 90, "AAA=", 5);
    cr_expect_not_null(webhook_key_read(most, &key));
}

Test(webhook_message, says_ids_and_a_sentence)
{
    struct webhook_event event = {.kind = WEBHOOK_JOB_ENDED,
                                  .id = "job_1",
                                  .subject = "job_1",
                                  .project = "prj_2",
                                  .state = "failed",
                                  .time_ms = 1614265330123};
    char body[WEBHOOK_BODY_SIZE];
    webhook_body(&event, body);
    cr_expect_str_eq(body,
                     "{\"type\":\"job.ended\",\"timestamp\":\"2021-02-25T15:02:10Z\",\"data\":"
                     "{\"job\":\"job_1\",\"project\":\"prj_2\",\"state\":\"failed\"},"
                     "\"text\":\"Job job_1 has ended: failed\"}");
    event = (struct webhook_event){
        .kind = WEBHOOK_BUDGET_LOW, .id = "acc_3-2", .subject = "acc_3", .project = "prj_2"};
    webhook_body(&event, body);
    cr_expect_str_eq(body, "{\"type\":\"budget.low\",\"timestamp\":\"1970-01-01T00:00:00Z\","
                           "\"data\":{\"account\":\"acc_3\",\"project\":\"prj_2\"},"
                           "\"text\":\"Less than a tenth is left in account acc_3.\"}");
}
