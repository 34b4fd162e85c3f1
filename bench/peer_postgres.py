#!/usr/bin/python3
"""What a Python user would write instead: a query service of FastAPI over psycopg, for bench_servers.sh.

It answers POST /v1/teachers/{id}/queries from a network of Tacet's size and Dirichlet noise. Each answer debits one account and adds
one row to a ledger, in a transaction that is durable before the answer leaves. It keeps no answers, checks no digests and has one table
of tokens in memory, so it does less than Tacet.

    PEER_DATABASE=URL PEER_TOKEN=TOKEN PEER_MODE=thread|group peer_postgres.py PORT

thread: an endpoint in FastAPI's pool of threads, each with a connection. group: one thread puts all waiting debits into one
transaction, as Tacet's committer does. Needs python3-fastapi, uvicorn, python3-uvloop, python3-httptools, python3-psycopg,
python3-numpy.
"""
import asyncio
import os
import queue
import sys
import threading

import numpy
import psycopg
import uvicorn
from fastapi import FastAPI, Header, HTTPException
from pydantic import BaseModel, conlist

COST = 1000
TABLES = """
DROP TABLE IF EXISTS ledger, account;
CREATE TABLE account (id bigint PRIMARY KEY, remaining bigint NOT NULL, spent bigint NOT NULL);
CREATE TABLE ledger (number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, account bigint NOT NULL, cost bigint NOT NULL,
                     made timestamptz NOT NULL DEFAULT now());
INSERT INTO account VALUES (1, 1000000000000, 0);
"""
accounts = {"Bearer " + os.environ["PEER_TOKEN"]: 1}
app = FastAPI(openapi_url=None)
local = threading.local()


def connect():
    return psycopg.connect(os.environ["PEER_DATABASE"], autocommit=True)


class Policy:
    """A perceptron of 4, 64, 64 and 2, and a sample of a Dirichlet distribution."""

    def __init__(self):
        drawn = numpy.random.default_rng(7)
        sizes = ((4, 64), (64, 64), (64, 2))
        self.weights = [drawn.normal(0, 0.3, size).astype(numpy.float32) for size in sizes]
        self.noise = numpy.random.default_rng()

    def __call__(self, state):
        hidden = numpy.asarray(state, dtype=numpy.float32)
        for weights in self.weights[:2]:
            hidden = numpy.maximum(hidden @ weights, 0)
        out = (hidden @ self.weights[2]).astype(numpy.float64)
        return self.noise.dirichlet(numpy.log1p(numpy.exp(0.1 * out)) + 0.05).tolist()


class Query(BaseModel):
    state: conlist(float, min_items=4, max_items=4)


def debit(database, account):
    """In an open transaction: what remains and the entry's number, or None when the budget is spent."""
    row = database.execute("UPDATE account SET remaining = remaining - %s, spent = spent + %s WHERE id = %s AND remaining >= %s "
                           "RETURNING remaining", (COST, COST, account, COST)).fetchone()
    if row is None:
        return None
    entry = database.execute("INSERT INTO ledger (account, cost) VALUES (%s, %s) RETURNING number", (account, COST)).fetchone()
    return row[0], entry[0]


def account_of(token):
    if token not in accounts:
        raise HTTPException(401, "The token is not known.")
    return accounts[token]


def answer(result, policy, state):
    if result is None:
        raise HTTPException(402, "The budget is spent.")
    return {"action": policy(state), "remaining": result[0], "entry": result[1]}


def query_in_thread(teacher: str, query: Query, authorization: str = Header(default="")):
    account = account_of(authorization)
    if not hasattr(local, "database"):
        local.database, local.policy = connect(), Policy()
    with local.database.transaction():
        result = debit(local.database, account)
    return answer(result, local.policy, query.state)


class Committer(threading.Thread):
    """All debits that wait share one transaction."""

    def __init__(self, loop):
        super().__init__(daemon=True)
        self.waiting, self.loop = queue.SimpleQueue(), loop

    def run(self):
        database = connect()
        while True:
            batch = [self.waiting.get()]
            while not self.waiting.empty():
                batch.append(self.waiting.get())
            with database.transaction():
                results = [debit(database, account) for account, _ in batch]
            self.loop.call_soon_threadsafe(self.finish, batch, results)

    @staticmethod
    def finish(batch, results):
        for (_, future), result in zip(batch, results):
            if not future.done():
                future.set_result(result)


async def query_in_group(teacher: str, query: Query, authorization: str = Header(default="")):
    account = account_of(authorization)
    if not hasattr(app.state, "committer"):
        app.state.committer, app.state.policy = Committer(asyncio.get_running_loop()), Policy()
        app.state.committer.start()
    future = asyncio.get_running_loop().create_future()
    app.state.committer.waiting.put((account, future))
    return answer(await future, app.state.policy, query.state)


if __name__ == "__main__":
    with connect() as first:
        first.execute(TABLES)
    handler = {"thread": query_in_thread, "group": query_in_group}[os.environ["PEER_MODE"]]
    app.post("/v1/teachers/{teacher}/queries")(handler)
    uvicorn.run(app, port=int(sys.argv[1]), loop="uvloop", http="httptools", access_log=False, log_level="warning")
