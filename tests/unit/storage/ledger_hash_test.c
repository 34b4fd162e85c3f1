/* The bytes that an entry's hash is of, for ever: a ledger that was written before must verify. The
 * hashes are those of Python's hashlib.blake2b (32 bytes) over the same fields, numbers as struct's
 * "<q" and "<d", texts behind their length. */
#include <criterion/criterion.h>
#include <sodium.h>
#include <string.h>

#include "storage/ledger/ledger_post.h"

static void expect_hex(const unsigned char hash[LEDGER_HASH_SIZE], const char *hex)
{
    char text[2 * LEDGER_HASH_SIZE + 1];
    sodium_bin2hex(text, sizeof text, hash, LEDGER_HASH_SIZE);
    cr_expect_str_eq(text, hex);
}

/* Events that fit into what hashing gathers, just fill it, and do not fit. */
Test(ledger_hash, of_an_entry_is_what_it_was)
{
    static const struct {
        int size;
        const char *hex;
    } events[] = {
        {12, "05a5cd0e86103661b16a4a95b4d01840d8f99dcf004b62fcbd85f3db18164048"},
        {300, "d1bb9f5253694bdee907014a36dcaa71a3736111f04b2148bc3702488c01699f"},
        {512, "fdc43d7226e32de54971d49987a79eebc832cc8aaf73c1638622755d71f12d19"},
        {513, "df797f9848c4fff99f73bfdf86e11a1324abb25f5ced5bca5266846883434058"},
        {8192, "1cd1adfe7a47ad2b03bc5825b78946d14004871229668b04fec0ffb4ee281897"},
    };
    static char event[8192 + 1];
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
        memset(event, 'e', (size_t)events[i].size);
        event[events[i].size] = '\0';
        struct ledger_entry entry = {.account = "acc_x",
                                     .sequence = 7,
                                     .time_ms = 1795000000007,
                                     .kind = LEDGER_ENTRY_SETTLE,
                                     .limit_units = INT64_MAX,
                                     .spent_units = INT64_MIN,
                                     .held_units = -1,
                                     .spent_delta = 1234567890123456789,
                                     .epsilon = 0.1 + 0.2,
                                     .delta = 4.9e-324,
                                     .client = "",
                                     .resource = "qry_häß",
                                     .event = event};
        unsigned char hash[LEDGER_HASH_SIZE];
        for (unsigned b = 0; b < LEDGER_HASH_SIZE; b++)
            entry.previous_hash[b] = (unsigned char)b;
        ledger_entry_hash(&entry, hash);
        expect_hex(hash, events[i].hex);
    }
}

Test(ledger_hash, of_an_account_is_what_it_was)
{
    const struct ledger_account account = {.id = "acc_x",
                                           .kind = LEDGER_CLIENT,
                                           .resource = "tch_y",
                                           .client = "cli_z",
                                           .owner = "cli_s",
                                           .unit = "expert",
                                           .renyi_order = 32,
                                           .created_ms = 1795000000000};
    unsigned char hash[LEDGER_HASH_SIZE];
    ledger_genesis(&account, hash);
    expect_hex(hash, "5996faedba177cd1265afd6546760f3ca7f0124445dcc2c49785bda0d9089c44");
}
