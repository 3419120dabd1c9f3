from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Empty(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RunId(_message.Message):
    __slots__ = ("run_id",)
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    def __init__(self, run_id: _Optional[str] = ...) -> None: ...

class SubmitRunRequest(_message.Message):
    __slots__ = ("config_json", "client_key", "seeds", "priority")
    CONFIG_JSON_FIELD_NUMBER: _ClassVar[int]
    CLIENT_KEY_FIELD_NUMBER: _ClassVar[int]
    SEEDS_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    config_json: bytes
    client_key: str
    seeds: _containers.RepeatedScalarFieldContainer[int]
    priority: int
    def __init__(self, config_json: _Optional[bytes] = ..., client_key: _Optional[str] = ..., seeds: _Optional[_Iterable[int]] = ..., priority: _Optional[int] = ...) -> None: ...

class SubmitRunReply(_message.Message):
    __slots__ = ("runs", "known")
    RUNS_FIELD_NUMBER: _ClassVar[int]
    KNOWN_FIELD_NUMBER: _ClassVar[int]
    runs: _containers.RepeatedCompositeFieldContainer[Run]
    known: bool
    def __init__(self, runs: _Optional[_Iterable[_Union[Run, _Mapping]]] = ..., known: _Optional[bool] = ...) -> None: ...

class ValidateRunRequest(_message.Message):
    __slots__ = ("config_json",)
    CONFIG_JSON_FIELD_NUMBER: _ClassVar[int]
    config_json: bytes
    def __init__(self, config_json: _Optional[bytes] = ...) -> None: ...

class ValidateRunReply(_message.Message):
    __slots__ = ("ok", "output", "summary_json", "problems", "exit_code")
    OK_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_JSON_FIELD_NUMBER: _ClassVar[int]
    PROBLEMS_FIELD_NUMBER: _ClassVar[int]
    EXIT_CODE_FIELD_NUMBER: _ClassVar[int]
    ok: bool
    output: str
    summary_json: bytes
    problems: _containers.RepeatedCompositeFieldContainer[ConfigProblem]
    exit_code: int
    def __init__(self, ok: _Optional[bool] = ..., output: _Optional[str] = ..., summary_json: _Optional[bytes] = ..., problems: _Optional[_Iterable[_Union[ConfigProblem, _Mapping]]] = ..., exit_code: _Optional[int] = ...) -> None: ...

class DryRunUpdate(_message.Message):
    __slots__ = ("output", "reply")
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    REPLY_FIELD_NUMBER: _ClassVar[int]
    output: str
    reply: ValidateRunReply
    def __init__(self, output: _Optional[str] = ..., reply: _Optional[_Union[ValidateRunReply, _Mapping]] = ...) -> None: ...

class ConfigProblem(_message.Message):
    __slots__ = ("path", "message")
    PATH_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    path: str
    message: str
    def __init__(self, path: _Optional[str] = ..., message: _Optional[str] = ...) -> None: ...

class Run(_message.Message):
    __slots__ = ("run_id", "state", "reason", "kind", "label", "notes", "algo", "env_id", "seed", "group", "priority", "global_step", "total_timesteps", "steps_per_s", "eta_s", "last_return", "best_return", "exit_code", "stderr_tail", "config_digest", "submitted_at", "started_at", "ended_at", "attempt", "pid", "last_seq", "revision", "run_dir", "deleted", "sparkline", "parent", "parent_step", "damage", "damaged_lines", "first_damaged_line", "newer_events", "tags")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    NOTES_FIELD_NUMBER: _ClassVar[int]
    ALGO_FIELD_NUMBER: _ClassVar[int]
    ENV_ID_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    GLOBAL_STEP_FIELD_NUMBER: _ClassVar[int]
    TOTAL_TIMESTEPS_FIELD_NUMBER: _ClassVar[int]
    STEPS_PER_S_FIELD_NUMBER: _ClassVar[int]
    ETA_S_FIELD_NUMBER: _ClassVar[int]
    LAST_RETURN_FIELD_NUMBER: _ClassVar[int]
    BEST_RETURN_FIELD_NUMBER: _ClassVar[int]
    EXIT_CODE_FIELD_NUMBER: _ClassVar[int]
    STDERR_TAIL_FIELD_NUMBER: _ClassVar[int]
    CONFIG_DIGEST_FIELD_NUMBER: _ClassVar[int]
    SUBMITTED_AT_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    ENDED_AT_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    PID_FIELD_NUMBER: _ClassVar[int]
    LAST_SEQ_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    RUN_DIR_FIELD_NUMBER: _ClassVar[int]
    DELETED_FIELD_NUMBER: _ClassVar[int]
    SPARKLINE_FIELD_NUMBER: _ClassVar[int]
    PARENT_FIELD_NUMBER: _ClassVar[int]
    PARENT_STEP_FIELD_NUMBER: _ClassVar[int]
    DAMAGE_FIELD_NUMBER: _ClassVar[int]
    DAMAGED_LINES_FIELD_NUMBER: _ClassVar[int]
    FIRST_DAMAGED_LINE_FIELD_NUMBER: _ClassVar[int]
    NEWER_EVENTS_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    state: str
    reason: str
    kind: str
    label: str
    notes: str
    algo: str
    env_id: str
    seed: int
    group: str
    priority: int
    global_step: int
    total_timesteps: int
    steps_per_s: float
    eta_s: float
    last_return: float
    best_return: float
    exit_code: int
    stderr_tail: _containers.RepeatedScalarFieldContainer[str]
    config_digest: str
    submitted_at: float
    started_at: float
    ended_at: float
    attempt: int
    pid: int
    last_seq: int
    revision: int
    run_dir: str
    deleted: bool
    sparkline: _containers.RepeatedScalarFieldContainer[float]
    parent: str
    parent_step: int
    damage: str
    damaged_lines: int
    first_damaged_line: int
    newer_events: int
    tags: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, run_id: _Optional[str] = ..., state: _Optional[str] = ..., reason: _Optional[str] = ..., kind: _Optional[str] = ..., label: _Optional[str] = ..., notes: _Optional[str] = ..., algo: _Optional[str] = ..., env_id: _Optional[str] = ..., seed: _Optional[int] = ..., group: _Optional[str] = ..., priority: _Optional[int] = ..., global_step: _Optional[int] = ..., total_timesteps: _Optional[int] = ..., steps_per_s: _Optional[float] = ..., eta_s: _Optional[float] = ..., last_return: _Optional[float] = ..., best_return: _Optional[float] = ..., exit_code: _Optional[int] = ..., stderr_tail: _Optional[_Iterable[str]] = ..., config_digest: _Optional[str] = ..., submitted_at: _Optional[float] = ..., started_at: _Optional[float] = ..., ended_at: _Optional[float] = ..., attempt: _Optional[int] = ..., pid: _Optional[int] = ..., last_seq: _Optional[int] = ..., revision: _Optional[int] = ..., run_dir: _Optional[str] = ..., deleted: _Optional[bool] = ..., sparkline: _Optional[_Iterable[float]] = ..., parent: _Optional[str] = ..., parent_step: _Optional[int] = ..., damage: _Optional[str] = ..., damaged_lines: _Optional[int] = ..., first_damaged_line: _Optional[int] = ..., newer_events: _Optional[int] = ..., tags: _Optional[_Iterable[str]] = ...) -> None: ...

