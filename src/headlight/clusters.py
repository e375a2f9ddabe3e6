"""How heads resemble each other: distances to a map, a tree and names for behaviours."""
