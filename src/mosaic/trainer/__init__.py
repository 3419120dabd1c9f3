"""The trainer daemon: accepts, queues, starts, follows and ends runs; loses none of them."""