class ResumeRunRequest(_message.Message):
    __slots__ = ("run_id", "from_step", "discard_newer", "client_key")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    FROM_STEP_FIELD_NUMBER: _ClassVar[int]
    DISCARD_NEWER_FIELD_NUMBER: _ClassVar[int]
    CLIENT_KEY_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    from_step: int
    discard_newer: bool
    client_key: str
    def __init__(self, run_id: _Optional[str] = ..., from_step: _Optional[int] = ..., discard_newer: _Optional[bool] = ..., client_key: _Optional[str] = ...) -> None: ...

class ListRunsRequest(_message.Message):
    __slots__ = ("states", "text", "page_size", "page_token", "kinds")
    STATES_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    states: _containers.RepeatedScalarFieldContainer[str]
    text: str
    page_size: int
    page_token: str
    kinds: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, states: _Optional[_Iterable[str]] = ..., text: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., kinds: _Optional[_Iterable[str]] = ...) -> None: ...

class ListRunsReply(_message.Message):
    __slots__ = ("runs", "next_page_token", "total", "indexed", "index_total")
    RUNS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    INDEXED_FIELD_NUMBER: _ClassVar[int]
    INDEX_TOTAL_FIELD_NUMBER: _ClassVar[int]
    runs: _containers.RepeatedCompositeFieldContainer[Run]
    next_page_token: str
    total: int
    indexed: int
    index_total: int
    def __init__(self, runs: _Optional[_Iterable[_Union[Run, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., total: _Optional[int] = ..., indexed: _Optional[int] = ..., index_total: _Optional[int] = ...) -> None: ...

class SetLabelRequest(_message.Message):
    __slots__ = ("run_id", "label", "notes", "priority", "add_tags", "remove_tags")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    NOTES_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    ADD_TAGS_FIELD_NUMBER: _ClassVar[int]
    REMOVE_TAGS_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    label: str
    notes: str
    priority: int
    add_tags: _containers.RepeatedScalarFieldContainer[str]
    remove_tags: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, run_id: _Optional[str] = ..., label: _Optional[str] = ..., notes: _Optional[str] = ..., priority: _Optional[int] = ..., add_tags: _Optional[_Iterable[str]] = ..., remove_tags: _Optional[_Iterable[str]] = ...) -> None: ...

class WatchRunsRequest(_message.Message):
    __slots__ = ("after_revision",)
    AFTER_REVISION_FIELD_NUMBER: _ClassVar[int]
    after_revision: int
    def __init__(self, after_revision: _Optional[int] = ...) -> None: ...

class WatchEventsRequest(_message.Message):
    __slots__ = ("run_id", "after_seq", "kinds", "without_kinds")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    AFTER_SEQ_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    WITHOUT_KINDS_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    after_seq: int
    kinds: _containers.RepeatedScalarFieldContainer[str]
    without_kinds: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, run_id: _Optional[str] = ..., after_seq: _Optional[int] = ..., kinds: _Optional[_Iterable[str]] = ..., without_kinds: _Optional[_Iterable[str]] = ...) -> None: ...

class EventLine(_message.Message):
    __slots__ = ("seq", "json")
    SEQ_FIELD_NUMBER: _ClassVar[int]
    JSON_FIELD_NUMBER: _ClassVar[int]
    seq: int
    json: bytes
    def __init__(self, seq: _Optional[int] = ..., json: _Optional[bytes] = ...) -> None: ...

class GetMetricsRequest(_message.Message):
    __slots__ = ("run_id", "tags", "min_step", "max_step", "points", "after_rows", "generation", "max_rows")
    class AfterRowsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    MIN_STEP_FIELD_NUMBER: _ClassVar[int]
    MAX_STEP_FIELD_NUMBER: _ClassVar[int]
    POINTS_FIELD_NUMBER: _ClassVar[int]
    AFTER_ROWS_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    MAX_ROWS_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    tags: _containers.RepeatedScalarFieldContainer[str]
    min_step: int
    max_step: int
    points: int
    after_rows: _containers.ScalarMap[str, int]
    generation: int
    max_rows: int
    def __init__(self, run_id: _Optional[str] = ..., tags: _Optional[_Iterable[str]] = ..., min_step: _Optional[int] = ..., max_step: _Optional[int] = ..., points: _Optional[int] = ..., after_rows: _Optional[_Mapping[str, int]] = ..., generation: _Optional[int] = ..., max_rows: _Optional[int] = ...) -> None: ...

class GetMetricsReply(_message.Message):
    __slots__ = ("series", "generation", "more")
    SERIES_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    MORE_FIELD_NUMBER: _ClassVar[int]
    series: _containers.RepeatedCompositeFieldContainer[Series]
    generation: int
    more: bool
    def __init__(self, series: _Optional[_Iterable[_Union[Series, _Mapping]]] = ..., generation: _Optional[int] = ..., more: _Optional[bool] = ...) -> None: ...

class Series(_message.Message):
    __slots__ = ("tag", "steps", "values", "times", "total", "first_row", "rows")
    TAG_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    TIMES_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    FIRST_ROW_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    tag: str
    steps: _containers.RepeatedScalarFieldContainer[int]
    values: _containers.RepeatedScalarFieldContainer[float]
    times: _containers.RepeatedScalarFieldContainer[float]
    total: int
    first_row: int
    rows: bytes
    def __init__(self, tag: _Optional[str] = ..., steps: _Optional[_Iterable[int]] = ..., values: _Optional[_Iterable[float]] = ..., times: _Optional[_Iterable[float]] = ..., total: _Optional[int] = ..., first_row: _Optional[int] = ..., rows: _Optional[bytes] = ...) -> None: ...

class GetRunValuesRequest(_message.Message):
    __slots__ = ("run_ids", "settings", "metrics", "metric_tags")
    RUN_IDS_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    METRICS_FIELD_NUMBER: _ClassVar[int]
    METRIC_TAGS_FIELD_NUMBER: _ClassVar[int]
    run_ids: _containers.RepeatedScalarFieldContainer[str]
    settings: bool
    metrics: _containers.RepeatedScalarFieldContainer[str]
    metric_tags: bool
    def __init__(self, run_ids: _Optional[_Iterable[str]] = ..., settings: _Optional[bool] = ..., metrics: _Optional[_Iterable[str]] = ..., metric_tags: _Optional[bool] = ...) -> None: ...

class GetRunValuesReply(_message.Message):
    __slots__ = ("runs", "looked_at")
    RUNS_FIELD_NUMBER: _ClassVar[int]
    LOOKED_AT_FIELD_NUMBER: _ClassVar[int]
    runs: _containers.RepeatedCompositeFieldContainer[RunValues]
    looked_at: int
    def __init__(self, runs: _Optional[_Iterable[_Union[RunValues, _Mapping]]] = ..., looked_at: _Optional[int] = ...) -> None: ...

class RunValues(_message.Message):
    __slots__ = ("run_id", "settings_json", "problem", "metrics", "metric_tags")
    class MetricsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: MetricSummary
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[MetricSummary, _Mapping]] = ...) -> None: ...
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_JSON_FIELD_NUMBER: _ClassVar[int]
    PROBLEM_FIELD_NUMBER: _ClassVar[int]
    METRICS_FIELD_NUMBER: _ClassVar[int]
    METRIC_TAGS_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    settings_json: bytes
    problem: str
    metrics: _containers.MessageMap[str, MetricSummary]
    metric_tags: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, run_id: _Optional[str] = ..., settings_json: _Optional[bytes] = ..., problem: _Optional[str] = ..., metrics: _Optional[_Mapping[str, MetricSummary]] = ..., metric_tags: _Optional[_Iterable[str]] = ...) -> None: ...

