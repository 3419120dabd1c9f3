from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Empty(_message.Message):
    def __init__(self) -> None: ...

class RunId(_message.Message):
    run_id: str
    def __init__(self, run_id: _Optional[str] = ...) -> None: ...

class SubmitRunRequest(_message.Message):
    config_json: bytes
    client_key: str
    seeds: _containers.RepeatedScalarFieldContainer[int]
    priority: int
    def __init__(self, config_json: _Optional[bytes] = ..., client_key: _Optional[str] = ..., seeds: _Optional[_Iterable[int]] = ..., priority: _Optional[int] = ...) -> None: ...

class SubmitRunReply(_message.Message):
    runs: _containers.RepeatedCompositeFieldContainer[Run]
    known: bool
    def __init__(self, runs: _Optional[_Iterable[_Union[Run, _Mapping]]] = ..., known: _Optional[bool] = ...) -> None: ...

class ValidateRunRequest(_message.Message):
    config_json: bytes
    def __init__(self, config_json: _Optional[bytes] = ...) -> None: ...

class ValidateRunReply(_message.Message):
    ok: bool
    output: str
    summary_json: bytes
    problems: _containers.RepeatedCompositeFieldContainer[ConfigProblem]
    exit_code: int
    def __init__(self, ok: _Optional[bool] = ..., output: _Optional[str] = ..., summary_json: _Optional[bytes] = ..., problems: _Optional[_Iterable[_Union[ConfigProblem, _Mapping]]] = ..., exit_code: _Optional[int] = ...) -> None: ...

class DryRunUpdate(_message.Message):
    output: str
    reply: ValidateRunReply
    def __init__(self, output: _Optional[str] = ..., reply: _Optional[_Union[ValidateRunReply, _Mapping]] = ...) -> None: ...

class ConfigProblem(_message.Message):
    path: str
    message: str
    def __init__(self, path: _Optional[str] = ..., message: _Optional[str] = ...) -> None: ...

class Run(_message.Message):
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
    engine: str
    warnings: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, run_id: _Optional[str] = ..., state: _Optional[str] = ..., reason: _Optional[str] = ..., kind: _Optional[str] = ..., label: _Optional[str] = ..., notes: _Optional[str] = ..., algo: _Optional[str] = ..., env_id: _Optional[str] = ..., seed: _Optional[int] = ..., group: _Optional[str] = ..., priority: _Optional[int] = ..., global_step: _Optional[int] = ..., total_timesteps: _Optional[int] = ..., steps_per_s: _Optional[float] = ..., eta_s: _Optional[float] = ..., last_return: _Optional[float] = ..., best_return: _Optional[float] = ..., exit_code: _Optional[int] = ..., stderr_tail: _Optional[_Iterable[str]] = ..., config_digest: _Optional[str] = ..., submitted_at: _Optional[float] = ..., started_at: _Optional[float] = ..., ended_at: _Optional[float] = ..., attempt: _Optional[int] = ..., pid: _Optional[int] = ..., last_seq: _Optional[int] = ..., revision: _Optional[int] = ..., run_dir: _Optional[str] = ..., deleted: _Optional[bool] = ..., sparkline: _Optional[_Iterable[float]] = ..., parent: _Optional[str] = ..., parent_step: _Optional[int] = ..., damage: _Optional[str] = ..., damaged_lines: _Optional[int] = ..., first_damaged_line: _Optional[int] = ..., newer_events: _Optional[int] = ..., tags: _Optional[_Iterable[str]] = ..., engine: _Optional[str] = ..., warnings: _Optional[_Iterable[str]] = ...) -> None: ...

class ResumeRunRequest(_message.Message):
    run_id: str
    from_step: int
    discard_newer: bool
    client_key: str
    def __init__(self, run_id: _Optional[str] = ..., from_step: _Optional[int] = ..., discard_newer: _Optional[bool] = ..., client_key: _Optional[str] = ...) -> None: ...

class ListRunsRequest(_message.Message):
    states: _containers.RepeatedScalarFieldContainer[str]
    text: str
    page_size: int
    page_token: str
    kinds: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, states: _Optional[_Iterable[str]] = ..., text: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., kinds: _Optional[_Iterable[str]] = ...) -> None: ...

