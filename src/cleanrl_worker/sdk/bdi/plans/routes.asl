// The shortest way on a grid: how far each cell is from a target, found by spreading out from it.
//
// An agent that includes this believes way(Row, Column, Action, Row2, Column2): the action leads from one cell to the other.
// !survey(Row, Column) makes the target known; toward(Action) is then a first step from where the agent is.

toward(Action) :- position(Row, Column) & distance(Row, Column, Far) &
    way(Row, Column, Action, Row2, Column2) & distance(Row2, Column2, Near) & Near < Far.

+!survey(Row, Column) : target(Row, Column).
+!survey(Row, Column) <-
    .abolish(target(_, _));
    .abolish(distance(_, _, _));
    +target(Row, Column);
    +distance(Row, Column, 0);
    !spread(0).

+!spread(Far) : distance(_, _, Far) <-
    // Ways are as good in one direction as in the other.
    for (distance(Row, Column, Far) & way(Row, Column, _, Row2, Column2) & not distance(Row2, Column2, _)) {
        +distance(Row2, Column2, Far + 1);
    };
    !spread(Far + 1).
+!spread(_).