class MetricSummary(_message.Message):
    __slots__ = ("last", "highest", "lowest", "auc", "points")
    LAST_FIELD_NUMBER: _ClassVar[int]
    HIGHEST_FIELD_NUMBER: _ClassVar[int]
    LOWEST_FIELD_NUMBER: _ClassVar[int]
    AUC_FIELD_NUMBER: _ClassVar[int]
    POINTS_FIELD_NUMBER: _ClassVar[int]
    last: float
    highest: float
    lowest: float
    auc: float
    points: int
    def __init__(self, last: _Optional[float] = ..., highest: _Optional[float] = ..., lowest: _Optional[float] = ..., auc: _Optional[float] = ..., points: _Optional[int] = ...) -> None: ...

class ListTagsReply(_message.Message):
    __slots__ = ("tags",)
    TAGS_FIELD_NUMBER: _ClassVar[int]
    tags: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, tags: _Optional[_Iterable[str]] = ...) -> None: ...

class StreamLogsRequest(_message.Message):
    __slots__ = ("run_id", "stream", "offset", "follow")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    STREAM_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    FOLLOW_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    stream: str
    offset: int
    follow: bool
    def __init__(self, run_id: _Optional[str] = ..., stream: _Optional[str] = ..., offset: _Optional[int] = ..., follow: _Optional[bool] = ...) -> None: ...

class LogChunk(_message.Message):
    __slots__ = ("data", "next_offset")
    DATA_FIELD_NUMBER: _ClassVar[int]
    NEXT_OFFSET_FIELD_NUMBER: _ClassVar[int]
    data: bytes
    next_offset: int
    def __init__(self, data: _Optional[bytes] = ..., next_offset: _Optional[int] = ...) -> None: ...

