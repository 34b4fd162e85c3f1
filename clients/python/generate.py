#!/usr/bin/env python3
"""Writes tacet/api.py from openapi.yaml: a method for each operation, a type for each schema.

    clients/python/generate.py [OPENAPI [OUTPUT]]

It needs PyYAML. The output is committed; tests/python/test_api.py fails when it is stale.
"""
from __future__ import annotations

import keyword
import pathlib
import re
import sys
import textwrap
from typing import Any

import yaml

HERE = pathlib.Path(__file__).resolve().parent
HEADER = '''"""Every endpoint of Tacet as a method. Written by generate.py from openapi.yaml: do not edit.

A method takes the path's variables, then the body, then the query. ``key`` is the Idempotency-Key: a fresh one
is made when it is left out. Answers are plain objects, as openapi.yaml describes them.
"""
from __future__ import annotations

from typing import Any, BinaryIO, Literal, Optional, TypedDict, Union
from urllib.parse import quote

from .transport import Transport, fresh_key

'''
WIDTH = 120
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])([A-Z])", r"_\1", name).lower()


def python_type(schema: Any) -> str:
    """The type hint of a schema; Any where Python's types cannot say it."""
    if "$ref" in schema:
        return schema["$ref"].rsplit("/", 1)[-1]
    if len(schema.get("allOf", [])) == 1:
        return python_type(schema["allOf"][0])
    for union in ("oneOf", "anyOf"):
        if union in schema:
            return joined([python_type(s) for s in schema[union]])
    if "enum" in schema:
        return "Literal[%s]" % ", ".join(repr(v) for v in schema["enum"])
    kind = schema.get("type")
    if isinstance(kind, list):
        return joined([python_type({**schema, "type": k}) for k in kind])
    if kind == "array":
        return "list[%s]" % python_type(schema.get("items", {}))
    return "dict[str, Any]" if kind == "object" else PLAIN.get(kind, "Any")


def laid_out(head: str, items: list[str], tail: str, indent: int) -> str:
    """HEAD ITEMS TAIL on one line, or with the items on lines of their own where that is too long."""
    margin = " " * indent
    line = margin + head + ", ".join(items) + tail
    if len(line) <= WIDTH:
        return line + "\n"
    rows = [""]
    for item in items:
        if rows[-1] and len(rows[-1]) + len(item) + 2 > WIDTH - 4 - indent:
            rows.append("")
        rows[-1] += (" " if rows[-1] else "") + item + ","
    return margin + head + "\n" + "".join(f"{margin}    {row}\n" for row in rows) + margin + tail + "\n"


def joined(kinds: list[str]) -> str:
    kinds = list(dict.fromkeys(kinds))
    if "Any" in kinds:
        return "Any"
    if "None" in kinds and len(kinds) == 2:
        return "Optional[%s]" % next(k for k in kinds if k != "None")
    return kinds[0] if len(kinds) == 1 else "Union[%s]" % ", ".join(kinds)


def members(schema: Any, schemas: dict) -> dict | None:
    """The members of an object, those of allOf together; None where it is no object."""
    if "$ref" in schema:
        return members(schemas[schema["$ref"].rsplit("/", 1)[-1]], schemas)
    if "allOf" in schema:
        parts = [members(s, schemas) for s in schema["allOf"]]
        return None if None in parts else {k: v for part in parts for k, v in part.items()}
    return schema.get("properties")


def write_types(schemas: dict) -> str:
    out = []
    for name, schema in sorted(schemas.items()):
        found = members(schema, schemas)
        if not found:
            out.append(f"{name} = {'Any' if 'allOf' in schema else quoted(python_type(schema), schemas)}\n")
            continue
        rows = [f'"{k}": "{python_type(v)}"' for k, v in found.items()]
        out.append(laid_out(f'{name} = TypedDict("{name}", {{', rows, "}, total=False)", 0))
    return "".join(out)


def quoted(kind: str, schemas: dict) -> str:
    """An alias must not name what is defined below it."""
    return "Any" if any(re.search(rf"\b{name}\b", kind) for name in schemas) else kind


