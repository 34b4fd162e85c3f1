"""What an auditor does: verify the ledger, list who may spend what, and check a certificate.

TACET_TOKEN is an auditor's or a steward's.
"""
# %% The service recomputes every balance and every hash.
import tacet

client = tacet.connect()
ledger = client.ledger()
print(ledger.verify())
ledger

# %% The chain of hashes of each account, checked here once more: every entry holds the hash of the one before.
for account in ledger:
    before = None
    for entry in ledger.entries(account["account"]):
        assert before in (None, entry["previous_hash"]), "an entry was changed or removed"
        before = entry["hash"]
    assert before == account["head"]
    print(account["account"], account["kind"], account["entries"], "entries", account["spent"])

# %% Certificates that the entries lead to can be read by everybody who knows their id.
keys = client.api.signing_keys()["keys"]
print(len(keys), "signing key(s):", [key["kid"] for key in keys])