class StreamFramesRequest(_message.Message):
    __slots__ = ("run_id", "mode", "slot", "fps", "quality", "tile_width", "format", "budget")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    SLOT_FIELD_NUMBER: _ClassVar[int]
    FPS_FIELD_NUMBER: _ClassVar[int]
    QUALITY_FIELD_NUMBER: _ClassVar[int]
    TILE_WIDTH_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    BUDGET_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    mode: str
    slot: int
    fps: float
    quality: int
    tile_width: int
    format: str
    budget: float
    def __init__(self, run_id: _Optional[str] = ..., mode: _Optional[str] = ..., slot: _Optional[int] = ..., fps: _Optional[float] = ..., quality: _Optional[int] = ..., tile_width: _Optional[int] = ..., format: _Optional[str] = ..., budget: _Optional[float] = ...) -> None: ...

class LiveFrame(_message.Message):
    __slots__ = ("number", "image", "age_s", "global_step", "steps_per_s", "columns", "rows", "tiles", "grid", "evaluation", "line", "note")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    IMAGE_FIELD_NUMBER: _ClassVar[int]
    AGE_S_FIELD_NUMBER: _ClassVar[int]
    GLOBAL_STEP_FIELD_NUMBER: _ClassVar[int]
    STEPS_PER_S_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    TILES_FIELD_NUMBER: _ClassVar[int]
    GRID_FIELD_NUMBER: _ClassVar[int]
    EVALUATION_FIELD_NUMBER: _ClassVar[int]
    LINE_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    number: int
    image: bytes
    age_s: float
    global_step: int
    steps_per_s: float
    columns: int
    rows: int
    tiles: _containers.RepeatedCompositeFieldContainer[LiveTile]
    grid: bool
    evaluation: bool
    line: str
    note: str
    def __init__(self, number: _Optional[int] = ..., image: _Optional[bytes] = ..., age_s: _Optional[float] = ..., global_step: _Optional[int] = ..., steps_per_s: _Optional[float] = ..., columns: _Optional[int] = ..., rows: _Optional[int] = ..., tiles: _Optional[_Iterable[_Union[LiveTile, _Mapping]]] = ..., grid: _Optional[bool] = ..., evaluation: _Optional[bool] = ..., line: _Optional[str] = ..., note: _Optional[str] = ...) -> None: ...

class LiveTile(_message.Message):
    __slots__ = ("env", "episode_length", "episode_return")
    ENV_FIELD_NUMBER: _ClassVar[int]
    EPISODE_LENGTH_FIELD_NUMBER: _ClassVar[int]
    EPISODE_RETURN_FIELD_NUMBER: _ClassVar[int]
    env: int
    episode_length: int
    episode_return: float
    def __init__(self, env: _Optional[int] = ..., episode_length: _Optional[int] = ..., episode_return: _Optional[float] = ...) -> None: ...

class ListArtifactsReply(_message.Message):
    __slots__ = ("artifacts", "damage")
    ARTIFACTS_FIELD_NUMBER: _ClassVar[int]
    DAMAGE_FIELD_NUMBER: _ClassVar[int]
    artifacts: _containers.RepeatedCompositeFieldContainer[Artifact]
    damage: str
    def __init__(self, artifacts: _Optional[_Iterable[_Union[Artifact, _Mapping]]] = ..., damage: _Optional[str] = ...) -> None: ...

class Artifact(_message.Message):
    __slots__ = ("kind", "path", "global_step", "label", "bytes")
    KIND_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    GLOBAL_STEP_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    kind: str
    path: str
    global_step: int
    label: str
    bytes: int
    def __init__(self, kind: _Optional[str] = ..., path: _Optional[str] = ..., global_step: _Optional[int] = ..., label: _Optional[str] = ..., bytes: _Optional[int] = ...) -> None: ...

class ListFilesReply(_message.Message):
    __slots__ = ("files",)
    FILES_FIELD_NUMBER: _ClassVar[int]
    files: _containers.RepeatedCompositeFieldContainer[RunFile]
    def __init__(self, files: _Optional[_Iterable[_Union[RunFile, _Mapping]]] = ...) -> None: ...

class RunFile(_message.Message):
    __slots__ = ("path", "bytes")
    PATH_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    path: str
    bytes: int
    def __init__(self, path: _Optional[str] = ..., bytes: _Optional[int] = ...) -> None: ...

class ReadArtifactRequest(_message.Message):
    __slots__ = ("run_id", "path")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    path: str
    def __init__(self, run_id: _Optional[str] = ..., path: _Optional[str] = ...) -> None: ...

class FileChunk(_message.Message):
    __slots__ = ("data",)
    DATA_FIELD_NUMBER: _ClassVar[int]
    data: bytes
    def __init__(self, data: _Optional[bytes] = ...) -> None: ...

class ListAlgorithmsReply(_message.Message):
    __slots__ = ("algorithms", "broken")
    ALGORITHMS_FIELD_NUMBER: _ClassVar[int]
    BROKEN_FIELD_NUMBER: _ClassVar[int]
    algorithms: _containers.RepeatedCompositeFieldContainer[Algorithm]
    broken: _containers.RepeatedCompositeFieldContainer[BrokenAlgorithm]
    def __init__(self, algorithms: _Optional[_Iterable[_Union[Algorithm, _Mapping]]] = ..., broken: _Optional[_Iterable[_Union[BrokenAlgorithm, _Mapping]]] = ...) -> None: ...

