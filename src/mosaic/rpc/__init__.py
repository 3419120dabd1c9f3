"""The trainer daemon's gRPC interface: trainer.proto, its generated code, channels and the client."""