class ListRunsReply(_message.Message):
    runs: _containers.RepeatedCompositeFieldContainer[Run]
    next_page_token: str
    total: int
    indexed: int
    index_total: int
    def __init__(self, runs: _Optional[_Iterable[_Union[Run, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., total: _Optional[int] = ..., indexed: _Optional[int] = ..., index_total: _Optional[int] = ...) -> None: ...

class SetLabelRequest(_message.Message):
    run_id: str
    label: str
    notes: str
    priority: int
    add_tags: _containers.RepeatedScalarFieldContainer[str]
    remove_tags: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, run_id: _Optional[str] = ..., label: _Optional[str] = ..., notes: _Optional[str] = ..., priority: _Optional[int] = ..., add_tags: _Optional[_Iterable[str]] = ..., remove_tags: _Optional[_Iterable[str]] = ...) -> None: ...

class WatchRunsRequest(_message.Message):
    after_revision: int
    def __init__(self, after_revision: _Optional[int] = ...) -> None: ...

class WatchAlertsRequest(_message.Message):
    after_revision: int
    def __init__(self, after_revision: _Optional[int] = ...) -> None: ...

class Alert(_message.Message):
    alert_id: str
    number: int
    run_id: str
    attempt: int
    cause: str
    title: str
    text: str
    time: float
    global_step: int
    deliveries: _containers.RepeatedCompositeFieldContainer[AlertDelivery]
    revision: int
    def __init__(self, alert_id: _Optional[str] = ..., number: _Optional[int] = ..., run_id: _Optional[str] = ..., attempt: _Optional[int] = ..., cause: _Optional[str] = ..., title: _Optional[str] = ..., text: _Optional[str] = ..., time: _Optional[float] = ..., global_step: _Optional[int] = ..., deliveries: _Optional[_Iterable[_Union[AlertDelivery, _Mapping]]] = ..., revision: _Optional[int] = ...) -> None: ...

class AlertDelivery(_message.Message):
    to: str
    outcome: str
    tries: int
    reason: str
    def __init__(self, to: _Optional[str] = ..., outcome: _Optional[str] = ..., tries: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...

class WatchEventsRequest(_message.Message):
    run_id: str
    after_seq: int
    kinds: _containers.RepeatedScalarFieldContainer[str]
    without_kinds: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, run_id: _Optional[str] = ..., after_seq: _Optional[int] = ..., kinds: _Optional[_Iterable[str]] = ..., without_kinds: _Optional[_Iterable[str]] = ...) -> None: ...

class EventLine(_message.Message):
    seq: int
    json: bytes
    def __init__(self, seq: _Optional[int] = ..., json: _Optional[bytes] = ...) -> None: ...

class GetMetricsRequest(_message.Message):
    class AfterRowsEntry(_message.Message):
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
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
    series: _containers.RepeatedCompositeFieldContainer[Series]
    generation: int
    more: bool
    def __init__(self, series: _Optional[_Iterable[_Union[Series, _Mapping]]] = ..., generation: _Optional[int] = ..., more: _Optional[bool] = ...) -> None: ...

class Series(_message.Message):
    tag: str
    steps: _containers.RepeatedScalarFieldContainer[int]
    values: _containers.RepeatedScalarFieldContainer[float]
    times: _containers.RepeatedScalarFieldContainer[float]
    total: int
    first_row: int
    rows: bytes
    def __init__(self, tag: _Optional[str] = ..., steps: _Optional[_Iterable[int]] = ..., values: _Optional[_Iterable[float]] = ..., times: _Optional[_Iterable[float]] = ..., total: _Optional[int] = ..., first_row: _Optional[int] = ..., rows: _Optional[bytes] = ...) -> None: ...

class GetRunValuesRequest(_message.Message):
    run_ids: _containers.RepeatedScalarFieldContainer[str]
    settings: bool
    metrics: _containers.RepeatedScalarFieldContainer[str]
    metric_tags: bool
    def __init__(self, run_ids: _Optional[_Iterable[str]] = ..., settings: _Optional[bool] = ..., metrics: _Optional[_Iterable[str]] = ..., metric_tags: _Optional[bool] = ...) -> None: ...

class GetRunValuesReply(_message.Message):
    runs: _containers.RepeatedCompositeFieldContainer[RunValues]
    looked_at: int
    def __init__(self, runs: _Optional[_Iterable[_Union[RunValues, _Mapping]]] = ..., looked_at: _Optional[int] = ...) -> None: ...

class RunValues(_message.Message):
    class MetricsEntry(_message.Message):
        key: str
        value: MetricSummary
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[MetricSummary, _Mapping]] = ...) -> None: ...
    run_id: str
    settings_json: bytes
    problem: str
    metrics: _containers.MessageMap[str, MetricSummary]
    metric_tags: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, run_id: _Optional[str] = ..., settings_json: _Optional[bytes] = ..., problem: _Optional[str] = ..., metrics: _Optional[_Mapping[str, MetricSummary]] = ..., metric_tags: _Optional[_Iterable[str]] = ...) -> None: ...