class BrokenAlgorithm(_message.Message):
    __slots__ = ("name", "place", "problem")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PLACE_FIELD_NUMBER: _ClassVar[int]
    PROBLEM_FIELD_NUMBER: _ClassVar[int]
    name: str
    place: str
    problem: str
    def __init__(self, name: _Optional[str] = ..., place: _Optional[str] = ..., problem: _Optional[str] = ...) -> None: ...

class Algorithm(_message.Message):
    __slots__ = ("name", "summary", "actions", "schema_json", "docs", "observations", "place")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    ACTIONS_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_JSON_FIELD_NUMBER: _ClassVar[int]
    DOCS_FIELD_NUMBER: _ClassVar[int]
    OBSERVATIONS_FIELD_NUMBER: _ClassVar[int]
    PLACE_FIELD_NUMBER: _ClassVar[int]
    name: str
    summary: str
    actions: str
    schema_json: bytes
    docs: str
    observations: str
    place: str
    def __init__(self, name: _Optional[str] = ..., summary: _Optional[str] = ..., actions: _Optional[str] = ..., schema_json: _Optional[bytes] = ..., docs: _Optional[str] = ..., observations: _Optional[str] = ..., place: _Optional[str] = ...) -> None: ...

class ListEnvironmentsRequest(_message.Message):
    __slots__ = ("with_settings",)
    WITH_SETTINGS_FIELD_NUMBER: _ClassVar[int]
    with_settings: bool
    def __init__(self, with_settings: _Optional[bool] = ...) -> None: ...

class ListEnvironmentsReply(_message.Message):
    __slots__ = ("families", "broken", "wrappers_json")
    FAMILIES_FIELD_NUMBER: _ClassVar[int]
    BROKEN_FIELD_NUMBER: _ClassVar[int]
    WRAPPERS_JSON_FIELD_NUMBER: _ClassVar[int]
    families: _containers.RepeatedCompositeFieldContainer[EnvironmentFamily]
    broken: _containers.RepeatedCompositeFieldContainer[BrokenEnvironment]
    wrappers_json: bytes
    def __init__(self, families: _Optional[_Iterable[_Union[EnvironmentFamily, _Mapping]]] = ..., broken: _Optional[_Iterable[_Union[BrokenEnvironment, _Mapping]]] = ..., wrappers_json: _Optional[bytes] = ...) -> None: ...

class BrokenEnvironment(_message.Message):
    __slots__ = ("name", "place", "problem")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PLACE_FIELD_NUMBER: _ClassVar[int]
    PROBLEM_FIELD_NUMBER: _ClassVar[int]
    name: str
    place: str
    problem: str
    def __init__(self, name: _Optional[str] = ..., place: _Optional[str] = ..., problem: _Optional[str] = ...) -> None: ...

class EnvironmentFamily(_message.Message):
    __slots__ = ("name", "extra", "installed", "advice", "environments", "unlisted", "settings_json")
    NAME_FIELD_NUMBER: _ClassVar[int]
    EXTRA_FIELD_NUMBER: _ClassVar[int]
    INSTALLED_FIELD_NUMBER: _ClassVar[int]
    ADVICE_FIELD_NUMBER: _ClassVar[int]
    ENVIRONMENTS_FIELD_NUMBER: _ClassVar[int]
    UNLISTED_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_JSON_FIELD_NUMBER: _ClassVar[int]
    name: str
    extra: str
    installed: bool
    advice: str
    environments: _containers.RepeatedCompositeFieldContainer[EnvironmentInfo]
    unlisted: _containers.RepeatedScalarFieldContainer[str]
    settings_json: bytes
    def __init__(self, name: _Optional[str] = ..., extra: _Optional[str] = ..., installed: _Optional[bool] = ..., advice: _Optional[str] = ..., environments: _Optional[_Iterable[_Union[EnvironmentInfo, _Mapping]]] = ..., unlisted: _Optional[_Iterable[str]] = ..., settings_json: _Optional[bytes] = ...) -> None: ...

class EnvironmentInfo(_message.Message):
    __slots__ = ("env_id", "actions", "observations", "seats", "problem", "action_space", "observation_space", "place")
    ENV_ID_FIELD_NUMBER: _ClassVar[int]
    ACTIONS_FIELD_NUMBER: _ClassVar[int]
    OBSERVATIONS_FIELD_NUMBER: _ClassVar[int]
    SEATS_FIELD_NUMBER: _ClassVar[int]
    PROBLEM_FIELD_NUMBER: _ClassVar[int]
    ACTION_SPACE_FIELD_NUMBER: _ClassVar[int]
    OBSERVATION_SPACE_FIELD_NUMBER: _ClassVar[int]
    PLACE_FIELD_NUMBER: _ClassVar[int]
    env_id: str
    actions: str
    observations: str
    seats: _containers.RepeatedCompositeFieldContainer[SeatInfo]
    problem: str
    action_space: str
    observation_space: str
    place: str
    def __init__(self, env_id: _Optional[str] = ..., actions: _Optional[str] = ..., observations: _Optional[str] = ..., seats: _Optional[_Iterable[_Union[SeatInfo, _Mapping]]] = ..., problem: _Optional[str] = ..., action_space: _Optional[str] = ..., observation_space: _Optional[str] = ..., place: _Optional[str] = ...) -> None: ...

class DescribeEnvironmentRequest(_message.Message):
    __slots__ = ("env_id", "wrappers")
    ENV_ID_FIELD_NUMBER: _ClassVar[int]
    WRAPPERS_FIELD_NUMBER: _ClassVar[int]
    env_id: str
    wrappers: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, env_id: _Optional[str] = ..., wrappers: _Optional[_Iterable[str]] = ...) -> None: ...

