"""How a command reads its words and prints: the parser, colours, tables, numbers."""
