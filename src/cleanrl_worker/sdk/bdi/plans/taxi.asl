// Taxi: fetch the passenger, bring them where they want to go, by the shortest way around the walls.
//
// Beliefs: passenger(Place), destination(Place), and those of streets.asl; a passenger on board is at the place taxi.
// Actions: pick_up, drop_off, and those of streets.asl.

{ include("streets.asl") }

!serve.

+!serve : passenger(taxi) & destination(Place) <- !go(Place); act(drop_off); !serve.
+!serve : passenger(Place) <- !go(Place); act(pick_up); !serve.
