"""Names beside points: none over another, those that stand out most first."""

from hypothesis import given, strategies as some

from headlight.views.pictures.label_placing import Box, LabelPosition, placed_names

ROOM = Box(0, 0, 200, 100)
NUMBERS = some.floats(0, 1)
SPOTS = some.lists(
    some.builds(
        LabelPosition,
        NUMBERS.map(lambda part: 200 * part),
        NUMBERS.map(lambda part: 100 * part),
        some.integers(0, 9).map("L0H{}".format),
        NUMBERS,
    ),
    max_size=12,
)


def named(placed):
    return [spot.name for spot, _ in placed]


@given(SPOTS)
def test_no_name_stands_over_another_or_outside(spots):
    boxes = [(box.left, box.top) for _, box in placed_names(spots, ROOM)]
    for at, (left, top) in enumerate(boxes):
        assert -0.01 <= left <= 200 - 25.6 + 0.01
        assert -0.01 <= top <= 88.01
        for other_left, other_top in boxes[:at]:
            assert abs(left - other_left) >= 25.58 or abs(top - other_top) >= 11.98


@given(SPOTS)
def test_order_does_not_matter(spots):
    assert placed_names(spots, ROOM) == placed_names(spots[::-1], ROOM)


def test_the_one_that_is_furthest_gets_its_name_first():
    near, far = LabelPosition(50.0, 50.0, "L0H1", 0.3), LabelPosition(51.0, 51.0, "L0H2", 0.9)
    assert named(placed_names([near, far], ROOM, most=1)) == ["L0H2"]
    assert set(named(placed_names([near, far], ROOM))) == {"L0H1", "L0H2"}
