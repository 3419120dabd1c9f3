// Taxi, for an agent that learns (bdi_q): it knows the way to each place and how to take and leave passengers, but not which
// place to drive to.
//
// Beliefs and actions: see taxi.asl, whose ways are used.

{ include("streets.asl") }

relevant(passenger).
relevant(destination).

!work.

+!work <- !trip; !work.

@red    +!trip <- !visit(red).
@green  +!trip <- !visit(green).
@yellow +!trip <- !visit(yellow).
@blue   +!trip <- !visit(blue).

+!visit(Place) : passenger(taxi) <- !go(Place); act(drop_off).
+!visit(Place) <- !go(Place); act(pick_up).
