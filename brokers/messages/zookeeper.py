"""Decode and encode the ZooKeeper frames that Kafka uses: sessions, reads and writes of nodes, and watches.

The formats are those of ZooKeeper's ``zookeeper.jute``. kazoo, the Python client, encodes requests and decodes
responses; a proxy has to decode requests too.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import attrs

from leadline.model.disk.wire import Malformed, Wire

OPERATIONS = {
    1: "create",
    2: "delete",
    3: "exists",
    4: "getData",
    5: "setData",
    6: "getACL",
    7: "setACL",
    8: "getChildren",
    9: "sync",
    11: "ping",
    12: "getChildren2",
    13: "check",
    14: "multi",
    15: "create2",
    100: "auth",
    101: "setWatches",
    -10: "createSession",
    -11: "close",
}
"""The types of requests, keyed by number."""

NO_NODE, NODE_EXISTS = -101, -110
"""Errors of responses."""

NEW_SESSION = 0
"""The id in the request for a new session."""

_CREATE, _DELETE, _GET_DATA, _CLOSE = 1, 2, 4, -11
_ANY_VERSION = -1
_XID = 1
_WATCH = -1
_ALL_PERMISSIONS = 31
_WITHOUT_PATH = {"ping", "close", "auth", "setWatches", "createSession"}
_WITH_DATA = {"create", "create2", "setData"}
_WITH_VERSION = {"delete", "setData", "check"}


@attrs.frozen
class Session:
    """The id and the password of a session. A client that knows both can take over the session and close it."""

    id: int
    password: bytes = attrs.field(repr=False)


def read_connect_request(frame: bytes) -> dict[str, Any]:
    """Decode the first frame that a client sends.

    Raises:
        Malformed: if the frame is too short.
    """
    wire = Wire(frame)
    wire.int32()  # the protocol's version
    wire.int64()  # the last zxid that the client has seen
    return {"timeout": wire.int32(), "session": wire.int64()}


def read_connect_response(frame: bytes) -> tuple[dict[str, Any], Session]:
    """Decode the response to a client's first frame, and return its fields and the session.

    The session id is 0 if the requested session has expired.

    Raises:
        Malformed: if the frame is too short.
    """
    wire = Wire(frame)
    wire.int32()
    timeout, session = wire.int32(), wire.int64()
    password = _data(wire) or b""
    return {"timeout": timeout, "session": session}, Session(session, password)


def read_request(frame: bytes) -> tuple[int, str, dict[str, Any]]:
    """Decode any request other than the connect request.

    Returns:
        The xid, the name of the operation, and the body. The body contains the path of the node and, depending on the
        operation, the data to write and the expected version. The body of a "multi" is a list of operations.

    Raises:
        Malformed: if the frame is not a valid request.
    """
    wire = Wire(frame)
    xid, kind = wire.int32(), wire.int32()
    name = OPERATIONS.get(kind, str(kind))
    if name == "multi":
        return xid, name, {"operations": list(_operations(wire))}
    if name in _WITHOUT_PATH or kind not in OPERATIONS:
        return xid, name, {}
    return xid, name, _operation(wire, name)


def _operations(wire: Wire) -> Iterator[dict[str, Any]]:
    while True:
        kind, done = wire.int32(), wire.boolean()
        wire.int32()  # an error, which requests do not have
        if done:
            return
        name = OPERATIONS.get(kind, str(kind))
        if name not in {"create", "create2", "delete", "setData", "check"}:
            raise Malformed(f"a multi request contains an unknown operation of type {kind}")
        yield {"operation": name, **_operation(wire, name)}


def _operation(wire: Wire, name: str) -> dict[str, Any]:
    body: dict[str, Any] = {"path": _string(wire)}
    if name in _WITH_DATA:
        body["data"] = _data(wire)
    if name in {"create", "create2"}:
        for _ in range(max(wire.int32(), 0)):  # the access control list
            wire.int32(), _data(wire), _data(wire)
        body["flags"] = wire.int32()
    elif name in _WITH_VERSION:
        body["version"] = wire.int32()
    return body


def xid_of(frame: bytes) -> int:
    """Return the xid of any response other than the connect response. The xid of a watch is -1.

    Raises:
        Malformed: if the frame is too short.
    """
    return Wire(frame).int32()


def read_response(frame: bytes, operation: str | None) -> tuple[str, dict[str, Any]]:
    """Decode any response other than the connect response.

    Parameters:
        operation: the operation of the request with the same xid, or None if it is unknown.

    Returns:
        The name of the operation, or "watch", and the body. The body contains the zxid and the error code. Depending on
        the operation, it also contains the path and the event of a watch, the data that "getData" returned, or the path
        that "create" returned.

    Raises:
        Malformed: if the frame is not a valid response.
    """
    wire = Wire(frame)
    xid, zxid, error = wire.int32(), wire.int64(), wire.int32()
    body: dict[str, Any] = {"zxid": zxid, "error": error}
    if xid == _WATCH:
        event, _ = wire.int32(), wire.int32()
        return "watch", body | {"event": event, "path": _string(wire)}
    if operation == "getData" and not error:
        body["data"] = _data(wire)
    elif operation in {"create", "create2"} and not error:
        body["path"] = _string(wire)
    return operation or "?", body


def write_connect(session: Session, timeout: int) -> bytes:
    """Encode the first frame that a client sends, prefixed with its length.

    Parameters:
        session: the session to take over. The id 0 requests a new session.
        timeout: the requested session timeout, in milliseconds.
    """
    return _framed(struct.pack(">iqiq", 0, 0, timeout, session.id) + _sized(session.password) + b"\0")


def write_close() -> bytes:
    """Encode a request that closes the session, prefixed with its length."""
    return _framed(struct.pack(">ii", _XID, _CLOSE))


def write_get_data(path: str) -> bytes:
    """Encode a request for the data of a node, without a watch, prefixed with its length."""
    return _framed(struct.pack(">ii", _XID, _GET_DATA) + _sized(path.encode()) + b"\0")


def write_delete(path: str) -> bytes:
    """Encode a request that deletes a node, whatever its version. The result is prefixed with its length."""
    return _framed(struct.pack(">ii", _XID, _DELETE) + _sized(path.encode()) + struct.pack(">i", _ANY_VERSION))


def write_create(path: str, data: bytes) -> bytes:
    """Encode a request that creates a persistent node with an open ACL, prefixed with its length."""
    everybody = struct.pack(">ii", 1, _ALL_PERMISSIONS) + _sized(b"world") + _sized(b"anyone")
    return _framed(struct.pack(">ii", _XID, _CREATE) + _sized(path.encode()) + _sized(data) + everybody + bytes(4))


def _sized(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


def _framed(frame: bytes) -> bytes:
    return struct.pack(">i", len(frame)) + frame


def _data(wire: Wire) -> bytes | None:
    length = wire.int32()
    return None if length < 0 else wire.take(length)


def _string(wire: Wire) -> str:
    try:
        return (_data(wire) or b"").decode("utf-8")
    except UnicodeDecodeError as error:
        raise Malformed("a path is not UTF-8") from error