class MetricSummary(_message.Message):
    last: float
    highest: float
    lowest: float
    auc: float
    points: int
    def __init__(self, last: _Optional[float] = ..., highest: _Optional[float] = ..., lowest: _Optional[float] = ..., auc: _Optional[float] = ..., points: _Optional[int] = ...) -> None: ...

class ListTagsReply(_message.Message):
    tags: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, tags: _Optional[_Iterable[str]] = ...) -> None: ...

class StreamLogsRequest(_message.Message):
    run_id: str
    stream: str
    offset: int
    follow: bool
    def __init__(self, run_id: _Optional[str] = ..., stream: _Optional[str] = ..., offset: _Optional[int] = ..., follow: _Optional[bool] = ...) -> None: ...

class LogChunk(_message.Message):
    data: bytes
    next_offset: int
    def __init__(self, data: _Optional[bytes] = ..., next_offset: _Optional[int] = ...) -> None: ...

class LogPlace(_message.Message):
    stdout: int
    stderr: int
    events: int
    def __init__(self, stdout: _Optional[int] = ..., stderr: _Optional[int] = ..., events: _Optional[int] = ...) -> None: ...

class LogFilter(_message.Message):
    sources: _containers.RepeatedScalarFieldContainer[str]
    level: str
    text: str
    def __init__(self, sources: _Optional[_Iterable[str]] = ..., level: _Optional[str] = ..., text: _Optional[str] = ...) -> None: ...

class LogLine(_message.Message):
    source: str
    level: str
    time: float
    text: str
    place: LogPlace
    after: LogPlace
    def __init__(self, source: _Optional[str] = ..., level: _Optional[str] = ..., time: _Optional[float] = ..., text: _Optional[str] = ..., place: _Optional[_Union[LogPlace, _Mapping]] = ..., after: _Optional[_Union[LogPlace, _Mapping]] = ...) -> None: ...

class ReadLogRequest(_message.Message):
    run_id: str
    place: LogPlace
    line: LogLine
    part: float
    before: int
    after: int
    filter: LogFilter
    def __init__(self, run_id: _Optional[str] = ..., place: _Optional[_Union[LogPlace, _Mapping]] = ..., line: _Optional[_Union[LogLine, _Mapping]] = ..., part: _Optional[float] = ..., before: _Optional[int] = ..., after: _Optional[int] = ..., filter: _Optional[_Union[LogFilter, _Mapping]] = ...) -> None: ...

class LogPage(_message.Message):
    lines: _containers.RepeatedCompositeFieldContainer[LogLine]
    lines_before: int
    first: LogPlace
    last: LogPlace
    is_start: bool
    is_end: bool
    total_bytes: int
    def __init__(self, lines: _Optional[_Iterable[_Union[LogLine, _Mapping]]] = ..., lines_before: _Optional[int] = ..., first: _Optional[_Union[LogPlace, _Mapping]] = ..., last: _Optional[_Union[LogPlace, _Mapping]] = ..., is_start: _Optional[bool] = ..., is_end: _Optional[bool] = ..., total_bytes: _Optional[int] = ...) -> None: ...

