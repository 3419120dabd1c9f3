// FrozenLake: the shortest way around the holes; on slippery ice, where a step goes astray two times in three, a way of
// leaning so that going astray is harmless.
//
// Beliefs: position(Row, Column), size(Rows, Columns), hole(Row, Column), goal(Row, Column), slippery.
// Actions: left, down, right, up.

{ include("routes.asl") }

free(Row, Column) :- size(Rows, Columns) & Row >= 0 & Row < Rows & Column >= 0 & Column < Columns & not hole(Row, Column).
way(Row, Column, left, Row, Column2) :- Column2 = Column - 1 & free(Row, Column2).
way(Row, Column, down, Row2, Column) :- Row2 = Row + 1 & free(Row2, Column).
way(Row, Column, right, Row, Column2) :- Column2 = Column + 1 & free(Row, Column2).
way(Row, Column, up, Row2, Column) :- Row2 = Row - 1 & free(Row2, Column).

// The 4x4 lake that comes with Gymnasium: cell by cell.
lean(4, 0, 0, left).
lean(4, 0, 1, up).
lean(4, 0, 2, up).
lean(4, 0, 3, up).
lean(4, 1, 0, left).
lean(4, 1, 2, left).
lean(4, 2, 0, up).
lean(4, 2, 1, down).
lean(4, 2, 2, left).
lean(4, 3, 1, right).
lean(4, 3, 2, down).

// Any larger lake, such as the 8x8 one: along the upper edge, then down the right one, pressing against both.
lean(Rows, Row, Column, left) :- Rows > 4 & hole(Row, Column2) & Column2 = Column + 1.
lean(Rows, Row, Column, up) :- Rows > 4 & hole(Row2, Column) & Row2 = Row + 1.
lean(Rows, Row, Column, right) :- Rows > 4 & size(Rows, Columns) & Column >= Columns - 2.
lean(Rows, 0, _, right) :- Rows > 4.
lean(Rows, _, _, up) :- Rows > 4.

+!step : slippery & position(Row, Column) & size(Rows, _) & lean(Rows, Row, Column, Action) <- act(Action).
+!step : goal(Row, Column) <- !survey(Row, Column); ?toward(Action); act(Action).
