"""What clients talk to: sockets, the gRPC service, streams, live frames, play sessions."""