class FindInLogRequest(_message.Message):
    run_id: str
    place: LogPlace
    backwards: bool
    filter: LogFilter
    def __init__(self, run_id: _Optional[str] = ..., place: _Optional[_Union[LogPlace, _Mapping]] = ..., backwards: _Optional[bool] = ..., filter: _Optional[_Union[LogFilter, _Mapping]] = ...) -> None: ...

class FindInLogReply(_message.Message):
    line: LogLine
    reached: LogPlace
    over: bool
    total_bytes: int
    def __init__(self, line: _Optional[_Union[LogLine, _Mapping]] = ..., reached: _Optional[_Union[LogPlace, _Mapping]] = ..., over: _Optional[bool] = ..., total_bytes: _Optional[int] = ...) -> None: ...

class CountLogRequest(_message.Message):
    run_id: str
    filter: LogFilter
    follow: bool
    def __init__(self, run_id: _Optional[str] = ..., filter: _Optional[_Union[LogFilter, _Mapping]] = ..., follow: _Optional[bool] = ...) -> None: ...

class LogCount(_message.Message):
    lines: int
    fitting: int
    bytes: int
    total_bytes: int
    whole: bool
    def __init__(self, lines: _Optional[int] = ..., fitting: _Optional[int] = ..., bytes: _Optional[int] = ..., total_bytes: _Optional[int] = ..., whole: _Optional[bool] = ...) -> None: ...

class StreamFramesRequest(_message.Message):
    run_id: str
    mode: str
    slot: int
    fps: float
    quality: int
    tile_width: int
    format: str
    budget: float
    explain: bool
    def __init__(self, run_id: _Optional[str] = ..., mode: _Optional[str] = ..., slot: _Optional[int] = ..., fps: _Optional[float] = ..., quality: _Optional[int] = ..., tile_width: _Optional[int] = ..., format: _Optional[str] = ..., budget: _Optional[float] = ..., explain: _Optional[bool] = ...) -> None: ...

class LiveFrame(_message.Message):
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
    about: str
    def __init__(self, number: _Optional[int] = ..., image: _Optional[bytes] = ..., age_s: _Optional[float] = ..., global_step: _Optional[int] = ..., steps_per_s: _Optional[float] = ..., columns: _Optional[int] = ..., rows: _Optional[int] = ..., tiles: _Optional[_Iterable[_Union[LiveTile, _Mapping]]] = ..., grid: _Optional[bool] = ..., evaluation: _Optional[bool] = ..., line: _Optional[str] = ..., note: _Optional[str] = ..., about: _Optional[str] = ...) -> None: ...

class LiveTile(_message.Message):
    env: int
    episode_length: int
    episode_return: float
    def __init__(self, env: _Optional[int] = ..., episode_length: _Optional[int] = ..., episode_return: _Optional[float] = ...) -> None: ...

class ListArtifactsReply(_message.Message):
    artifacts: _containers.RepeatedCompositeFieldContainer[Artifact]
    damage: str
    def __init__(self, artifacts: _Optional[_Iterable[_Union[Artifact, _Mapping]]] = ..., damage: _Optional[str] = ...) -> None: ...

class Artifact(_message.Message):
    kind: str
    path: str
    global_step: int
    label: str
    bytes: int
    def __init__(self, kind: _Optional[str] = ..., path: _Optional[str] = ..., global_step: _Optional[int] = ..., label: _Optional[str] = ..., bytes: _Optional[int] = ...) -> None: ...

class ListFilesReply(_message.Message):
    files: _containers.RepeatedCompositeFieldContainer[RunFile]
    def __init__(self, files: _Optional[_Iterable[_Union[RunFile, _Mapping]]] = ...) -> None: ...

class RunFile(_message.Message):
    path: str
    bytes: int
    def __init__(self, path: _Optional[str] = ..., bytes: _Optional[int] = ...) -> None: ...

class ReadArtifactRequest(_message.Message):
    run_id: str
    path: str
    offset: int
    def __init__(self, run_id: _Optional[str] = ..., path: _Optional[str] = ..., offset: _Optional[int] = ...) -> None: ...

class FileChunk(_message.Message):
    data: bytes
    def __init__(self, data: _Optional[bytes] = ...) -> None: ...