class EnvironmentDescription(_message.Message):
    __slots__ = ("env_id", "status", "family", "actions", "observations", "action_space", "observation_space", "settings_schema_json", "near")
    ENV_ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    FAMILY_FIELD_NUMBER: _ClassVar[int]
    ACTIONS_FIELD_NUMBER: _ClassVar[int]
    OBSERVATIONS_FIELD_NUMBER: _ClassVar[int]
    ACTION_SPACE_FIELD_NUMBER: _ClassVar[int]
    OBSERVATION_SPACE_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_SCHEMA_JSON_FIELD_NUMBER: _ClassVar[int]
    NEAR_FIELD_NUMBER: _ClassVar[int]
    env_id: str
    status: str
    family: str
    actions: str
    observations: str
    action_space: str
    observation_space: str
    settings_schema_json: bytes
    near: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, env_id: _Optional[str] = ..., status: _Optional[str] = ..., family: _Optional[str] = ..., actions: _Optional[str] = ..., observations: _Optional[str] = ..., action_space: _Optional[str] = ..., observation_space: _Optional[str] = ..., settings_schema_json: _Optional[bytes] = ..., near: _Optional[_Iterable[str]] = ...) -> None: ...

class SeatInfo(_message.Message):
    __slots__ = ("name", "actions", "observations")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ACTIONS_FIELD_NUMBER: _ClassVar[int]
    OBSERVATIONS_FIELD_NUMBER: _ClassVar[int]
    name: str
    actions: str
    observations: str
    def __init__(self, name: _Optional[str] = ..., actions: _Optional[str] = ..., observations: _Optional[str] = ...) -> None: ...

class ListPoliciesReply(_message.Message):
    __slots__ = ("policies",)
    POLICIES_FIELD_NUMBER: _ClassVar[int]
    policies: _containers.RepeatedCompositeFieldContainer[PolicyInfo]
    def __init__(self, policies: _Optional[_Iterable[_Union[PolicyInfo, _Mapping]]] = ...) -> None: ...

class DescribePolicyRequest(_message.Message):
    __slots__ = ("path",)
    PATH_FIELD_NUMBER: _ClassVar[int]
    path: str
    def __init__(self, path: _Optional[str] = ...) -> None: ...

class PolicyInfo(_message.Message):
    __slots__ = ("path", "run_id", "label", "algo", "env_id", "seed", "global_step", "last_return", "saved_at", "kind", "source", "state", "env_settings_json")
    PATH_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    ALGO_FIELD_NUMBER: _ClassVar[int]
    ENV_ID_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    GLOBAL_STEP_FIELD_NUMBER: _ClassVar[int]
    LAST_RETURN_FIELD_NUMBER: _ClassVar[int]
    SAVED_AT_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    ENV_SETTINGS_JSON_FIELD_NUMBER: _ClassVar[int]
    path: str
    run_id: str
    label: str
    algo: str
    env_id: str
    seed: int
    global_step: int
    last_return: float
    saved_at: float
    kind: str
    source: str
    state: str
    env_settings_json: str
    def __init__(self, path: _Optional[str] = ..., run_id: _Optional[str] = ..., label: _Optional[str] = ..., algo: _Optional[str] = ..., env_id: _Optional[str] = ..., seed: _Optional[int] = ..., global_step: _Optional[int] = ..., last_return: _Optional[float] = ..., saved_at: _Optional[float] = ..., kind: _Optional[str] = ..., source: _Optional[str] = ..., state: _Optional[str] = ..., env_settings_json: _Optional[str] = ...) -> None: ...

class RegisterWorkerRequest(_message.Message):
    __slots__ = ("run_id", "identity_json")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    IDENTITY_JSON_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    identity_json: bytes
    def __init__(self, run_id: _Optional[str] = ..., identity_json: _Optional[bytes] = ...) -> None: ...

class RegisterWorkerReply(_message.Message):
    __slots__ = ("last_seq", "accepted")
    LAST_SEQ_FIELD_NUMBER: _ClassVar[int]
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    last_seq: int
    accepted: bool
    def __init__(self, last_seq: _Optional[int] = ..., accepted: _Optional[bool] = ...) -> None: ...

class PublishEventsRequest(_message.Message):
    __slots__ = ("run_id", "events")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    events: _containers.RepeatedCompositeFieldContainer[EventLine]
    def __init__(self, run_id: _Optional[str] = ..., events: _Optional[_Iterable[_Union[EventLine, _Mapping]]] = ...) -> None: ...

class PublishEventsReply(_message.Message):
    __slots__ = ("acknowledged_seq",)
    ACKNOWLEDGED_SEQ_FIELD_NUMBER: _ClassVar[int]
    acknowledged_seq: int
    def __init__(self, acknowledged_seq: _Optional[int] = ...) -> None: ...

