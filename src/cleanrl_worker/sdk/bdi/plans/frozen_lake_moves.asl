// FrozenLake, for an agent that learns (bdi_q): from each cell any move that does not lead straight into a hole.
//
// Beliefs: position(Row, Column), hole(Row, Column). Actions: left, down, right, up.

@left  +!step : position(Row, Column) & not hole(Row, Column - 1) <- act(left).
@down  +!step : position(Row, Column) & not hole(Row + 1, Column) <- act(down).
@right +!step : position(Row, Column) & not hole(Row, Column + 1) <- act(right).
@up    +!step : position(Row, Column) & not hole(Row - 1, Column) <- act(up).
