"""One definition, three faces: a frozen dataclass becomes flags (tyro), validated JSON and JSON Schema (pydantic).

The only modules that import tyro or pydantic; tyro, and pydantic's schemas, only when they are first needed: the daemon
answers before. A setting is a dataclass field: the string under it is the help text
and the schema's description, `Annotated[float, Gt(0)]` its bounds, `Literal` its choices. tyro ignores bounds, so
flags are validated a second time through the same adapter as JSON. An error in a command line is a
ConfigError; numbers are read as users write them (1e5, 300k, 2M; `mosaic.numbers`).
"""

from mosaic.config.checked_json import JsonObject as JsonObject
from mosaic.config.checked_json import JsonValue as JsonValue
from mosaic.config.checked_json import any_json as any_json
from mosaic.config.checked_json import blamed as blamed
from mosaic.config.checked_json import from_json as from_json
from mosaic.config.checked_json import from_json_text as from_json_text
from mosaic.config.checked_json import loads as loads
from mosaic.config.checked_json import prepare as prepare
from mosaic.config.checked_json import tagged_by as tagged_by
from mosaic.config.checked_json import to_json as to_json
from mosaic.config.checked_json import validated as validated
from mosaic.config.class_flags import as_flags_of as as_flags_of
from mosaic.config.class_flags import flag_name as flag_name
from mosaic.config.class_flags import flags_of as flags_of
from mosaic.config.class_flags import from_flags as from_flags
from mosaic.config.class_flags import from_joined_flags as from_joined_flags
from mosaic.config.class_flags import name_of_flag as name_of_flag
from mosaic.config.class_flags import to_flags as to_flags
from mosaic.config.class_schema import RULES as RULES
from mosaic.config.class_schema import class_from_schema as class_from_schema
from mosaic.config.class_schema import json_schema as json_schema