class Health(_message.Message):
    __slots__ = ("version", "pid", "uptime_s", "home", "address", "runs", "cpu_slots", "cpu_slots_used", "gpus", "disk_free_bytes", "warm_workers", "warnings", "cpu_percent", "memory_used_bytes", "memory_total_bytes", "disk_total_bytes", "gpu_loads", "indexed", "index_total")
    class RunsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    VERSION_FIELD_NUMBER: _ClassVar[int]
    PID_FIELD_NUMBER: _ClassVar[int]
    UPTIME_S_FIELD_NUMBER: _ClassVar[int]
    HOME_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    RUNS_FIELD_NUMBER: _ClassVar[int]
    CPU_SLOTS_FIELD_NUMBER: _ClassVar[int]
    CPU_SLOTS_USED_FIELD_NUMBER: _ClassVar[int]
    GPUS_FIELD_NUMBER: _ClassVar[int]
    DISK_FREE_BYTES_FIELD_NUMBER: _ClassVar[int]
    WARM_WORKERS_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    CPU_PERCENT_FIELD_NUMBER: _ClassVar[int]
    MEMORY_USED_BYTES_FIELD_NUMBER: _ClassVar[int]
    MEMORY_TOTAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    DISK_TOTAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    GPU_LOADS_FIELD_NUMBER: _ClassVar[int]
    INDEXED_FIELD_NUMBER: _ClassVar[int]
    INDEX_TOTAL_FIELD_NUMBER: _ClassVar[int]
    version: str
    pid: int
    uptime_s: float
    home: str
    address: str
    runs: _containers.ScalarMap[str, int]
    cpu_slots: int
    cpu_slots_used: int
    gpus: _containers.RepeatedScalarFieldContainer[str]
    disk_free_bytes: int
    warm_workers: int
    warnings: _containers.RepeatedScalarFieldContainer[str]
    cpu_percent: float
    memory_used_bytes: int
    memory_total_bytes: int
    disk_total_bytes: int
    gpu_loads: _containers.RepeatedCompositeFieldContainer[GpuLoad]
    indexed: int
    index_total: int
    def __init__(self, version: _Optional[str] = ..., pid: _Optional[int] = ..., uptime_s: _Optional[float] = ..., home: _Optional[str] = ..., address: _Optional[str] = ..., runs: _Optional[_Mapping[str, int]] = ..., cpu_slots: _Optional[int] = ..., cpu_slots_used: _Optional[int] = ..., gpus: _Optional[_Iterable[str]] = ..., disk_free_bytes: _Optional[int] = ..., warm_workers: _Optional[int] = ..., warnings: _Optional[_Iterable[str]] = ..., cpu_percent: _Optional[float] = ..., memory_used_bytes: _Optional[int] = ..., memory_total_bytes: _Optional[int] = ..., disk_total_bytes: _Optional[int] = ..., gpu_loads: _Optional[_Iterable[_Union[GpuLoad, _Mapping]]] = ..., indexed: _Optional[int] = ..., index_total: _Optional[int] = ...) -> None: ...

class GpuLoad(_message.Message):
    __slots__ = ("name", "percent", "memory_used_bytes", "memory_total_bytes")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PERCENT_FIELD_NUMBER: _ClassVar[int]
    MEMORY_USED_BYTES_FIELD_NUMBER: _ClassVar[int]
    MEMORY_TOTAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    name: str
    percent: float
    memory_used_bytes: int
    memory_total_bytes: int
    def __init__(self, name: _Optional[str] = ..., percent: _Optional[float] = ..., memory_used_bytes: _Optional[int] = ..., memory_total_bytes: _Optional[int] = ...) -> None: ...

class ListActorsReply(_message.Message):
    __slots__ = ("actors",)
    ACTORS_FIELD_NUMBER: _ClassVar[int]
    actors: _containers.RepeatedCompositeFieldContainer[Actor]
    def __init__(self, actors: _Optional[_Iterable[_Union[Actor, _Mapping]]] = ...) -> None: ...

class Actor(_message.Message):
    __slots__ = ("id", "label", "description", "argument", "actions", "observations", "families", "extra", "installed", "key")
    ID_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    ARGUMENT_FIELD_NUMBER: _ClassVar[int]
    ACTIONS_FIELD_NUMBER: _ClassVar[int]
    OBSERVATIONS_FIELD_NUMBER: _ClassVar[int]
    FAMILIES_FIELD_NUMBER: _ClassVar[int]
    EXTRA_FIELD_NUMBER: _ClassVar[int]
    INSTALLED_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    id: str
    label: str
    description: str
    argument: str
    actions: _containers.RepeatedScalarFieldContainer[str]
    observations: _containers.RepeatedScalarFieldContainer[str]
    families: _containers.RepeatedScalarFieldContainer[str]
    extra: str
    installed: bool
    key: str
    def __init__(self, id: _Optional[str] = ..., label: _Optional[str] = ..., description: _Optional[str] = ..., argument: _Optional[str] = ..., actions: _Optional[_Iterable[str]] = ..., observations: _Optional[_Iterable[str]] = ..., families: _Optional[_Iterable[str]] = ..., extra: _Optional[str] = ..., installed: _Optional[bool] = ..., key: _Optional[str] = ...) -> None: ...

class ListEpisodesRequest(_message.Message):
    __slots__ = ("run_id", "env_id", "limit")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    ENV_ID_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    env_id: str
    limit: int
    def __init__(self, run_id: _Optional[str] = ..., env_id: _Optional[str] = ..., limit: _Optional[int] = ...) -> None: ...

class ListEpisodesReply(_message.Message):
    __slots__ = ("episodes",)
    EPISODES_FIELD_NUMBER: _ClassVar[int]
    episodes: _containers.RepeatedCompositeFieldContainer[RecordedEpisode]
    def __init__(self, episodes: _Optional[_Iterable[_Union[RecordedEpisode, _Mapping]]] = ...) -> None: ...

