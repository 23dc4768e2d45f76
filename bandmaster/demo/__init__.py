"""The main job on real input: 60 real programs and more, three users, five bands, a limit of 4, its claims checked."""
