"""What is known of settings beyond the constructor's own signature: bounds, choices, and what each means.

A signature says names, defaults and types. It does not say that a probability lies between 0 and 1, or which maps
FrozenLake has. The key of a table is the name of the class, then the name of the setting; `EVERY` holds for all of
them. `actions` says which kind of action space each value of a setting leads to, `sees` that the setting changes what
is seen (its `shape`, or even its `kind`), `not_for_pictures` why algorithms on pictures cannot have it (or one kind of
its values).
"""

from typing import Any

FIXED = frozenset(
    {
        "render_mode",
        "wrappers",
        "game",
        "mission_space",
        "grid_size",
        "model_path",
        "observation_space",
        "sound_obs",
        "verbose",
        "domain",
        "task",
        "pool_name",
        "channel_first",
        "use_combined_action",
    }
)
"""Arguments that are not settings: what the id says, what MOSAIC decides, and what only prints."""

_PROBABILITY = {"type": "number", "minimum": 0, "maximum": 1}
_WEIGHT = {"type": "number", "minimum": 0}
_COUNT = {"type": "integer", "minimum": 1}
_NONE_OR_MORE = {"type": "integer", "minimum": 0}
_SKIP = {"type": "integer", "minimum": 1, "maximum": 1000}
_RANGE = {"minItems": 2, "maxItems": 2, "ascending": True}
_ONE_SKIP = "algorithms on pictures need one number, not a range"
_CONTINUOUS = {"actions": {"true": "continuous", "false": "discrete"}}


def _said(text: str, **facts: Any) -> dict[str, Any]:
    return {"description": text, **facts}