class ListAlgorithmsReply(_message.Message):
    algorithms: _containers.RepeatedCompositeFieldContainer[Algorithm]
    broken: _containers.RepeatedCompositeFieldContainer[BrokenAlgorithm]
    def __init__(self, algorithms: _Optional[_Iterable[_Union[Algorithm, _Mapping]]] = ..., broken: _Optional[_Iterable[_Union[BrokenAlgorithm, _Mapping]]] = ...) -> None: ...

class BrokenAlgorithm(_message.Message):
    name: str
    place: str
    problem: str
    def __init__(self, name: _Optional[str] = ..., place: _Optional[str] = ..., problem: _Optional[str] = ...) -> None: ...

class Algorithm(_message.Message):
    name: str
    summary: str
    actions: str
    schema_json: bytes
    docs: str
    observations: str
    place: str
    def __init__(self, name: _Optional[str] = ..., summary: _Optional[str] = ..., actions: _Optional[str] = ..., schema_json: _Optional[bytes] = ..., docs: _Optional[str] = ..., observations: _Optional[str] = ..., place: _Optional[str] = ...) -> None: ...

class ListEnvironmentsRequest(_message.Message):
    with_settings: bool
    def __init__(self, with_settings: _Optional[bool] = ...) -> None: ...

class ListEnvironmentsReply(_message.Message):
    families: _containers.RepeatedCompositeFieldContainer[EnvironmentFamily]
    broken: _containers.RepeatedCompositeFieldContainer[BrokenEnvironment]
    wrappers_json: bytes
    def __init__(self, families: _Optional[_Iterable[_Union[EnvironmentFamily, _Mapping]]] = ..., broken: _Optional[_Iterable[_Union[BrokenEnvironment, _Mapping]]] = ..., wrappers_json: _Optional[bytes] = ...) -> None: ...

class BrokenEnvironment(_message.Message):
    name: str
    place: str
    problem: str
    def __init__(self, name: _Optional[str] = ..., place: _Optional[str] = ..., problem: _Optional[str] = ...) -> None: ...

class EnvironmentFamily(_message.Message):
    name: str
    extra: str
    installed: bool
    advice: str
    environments: _containers.RepeatedCompositeFieldContainer[EnvironmentInfo]
    unlisted: _containers.RepeatedScalarFieldContainer[str]
    settings_json: bytes
    def __init__(self, name: _Optional[str] = ..., extra: _Optional[str] = ..., installed: _Optional[bool] = ..., advice: _Optional[str] = ..., environments: _Optional[_Iterable[_Union[EnvironmentInfo, _Mapping]]] = ..., unlisted: _Optional[_Iterable[str]] = ..., settings_json: _Optional[bytes] = ...) -> None: ...

class EnvironmentInfo(_message.Message):
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
    env_id: str
    wrappers: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, env_id: _Optional[str] = ..., wrappers: _Optional[_Iterable[str]] = ...) -> None: ...

class EnvironmentDescription(_message.Message):
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
    name: str
    actions: str
    observations: str
    def __init__(self, name: _Optional[str] = ..., actions: _Optional[str] = ..., observations: _Optional[str] = ...) -> None: ...

class ListPoliciesReply(_message.Message):
    policies: _containers.RepeatedCompositeFieldContainer[PolicyInfo]
    def __init__(self, policies: _Optional[_Iterable[_Union[PolicyInfo, _Mapping]]] = ...) -> None: ...

class DescribePolicyRequest(_message.Message):
    path: str
    def __init__(self, path: _Optional[str] = ...) -> None: ...

class PolicyInfo(_message.Message):
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
    run_id: str
    identity_json: bytes
    def __init__(self, run_id: _Optional[str] = ..., identity_json: _Optional[bytes] = ...) -> None: ...

class RegisterWorkerReply(_message.Message):
    last_seq: int
    accepted: bool
    def __init__(self, last_seq: _Optional[int] = ..., accepted: _Optional[bool] = ...) -> None: ...

class PublishEventsRequest(_message.Message):
    run_id: str
    events: _containers.RepeatedCompositeFieldContainer[EventLine]
    def __init__(self, run_id: _Optional[str] = ..., events: _Optional[_Iterable[_Union[EventLine, _Mapping]]] = ...) -> None: ...

class PublishEventsReply(_message.Message):
    acknowledged_seq: int
    def __init__(self, acknowledged_seq: _Optional[int] = ...) -> None: ...

