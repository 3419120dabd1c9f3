// The streets of Taxi: ways around the walls, and how to drive to a place by the shortest one.
//
// Beliefs: position(Row, Column), place(Place, Row, Column), wall(Row, Column) (no way east from there),
//          size(Rows, Columns).
// Actions: south, north, east, west.

{ include("routes.asl") }

inside(Row, Column) :- size(Rows, Columns) & Row >= 0 & Row < Rows & Column >= 0 & Column < Columns.
way(Row, Column, south, Row2, Column) :- Row2 = Row + 1 & inside(Row2, Column).
way(Row, Column, north, Row2, Column) :- Row2 = Row - 1 & inside(Row2, Column).
way(Row, Column, east, Row, Column2) :- Column2 = Column + 1 & inside(Row, Column2) & not wall(Row, Column).
way(Row, Column, west, Row, Column2) :- Column2 = Column - 1 & inside(Row, Column2) & not wall(Row, Column2).

+!go(Place) : place(Place, Row, Column) & position(Row, Column).
+!go(Place) : place(Place, Row, Column) <-
    !survey(Row, Column);
    ?toward(Action);
    act(Action);
    !go(Place).