class RecordedEpisode(_message.Message):
    __slots__ = ("run_id", "episode", "env_id", "seed", "seats", "outcome", "length", "returns", "started_at", "path")
    class SeatsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class ReturnsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    EPISODE_FIELD_NUMBER: _ClassVar[int]
    ENV_ID_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    SEATS_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    RETURNS_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    episode: int
    env_id: str
    seed: int
    seats: _containers.ScalarMap[str, str]
    outcome: str
    length: int
    returns: _containers.ScalarMap[str, float]
    started_at: float
    path: str
    def __init__(self, run_id: _Optional[str] = ..., episode: _Optional[int] = ..., env_id: _Optional[str] = ..., seed: _Optional[int] = ..., seats: _Optional[_Mapping[str, str]] = ..., outcome: _Optional[str] = ..., length: _Optional[int] = ..., returns: _Optional[_Mapping[str, float]] = ..., started_at: _Optional[float] = ..., path: _Optional[str] = ...) -> None: ...

class PlayCommand(_message.Message):
    __slots__ = ("run_id", "json")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    JSON_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    json: bytes
    def __init__(self, run_id: _Optional[str] = ..., json: _Optional[bytes] = ...) -> None: ...

class PlayState(_message.Message):
    __slots__ = ("json",)
    JSON_FIELD_NUMBER: _ClassVar[int]
    json: bytes
    def __init__(self, json: _Optional[bytes] = ...) -> None: ...

class SubmitSweepRequest(_message.Message):
    __slots__ = ("plan_json", "client_key")
    PLAN_JSON_FIELD_NUMBER: _ClassVar[int]
    CLIENT_KEY_FIELD_NUMBER: _ClassVar[int]
    plan_json: bytes
    client_key: str
    def __init__(self, plan_json: _Optional[bytes] = ..., client_key: _Optional[str] = ...) -> None: ...

class Sweep(_message.Message):
    __slots__ = ("sweep_id", "plan_json", "phase", "reason", "trials", "ended", "pruned", "failed", "best_trial", "best_value", "confirmed_runs", "confirm_runs", "created_at", "has_controller", "damage", "asked")
    SWEEP_ID_FIELD_NUMBER: _ClassVar[int]
    PLAN_JSON_FIELD_NUMBER: _ClassVar[int]
    PHASE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    TRIALS_FIELD_NUMBER: _ClassVar[int]
    ENDED_FIELD_NUMBER: _ClassVar[int]
    PRUNED_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    BEST_TRIAL_FIELD_NUMBER: _ClassVar[int]
    BEST_VALUE_FIELD_NUMBER: _ClassVar[int]
    CONFIRMED_RUNS_FIELD_NUMBER: _ClassVar[int]
    CONFIRM_RUNS_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    HAS_CONTROLLER_FIELD_NUMBER: _ClassVar[int]
    DAMAGE_FIELD_NUMBER: _ClassVar[int]
    ASKED_FIELD_NUMBER: _ClassVar[int]
    sweep_id: str
    plan_json: bytes
    phase: str
    reason: str
    trials: int
    ended: int
    pruned: int
    failed: int
    best_trial: int
    best_value: float
    confirmed_runs: int
    confirm_runs: int
    created_at: float
    has_controller: bool
    damage: str
    asked: str
    def __init__(self, sweep_id: _Optional[str] = ..., plan_json: _Optional[bytes] = ..., phase: _Optional[str] = ..., reason: _Optional[str] = ..., trials: _Optional[int] = ..., ended: _Optional[int] = ..., pruned: _Optional[int] = ..., failed: _Optional[int] = ..., best_trial: _Optional[int] = ..., best_value: _Optional[float] = ..., confirmed_runs: _Optional[int] = ..., confirm_runs: _Optional[int] = ..., created_at: _Optional[float] = ..., has_controller: _Optional[bool] = ..., damage: _Optional[str] = ..., asked: _Optional[str] = ...) -> None: ...

class ListSweepsReply(_message.Message):
    __slots__ = ("sweeps",)
    SWEEPS_FIELD_NUMBER: _ClassVar[int]
    sweeps: _containers.RepeatedCompositeFieldContainer[Sweep]
    def __init__(self, sweeps: _Optional[_Iterable[_Union[Sweep, _Mapping]]] = ...) -> None: ...

class GetSweepRequest(_message.Message):
    __slots__ = ("sweep_id", "after_bytes")
    SWEEP_ID_FIELD_NUMBER: _ClassVar[int]
    AFTER_BYTES_FIELD_NUMBER: _ClassVar[int]
    sweep_id: str
    after_bytes: int
    def __init__(self, sweep_id: _Optional[str] = ..., after_bytes: _Optional[int] = ...) -> None: ...

class SweepTrials(_message.Message):
    __slots__ = ("sweep", "lines", "next_bytes", "more")
    SWEEP_FIELD_NUMBER: _ClassVar[int]
    LINES_FIELD_NUMBER: _ClassVar[int]
    NEXT_BYTES_FIELD_NUMBER: _ClassVar[int]
    MORE_FIELD_NUMBER: _ClassVar[int]
    sweep: Sweep
    lines: bytes
    next_bytes: int
    more: bool
    def __init__(self, sweep: _Optional[_Union[Sweep, _Mapping]] = ..., lines: _Optional[bytes] = ..., next_bytes: _Optional[int] = ..., more: _Optional[bool] = ...) -> None: ...

class ControlSweepRequest(_message.Message):
    __slots__ = ("sweep_id", "verb", "trials")
    SWEEP_ID_FIELD_NUMBER: _ClassVar[int]
    VERB_FIELD_NUMBER: _ClassVar[int]
    TRIALS_FIELD_NUMBER: _ClassVar[int]
    sweep_id: str
    verb: str
    trials: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, sweep_id: _Optional[str] = ..., verb: _Optional[str] = ..., trials: _Optional[_Iterable[int]] = ...) -> None: ...
