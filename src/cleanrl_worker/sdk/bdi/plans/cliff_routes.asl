// CliffWalking by four routes, for an agent that learns which of them is best (bdi_q): along the edge (13 steps), one
// row further up (15), along the top (17), and straight on, which falls off the cliff at once.
//
// Beliefs: position(Row, Column), goal(Row, Column). Actions: up, right, down, left.

relevant(position).

!cross.

@edge   +!cross <- !walk(2); !cross.
@middle +!cross <- !walk(1); !cross.
@top    +!cross <- !walk(0); !cross.
@bold   +!cross <- act(right); !cross.

// Up to the row, along it, and down above the goal.
+!walk(Row) : position(_, Column) & goal(_, Column) <- act(down); !walk(Row).
+!walk(Row) : position(Row, _) <- act(right); !walk(Row).
+!walk(Row) <- act(up); !walk(Row).
