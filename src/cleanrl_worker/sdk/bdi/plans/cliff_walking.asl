// CliffWalking: up, along the edge, down. Where the ground is slippery, two rows away from it.
//
// Beliefs: position(Row, Column), size(Rows, Columns), cliff(Row, Column), goal(Row, Column), slippery.
// Actions: up, right, down, left.

bottom(Row) :- size(Rows, _) & Row = Rows - 1.
above_goal(Column) :- goal(_, Column).

// A slip goes to either side of the way that was meant: at the start that is the cliff, so press against the frame.
+!step : slippery & position(Row, Column) & bottom(Row) & not above_goal(Column) <- act(left).
+!step : position(_, Column) & above_goal(Column) <- act(down).
+!step : slippery & position(Row, _) & bottom(Row + 1) <- act(up).
+!step : position(Row, _) & bottom(Row) <- act(up).
+!step <- act(right).