EVERY: dict[str, dict[str, Any]] = {
    # Classic control
    "sutton_barto_reward": _said("Reward 0 for each step and -1 at the fall, instead of 1 a step."),
    # MuJoCo
    "xml_file": _said("Model of the robot: a file of Gymnasium's own, or a path.", sees="shape"),
    "frame_skip": _said("Simulator steps a step.", minimum=1),
    "forward_reward_weight": _said("Weight of the reward for moving forward.", **_WEIGHT),
    "ctrl_cost_weight": _said("Weight of the cost of large actions.", **_WEIGHT),
    "contact_cost_weight": _said("Weight of the cost of contact forces.", **_WEIGHT),
    "impact_cost_weight": _said("Weight of the cost of impacts.", **_WEIGHT),
    "uph_cost_weight": _said("Weight of the reward for standing up.", **_WEIGHT),
    "reward_near_weight": _said("Weight of the reward for being near the object.", **_WEIGHT),
    "reward_dist_weight": _said("Weight of the reward for a small distance to the goal.", **_WEIGHT),
    "reward_control_weight": _said("Weight of the cost of large actions.", **_WEIGHT),
    "healthy_reward": _said("Reward of each step in which the robot is healthy.", type="number"),
    "terminate_when_unhealthy": _said("End the episode when the robot is not healthy."),
    "healthy_z_range": _said("Heights of the torso that count as healthy."),
    "healthy_angle_range": _said("Angles of the torso that count as healthy."),
    "healthy_state_range": _said("Values of the other states that count as healthy."),
    "contact_force_range": _said("Contact forces are clipped to this range."),
    "contact_cost_range": _said("The cost of contacts is clipped to this range."),
    "impact_cost_range": _said("The cost of impacts is clipped to this range."),
    "reset_noise_scale": _said("Size of the random disturbance of the first state.", **_WEIGHT),
    "exclude_current_positions_from_observation": _said("Leave out where the robot is.", sees="shape"),
    "include_cfrc_ext_in_observation": _said("Show the contact forces.", sees="shape"),
    "include_cinert_in_observation": _said("Show inertia and mass of the bodies.", sees="shape"),
    "include_cvel_in_observation": _said("Show the velocities of the bodies.", sees="shape"),
    "include_qfrc_actuator_in_observation": _said("Show the forces of the actuators.", sees="shape"),
    "use_contact_forces": _said("Show contact forces, and let them cost.", sees="shape"),
    "main_body": _said("Body whose movement is rewarded, by number or name."),
    "default_camera_config": _said("Where the camera stands at first: distance, elevation, lookat, trackbodyid."),
    "camera_id": _said("Camera of the model that draws the picture, by its number."),
    "camera_name": _said("Camera of the model that draws the picture, by its name."),
    "visual_options": _said("Switches of MuJoCo's drawing, by their numbers."),
    "max_geom": _said("Most shapes that a picture draws.", minimum=1),
    # MiniGrid
    "size": _said("Cells along each side of the grid, walls included.", minimum=3),
    "room_size": _said("Cells along each side of a room, walls included.", minimum=3),
    "num_rows": _said("Rows of rooms.", **_COUNT),
    "num_cols": _said("Columns of rooms.", **_COUNT),
    "num_dists": _said("Distracting objects.", **_NONE_OR_MORE),
    "num_crossings": _said("Rivers of lava, or walls, to cross.", **_NONE_OR_MORE),
    "num_doors": _said("Doors.", **_COUNT),
    "num_objs": _said("Objects.", **_COUNT),
    "numObjs": _said("Objects.", **_COUNT),
    "n_obstacles": _said("Obstacles that move.", **_NONE_OR_MORE),
    "objs_per_room": _said("Objects in each room.", **_COUNT),
    "minNumRooms": _said("Fewest rooms.", **_COUNT),
    "maxNumRooms": _said("Most rooms.", **_COUNT),
    "maxRoomSize": _said("Longest side of a room.", minimum=4),
    "num_quarters": _said("Quarters of the maze that are used.", minimum=1, maximum=4),
    "num_rooms_visited": _said("Rooms that count for the step limit.", **_COUNT),
    "agent_start_dir": _said("Direction at the start: 0 right, 1 down, 2 left, 3 up.", minimum=0, maximum=3),
    "agent_start_pos": _said("Column and row at the start."),
    "agent_view_size": _said("Cells along each side of the view; odd.", minimum=3, sees="shape"),
    "see_through_walls": _said("Show cells behind walls."),
    "agent_pos": _said("Column and row of the agent at the start; null is at random."),
    "goal_pos": _said("Column and row of the goal; null is at random."),
    "agent_room": _said("Column and row of the room in which the agent starts."),
    "strip2_row": _said("Row of the second strip of lava.", minimum=1),
    "random_length": _said("The corridor has another length in each episode."),
    "obj_type": _said("What is to be fetched.", enum=["ball", "box", "key"]),
    "key_in_box": _said("The keys are in boxes."),
    "blocked": _said("Balls stand before the doors."),
    "doors_open": _said("All doors are open at the start."),
    "distractors": _said("There are distracting objects."),
    "start_carrying": _said("The agent carries the first object at the start."),
    "first_color": _said("Colour of the first door; null is at random."),
    "second_color": _said("Colour of the second door; null is at random."),
    "strict": _said("The wrong order ends the episode."),
    "select_by": _said("How the door is told: color or loc; null is either."),
    "debug": _said("A wrong object ends the episode."),
    "locked_room_prob": _said("Chance of a locked room.", **_PROBABILITY),
    "locations": _said("Missions may name places."),
    "unblocking": _said("Doors may be blocked."),
    "implicit_unlock": _said("Missions may need a key that they do not name."),
    "action_kinds": _said("Kinds of action in missions."),
    "instr_kinds": _said("Kinds of mission: one action, two of them, or one after the other."),
    "highlight": _said("Show in the picture what the agent sees."),
    "agent_pov": _said("The picture is what the agent sees."),
    "max_steps": _said("Steps after which the episode is cut off; null is the level's own rule.", minimum=1),
    "tile_size": _said("Side of a cell in a picture, in pixels.", minimum=1),
    "screen_size": _said("Side of the picture, in pixels.", minimum=1),
    # Procgen
    "num_levels": _said("Levels that there are; 0 is without end.", **_NONE_OR_MORE),
    "start_level": _said("The first of the levels.", **_NONE_OR_MORE),
    "use_sequential_levels": _said("The end of a level is the beginning of the next one, in the same episode."),
    "use_backgrounds": _said("Pictures behind the game; otherwise black.", sees="shape"),
    "use_generated_assets": _said("Random shapes instead of drawn pictures.", sees="shape"),
    "use_monochrome_assets": _said("Rectangles of one colour instead of drawn pictures.", sees="shape"),
    "restrict_themes": _said("One picture for each kind of thing instead of several.", sees="shape"),
    "center_agent": _said("The picture stays on the player; otherwise it shows the whole level.", sees="shape"),
    "paint_vel_info": _said("Paint how fast the player moves into a corner.", sees="shape"),
    # Games on a grid
    "repeat_action_probability": _said("Chance that the last action is repeated: sticky actions.", **_PROBABILITY),
    "harder": _said("The game gets harder, the longer it lasts."),
    # All
    "max_episode_steps": _said("Steps after which an episode is cut off.", **_COUNT),
    "max_cycles": _said("Rounds after which a game is cut off.", minimum=1),
    "continuous_actions": _said("Actions are vectors instead of choices."),
    "num_players": _said("Players.", minimum=2, maximum=10),
    "board_size": _said("Lines along each side of the board.", minimum=2, maximum=19),
    "width": _said("Width of a picture, in pixels; of a grid, in cells.", minimum=1),
    "height": _said("Height of a picture, in pixels; of a grid, in cells.", minimum=1),
    "screen_height": _said("Height of the picture, in pixels.", minimum=1),
    "screen_scaling": _said("Size of the picture.", minimum=1),
}