class ListEnginesRequest(_message.Message):
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class ListEnginesReply(_message.Message):
    engines: _containers.RepeatedCompositeFieldContainer[EngineInfo]
    def __init__(self, engines: _Optional[_Iterable[_Union[EngineInfo, _Mapping]]] = ...) -> None: ...

class EngineInfo(_message.Message):
    name: str
    is_default: bool
    found: _containers.RepeatedScalarFieldContainer[str]
    missing: _containers.RepeatedScalarFieldContainer[str]
    start: str
    def __init__(self, name: _Optional[str] = ..., is_default: _Optional[bool] = ..., found: _Optional[_Iterable[str]] = ..., missing: _Optional[_Iterable[str]] = ..., start: _Optional[str] = ...) -> None: ...

class Health(_message.Message):
    class RunsEntry(_message.Message):
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
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
    name: str
    percent: float
    memory_used_bytes: int
    memory_total_bytes: int
    def __init__(self, name: _Optional[str] = ..., percent: _Optional[float] = ..., memory_used_bytes: _Optional[int] = ..., memory_total_bytes: _Optional[int] = ...) -> None: ...

class ListActorsReply(_message.Message):
    actors: _containers.RepeatedCompositeFieldContainer[Actor]
    def __init__(self, actors: _Optional[_Iterable[_Union[Actor, _Mapping]]] = ...) -> None: ...

class Actor(_message.Message):
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
    run_id: str
    env_id: str
    limit: int
    def __init__(self, run_id: _Optional[str] = ..., env_id: _Optional[str] = ..., limit: _Optional[int] = ...) -> None: ...

class ListEpisodesReply(_message.Message):
    episodes: _containers.RepeatedCompositeFieldContainer[RecordedEpisode]
    def __init__(self, episodes: _Optional[_Iterable[_Union[RecordedEpisode, _Mapping]]] = ...) -> None: ...

class RecordedEpisode(_message.Message):
    class SeatsEntry(_message.Message):
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class ReturnsEntry(_message.Message):
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
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
    env_settings_json: str
    def __init__(self, run_id: _Optional[str] = ..., episode: _Optional[int] = ..., env_id: _Optional[str] = ..., seed: _Optional[int] = ..., seats: _Optional[_Mapping[str, str]] = ..., outcome: _Optional[str] = ..., length: _Optional[int] = ..., returns: _Optional[_Mapping[str, float]] = ..., started_at: _Optional[float] = ..., path: _Optional[str] = ..., env_settings_json: _Optional[str] = ...) -> None: ...

class PlayCommand(_message.Message):
    run_id: str
    json: bytes
    def __init__(self, run_id: _Optional[str] = ..., json: _Optional[bytes] = ...) -> None: ...

class PlayState(_message.Message):
    json: bytes
    def __init__(self, json: _Optional[bytes] = ...) -> None: ...

class SubmitSweepRequest(_message.Message):
    plan_json: bytes
    client_key: str
    def __init__(self, plan_json: _Optional[bytes] = ..., client_key: _Optional[str] = ...) -> None: ...

class Sweep(_message.Message):
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
    sweeps: _containers.RepeatedCompositeFieldContainer[Sweep]
    def __init__(self, sweeps: _Optional[_Iterable[_Union[Sweep, _Mapping]]] = ...) -> None: ...

class GetSweepRequest(_message.Message):
    sweep_id: str
    after_bytes: int
    def __init__(self, sweep_id: _Optional[str] = ..., after_bytes: _Optional[int] = ...) -> None: ...

class SweepTrials(_message.Message):
    sweep: Sweep
    lines: bytes
    next_bytes: int
    more: bool
    def __init__(self, sweep: _Optional[_Union[Sweep, _Mapping]] = ..., lines: _Optional[bytes] = ..., next_bytes: _Optional[int] = ..., more: _Optional[bool] = ...) -> None: ...

class ControlSweepRequest(_message.Message):
    sweep_id: str
    verb: str
    trials: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, sweep_id: _Optional[str] = ..., verb: _Optional[str] = ..., trials: _Optional[_Iterable[int]] = ...) -> None: ...