def answer(operation: dict) -> tuple[str, str]:
    """Type hint and form of the first successful answer."""
    for code, response in sorted(operation["responses"].items()):
        content = response.get("content", {})
        if code.startswith("2") and content:
            if len(content) > 1 and "application/octet-stream" in content:
                return "bytes", "bytes"
            if "application/json" not in content:
                return ("bytes", "bytes") if "event-stream" in str(content) else ("str", "json")
            schema = content["application/json"].get("schema", {})
            return ("dict[str, Any]" if "allOf" in schema else python_type(schema)), "json"
    return "None", "json"


def write_method(method: str, path: str, operation: dict, parameters: dict, schemas: dict) -> str:
    found = [parameters[p["$ref"].rsplit("/", 1)[-1]] if "$ref" in p else p for p in operation.get("parameters", [])]
    in_path = [p["name"] for p in found if p["in"] == "path"]
    query = [p for p in found if p["in"] == "query"]
    headers = [p["name"] for p in found if p["in"] == "header"]
    keyed = "Idempotency-Key" in headers
    headers = [name for name in headers if name != "Idempotency-Key"]
    bodies = operation.get("requestBody", {}).get("content", {})
    only_json = list(bodies) == ["application/json"]
    hint, want = answer(operation)
    signature, call, about = ["self"] + [f"{p}: str" for p in in_path], [], [operation["summary"].rstrip(".") + "."]
    if only_json:
        schema = bodies["application/json"]["schema"]
        signature.append(f"body: {python_type(schema)}")
        call.append("body=body")
        names = members(schema, schemas)
        required = schema.get("required") or schemas.get(python_type(schema), {}).get("required", [])
        if names:
            about.append("body: " + ", ".join(n + "*" * (n in required) for n in names) + (" (* required)" if required else ""))
    elif bodies:
        signature += ["raw: Union[bytes, BinaryIO]", f'content_type: str = "{next(iter(bodies))}"']
        call.append("raw=raw")
        headers.append("Content-Type")
    signature.append("*")
    for p in query:
        signature.append(f'{safe(p["name"])}: Optional[{python_type(p["schema"])}] = None')
    if query:
        call.append("query={%s}" % ", ".join(f'"{p["name"]}": {safe(p["name"])}' for p in query))
    for name in headers:
        if name != "Content-Type":
            signature.append(f'{safe(name)}: Optional[str] = None')
    if headers:
        call.append("headers={%s}" % ", ".join(f'"{n}": {safe(n)}' for n in headers))
    if keyed:
        signature.append("key: Optional[str] = None")
        call.append("key=key or fresh_key()")
    if signature[-1] == "*":
        signature.pop()
    if want != "json":
        call.append(f'want="{want}"')
    if operation.get("x-roles"):
        about.append("Roles: " + ", ".join(operation["x-roles"]))
    where = re.sub(r"\{(\w+)\}", lambda m: "{_path(%s)}" % m[1], path)
    first = f'"{method.upper()}", {"f" if in_path else ""}"{where}"'
    doc = [textwrap.fill(line, WIDTH - 8, initial_indent=" " * 8, subsequent_indent=" " * 8) for line in about]
    return (laid_out(f"def {snake(operation['operationId'])}(", signature, f") -> {hint}:", 4)
            + '        """' + "\n\n".join([f"{method.upper()} {path}"] + doc) + '\n        """\n'
            + laid_out("return self._transport.call(", [first] + call, ")", 8))


def safe(name: str) -> str:
    name = snake(name.replace("-", "_"))
    return name + "_" if keyword.iskeyword(name) else name


def generate(text: str) -> str:
    """The text of tacet/api.py for that of openapi.yaml."""
    document = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    schemas, parameters = document["components"]["schemas"], document["components"]["parameters"]
    methods = [write_method(method, path, operation, parameters, schemas)
               for path, item in document["paths"].items() for method, operation in item.items()]
    return (HEADER + write_types(schemas)
            + '\n\ndef _path(part: object) -> str:\n    return quote(str(part), safe="@")\n\n\n'
            + 'class Api:\n    """All endpoints of one service."""\n\n'
            + "    def __init__(self, transport: Transport) -> None:\n        self._transport = transport\n\n"
            + "\n".join(methods))


if __name__ == "__main__":
    source = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else HERE.parent.parent / "openapi.yaml")
    output = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else HERE / "tacet" / "api.py")
    output.write_text(generate(source.read_text()))
