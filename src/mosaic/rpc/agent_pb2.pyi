from mosaic.rpc import trainer_pb2 as _trainer_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class FromAgent(_message.Message):
    hello: Hello
    renew: Renew
    status: WorkerStatus
    piece: FilePiece
    folder: FolderDone
    gone: PathGone
    ended: Ended
    frame: WatchedFrame
    def __init__(self, hello: _Optional[_Union[Hello, _Mapping]] = ..., renew: _Optional[_Union[Renew, _Mapping]] = ..., status: _Optional[_Union[WorkerStatus, _Mapping]] = ..., piece: _Optional[_Union[FilePiece, _Mapping]] = ..., folder: _Optional[_Union[FolderDone, _Mapping]] = ..., gone: _Optional[_Union[PathGone, _Mapping]] = ..., ended: _Optional[_Union[Ended, _Mapping]] = ..., frame: _Optional[_Union[WatchedFrame, _Mapping]] = ...) -> None: ...

class ToAgent(_message.Message):
    welcome: Welcome
    granted: Granted
    taken: Taken
    command: WorkerCommand
    piece: FilePiece
    folder: FolderDone
    all_brought: AllBrought
    watch: Watch
    unwatch: Unwatch
    frame_taken: FrameTaken
    done: AllDone
    def __init__(self, welcome: _Optional[_Union[Welcome, _Mapping]] = ..., granted: _Optional[_Union[Granted, _Mapping]] = ..., taken: _Optional[_Union[Taken, _Mapping]] = ..., command: _Optional[_Union[WorkerCommand, _Mapping]] = ..., piece: _Optional[_Union[FilePiece, _Mapping]] = ..., folder: _Optional[_Union[FolderDone, _Mapping]] = ..., all_brought: _Optional[_Union[AllBrought, _Mapping]] = ..., watch: _Optional[_Union[Watch, _Mapping]] = ..., unwatch: _Optional[_Union[Unwatch, _Mapping]] = ..., frame_taken: _Optional[_Union[FrameTaken, _Mapping]] = ..., done: _Optional[_Union[AllDone, _Mapping]] = ...) -> None: ...

class Hello(_message.Message):
    run_id: str
    epoch: int
    host: str
    pid: int
    version: str
    started: bool
    folder_id: str
    def __init__(self, run_id: _Optional[str] = ..., epoch: _Optional[int] = ..., host: _Optional[str] = ..., pid: _Optional[int] = ..., version: _Optional[str] = ..., started: _Optional[bool] = ..., folder_id: _Optional[str] = ...) -> None: ...

class Welcome(_message.Message):
    assignment_json: bytes
    lease_s: float
    grace_s: float
    files: _containers.RepeatedCompositeFieldContainer[FileState]
    def __init__(self, assignment_json: _Optional[bytes] = ..., lease_s: _Optional[float] = ..., grace_s: _Optional[float] = ..., files: _Optional[_Iterable[_Union[FileState, _Mapping]]] = ...) -> None: ...

class FileState(_message.Message):
    path: str
    bytes: int
    digest: str
    def __init__(self, path: _Optional[str] = ..., bytes: _Optional[int] = ..., digest: _Optional[str] = ...) -> None: ...

class Renew(_message.Message):
    number: int
    def __init__(self, number: _Optional[int] = ...) -> None: ...

class Granted(_message.Message):
    number: int
    lease_s: float
    grace_s: float
    def __init__(self, number: _Optional[int] = ..., lease_s: _Optional[float] = ..., grace_s: _Optional[float] = ...) -> None: ...

class WorkerStatus(_message.Message):
    pid: int
    would_save: bool
    def __init__(self, pid: _Optional[int] = ..., would_save: _Optional[bool] = ...) -> None: ...

class FilePiece(_message.Message):
    path: str
    offset: int
    data: bytes
    how: str
    last: bool
    digest: str
    same_as: str
    def __init__(self, path: _Optional[str] = ..., offset: _Optional[int] = ..., data: _Optional[bytes] = ..., how: _Optional[str] = ..., last: _Optional[bool] = ..., digest: _Optional[str] = ..., same_as: _Optional[str] = ...) -> None: ...

class FolderDone(_message.Message):
    path: str
    files: _containers.RepeatedCompositeFieldContainer[FileState]
    def __init__(self, path: _Optional[str] = ..., files: _Optional[_Iterable[_Union[FileState, _Mapping]]] = ...) -> None: ...

class PathGone(_message.Message):
    path: str
    def __init__(self, path: _Optional[str] = ...) -> None: ...

class Taken(_message.Message):
    messages: int
    def __init__(self, messages: _Optional[int] = ...) -> None: ...

class AllBrought(_message.Message):
    def __init__(self) -> None: ...

class AllDone(_message.Message):
    def __init__(self) -> None: ...

class WorkerCommand(_message.Message):
    verb: str
    def __init__(self, verb: _Optional[str] = ...) -> None: ...

class Ended(_message.Message):
    exit_code: int
    peak_bytes: int
    address_limit_bytes: int
    cause: str
    problem: str
    kernel: str
    files: _containers.RepeatedCompositeFieldContainer[FileState]
    def __init__(self, exit_code: _Optional[int] = ..., peak_bytes: _Optional[int] = ..., address_limit_bytes: _Optional[int] = ..., cause: _Optional[str] = ..., problem: _Optional[str] = ..., kernel: _Optional[str] = ..., files: _Optional[_Iterable[_Union[FileState, _Mapping]]] = ...) -> None: ...

class Watch(_message.Message):
    viewer: int
    wishes: _trainer_pb2.StreamFramesRequest
    def __init__(self, viewer: _Optional[int] = ..., wishes: _Optional[_Union[_trainer_pb2.StreamFramesRequest, _Mapping]] = ...) -> None: ...

class Unwatch(_message.Message):
    viewer: int
    def __init__(self, viewer: _Optional[int] = ...) -> None: ...

class WatchedFrame(_message.Message):
    viewer: int
    frame: _trainer_pb2.LiveFrame
    over: bool
    problem: str
    def __init__(self, viewer: _Optional[int] = ..., frame: _Optional[_Union[_trainer_pb2.LiveFrame, _Mapping]] = ..., over: _Optional[bool] = ..., problem: _Optional[str] = ...) -> None: ...

class FrameTaken(_message.Message):
    viewer: int
    def __init__(self, viewer: _Optional[int] = ...) -> None: ...
