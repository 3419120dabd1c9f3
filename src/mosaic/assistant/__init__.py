"""What a person's assistant may ask of MOSAIC: a server of the Model Context Protocol on stdin and stdout.

Each tool types a verb of the `mosaic` command, so that words, limits and errors are those of a terminal.
"""