OF_CLASS: dict[str, dict[str, dict[str, Any]]] = {
    "MountainCarEnv": {"goal_velocity": _said("Speed that the car must have at the flag.", type="number")},
    "Continuous_MountainCarEnv": {"goal_velocity": _said("Speed that the car must have at the flag.", type="number")},
    "PendulumEnv": {"g": _said("Gravity.", type="number")},
    "FrozenLakeEnv": {
        "desc": _said(
            "A map of your own: a list of rows of S, F, H and G; null is the map named by map_name.", sees="shape"
        ),
        "map_name": _said("The map, where desc says none.", enum=["4x4", "8x8"], sees="shape"),
        "is_slippery": _said("The ice carries the player to the side in two steps of three."),
        "success_rate": _said("Share of slippery steps that go where they were meant to.", **_PROBABILITY),
        "reward_schedule": _said("Rewards of the goal, of a hole and of ice.", items={"type": "number"}),
    },
    "CliffWalkingEnv": {"is_slippery": _said("A step goes to the side in two cases of three.")},
    "TaxiEnv": {
        "is_rainy": _said("The taxi may skid to the left or right."),
        "fickle_passenger": _said("The passenger may change the destination on the way."),
        "rainy_probability": _said("Share of steps in the rain that go where they were meant to.", **_PROBABILITY),
        "fickle_probability": _said("Chance that the passenger changes the destination.", **_PROBABILITY),
    },
    "BlackjackEnv": {
        "natural": _said("A natural blackjack pays 1.5."),
        "sab": _said("The rules of Sutton and Barto; natural then counts for nothing."),
    },
    "LunarLander": {
        "continuous": _said("Throttles are numbers instead of on and off.", **_CONTINUOUS),
        "gravity": _said("Gravity, downwards.", exclusiveMinimum=-12, exclusiveMaximum=0),
        "enable_wind": _said("Wind blows."),
        "wind_power": _said("Strength of the wind.", minimum=0, maximum=20),
        "turbulence_power": _said("Strength of the turbulence.", minimum=0, maximum=2),
    },
    "BipedalWalker": {"hardcore": _said("Ladders, stumps and pitfalls.")},
    "CarRacing": {
        "lap_complete_percent": _said("Share of the track that makes a lap.", **_PROBABILITY),
        "domain_randomize": _said("Other colours in each episode."),
        "continuous": _said("Steering, gas and brake are numbers instead of five choices.", **_CONTINUOUS),
    },
    "AtariEnv": {
        "mode": _said("Mode of the game; null is its default.", minimum=0),
        "difficulty": _said("Difficulty of the game; null is its default.", minimum=0),
        "obs_type": _said(
            "What is seen: colours, grey, or the 128 bytes of memory.",
            sees="kind",
            not_for_pictures="algorithms on pictures see grey ones of 84×84, whatever it is; leave it out",
        ),
        "frameskip": _said(
            "Frames a step; a pair is a random number from the first to below the second.",
            anyOf=[_SKIP, {"type": "array", "items": _SKIP, **_RANGE, "not_for_pictures": _ONE_SKIP}],
        ),
        "repeat_action_probability": _said("Chance that the last action is repeated: sticky actions.", **_PROBABILITY),
        "full_action_space": _said("All 18 actions, also those that do nothing in this game."),
        "continuous": _said("Actions are numbers: joystick and button.", **_CONTINUOUS),
        "continuous_action_threshold": _said("Joystick position from which on it counts as moved.", **_PROBABILITY),
        "max_num_frames_per_episode": _said("Frames after which an episode is cut off; null is never.", minimum=1),
    },
    "knights_archers_zombies": {"obs_method": {"sees": "kind"}},
}


def of(class_name: str, setting: str) -> dict[str, Any]:
    """What is known of one setting of one class."""
    return {**EVERY.get(setting, {}), **OF_CLASS.get(class_name, {}).get(setting, {})}
