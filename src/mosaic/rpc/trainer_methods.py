"""The methods of the service Trainer, as its descriptor tells them: called over a channel, answered by a server.

grpcio-tools would generate a class for each of these ways, with every method written out; nothing more is in them.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import grpc
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message_factory import GetMessageClass

from mosaic.rpc import trainer_pb2 as pb

_SERVICE = pb.DESCRIPTOR.services_by_name["Trainer"]
METHODS: Mapping[str, MethodDescriptor] = _SERVICE.methods_by_name


class TrainerStub:
    """Each method of the service as a call, under its name."""

    def __init__(self, channel: grpc.Channel) -> None:
        for name, method in METHODS.items():
            # Not registered with the channel: such a call on a closed one with interceptors ends the process (SIGSEGV).
            call = getattr(channel, _kind(method))(
                f"/{_SERVICE.full_name}/{name}",
                request_serializer=GetMessageClass(method.input_type).SerializeToString,
                response_deserializer=GetMessageClass(method.output_type).FromString,
            )
            setattr(self, name, call)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


def answer_with(service: object, server: grpc.Server) -> None:
    """Have a server answer by the methods of `service`; those that it lacks are answered with UNIMPLEMENTED."""
    handlers = {
        name: getattr(grpc, f"{_kind(method)}_rpc_method_handler")(
            getattr(service, name),
            request_deserializer=GetMessageClass(method.input_type).FromString,
            response_serializer=GetMessageClass(method.output_type).SerializeToString,
        )
        for name, method in METHODS.items()
        if hasattr(service, name)
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(_SERVICE.full_name, handlers),))
    cast(Any, server).add_registered_method_handlers(_SERVICE.full_name, handlers)


def _kind(method: MethodDescriptor) -> str:
    """As gRPC names it: unary_unary, unary_stream, stream_unary or stream_stream."""
    return f"{_amount(method.client_streaming)}_{_amount(method.server_streaming)}"


def _amount(is_stream: bool) -> str:
    return "stream" if is_stream else "unary"
