"""Words of the embedded decoder's stories: people, things, places, and facts about the world."""


def _list(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.replace("\n", " ").split(",") if part.strip())


def _pairs(text: str) -> dict[str, str]:
    return dict(part.split(": ") for part in _list(text))


WOMEN = _list("""
Anna, Mary, Ada, Mara, Ines, Clara, Ella, Emma, Eva, Grace, Hannah, Helen, Ida, Irene, Jane, Julia,
Kate, Laura, Lena, Lily, Lucy, Maria, Martha, Mia, Mina, Nina, Nora, Olga, Paula, Rosa, Ruth, Sara,
Sofia, Susan, Tessa, Vera, Alice, Bella, Carol, Diana, Edith, Fiona, Greta, Iris, Linda, Marie, Anne,
Molly, Sally, Zoe
""")
MEN = _list("""
John, Tom, Ben, Adam, Alan, Albert, Anton, Bill, Bob, Carl, Daniel, David, Eric, Felix, Frank, Fred,
George, Hans, Harry, Henry, Hugo, Ivan, Jack, James, Jim, Karl, Leo, Liam, Louis, Luke, Mark, Martin,
Max, Mike, Noah, Oscar, Otto, Paul, Peter, Philip, Ralph, Robert, Sam, Simon, Steve, Theo, Tim,
Victor, Walter, William
""")
PEOPLE = WOMEN + MEN
JOBS = _list("""
baker, teacher, doctor, farmer, sailor, driver, nurse, painter, singer, cook, gardener, writer,
lawyer, pilot, engineer, guard, waiter, postman, fisherman, carpenter, butcher, tailor, dentist,
miner, dancer, actor, judge, captain, librarian, mechanic, student, policeman, plumber, shepherd,
clockmaker, ferryman, keeper, king, queen, thief
""")
RELATIVES = _list("""
mother, father, sister, brother, aunt, uncle, cousin, friend, neighbour, son, daughter, wife,
husband, grandmother, grandfather, boss, colleague, teacher, doctor
""")
THINGS = _list("""
key, lamp, book, ball, hat, coat, umbrella, letter, map, ring, cup, knife, spoon, bag, box, basket,
bottle, coin, candle, clock, watch, pen, pencil, picture, mirror, chair, table, bicycle, boat, kite,
drum, violin, flute, guitar, piano, hammer, saw, ladder, rope, bucket, broom, brush, comb, scarf,
glove, shoe, boot, shirt, dress, jacket, blanket, pillow, towel, soap, camera, phone, radio, ticket,
passport, newspaper, stamp, suitcase, wallet, necklace, doll, puzzle, car, bus, train, ship, wagon,
bell, flag, sword, crown, chest, jar, vase, plate, pot, kettle, spade, lantern, tent, rug, purse,
parcel, notebook, telescope, trumpet, statue, treasure, present, button, bread, cake, cheese, milk,
money, sign, medal, helmet, toy, torch
""")
ANIMALS = _list("""
cat, dog, horse, cow, pig, sheep, goat, hen, duck, goose, rabbit, mouse, fox, wolf, bear, lion,
tiger, monkey, elephant, parrot, owl, pigeon, fish, snake, frog, turtle, tortoise, hedgehog, donkey,
pony, swan, bee, whale, dolphin, penguin, camel, squirrel, raven, eagle, deer
""")
FOODS = _list("""
apples, pears, plums, cherries, grapes, bananas, oranges, lemons, carrots, potatoes, tomatoes,
onions, beans, peas, mushrooms, eggs, nuts, olives, cookies, pancakes, noodles, rice, soup, salad,
honey, butter, chocolate, cheese, bread, fish, cake, jam, porridge, coffee, tea, milk, juice, ice
cream, pizza, cabbage
""")
ROOMS = _list("""
shed, kitchen, garden, garage, cellar, attic, barn, bedroom, bathroom, living room, hall, school,
library, museum, church, station, market, shop, bakery, hospital, hotel, restaurant, theatre, cinema,
park, forest, village, harbour, castle, tower, cave, office, bank, factory, stable, boathouse,
lighthouse, mill, windmill, tent, zoo, pool, stadium, post office, town hall, farm, field, valley,
yard, cabin, studio, workshop, café, prison, palace, airport, greenhouse, tunnel, desert, town
""")
INSIDE = _list("""
drawer, box, basket, bag, cupboard, chest, jar, pocket, suitcase, car, boat, bucket, wardrobe, safe,
pot, fridge, oven, vase, barrel, envelope
""")
SURFACES = _list("""
table, shelf, roof, floor, wall, chair, bench, desk, bed, sofa, hill, island, beach, bridge, stairs,
window sill, mat, tray, balcony, stage
""")
MARKS = _list("""
tree, door, stone, bed, table, sofa, bridge, window, house, fence, clock, mirror, stove, bush, gate,
pier, statue, curtain, piano, blanket, rock, river, well, pillow, rug, church, station, wall, oak,
fountain
""")
BESIDE = ("under", "behind", "near", "beside", "next to", "in front of", "below", "above")
GOALS = _list("""
market, shop, school, library, museum, church, station, bakery, hospital, theatre, cinema, park,
forest, village, harbour, castle, beach, zoo, pool, stadium, post office, town hall, farm, lake,
river, bank, café, airport, garden, mountains
""")
COLOURS = _list("""
red, green, blue, yellow, white, black, brown, grey, orange, pink, purple, golden, silver
""")
ADJECTIVES = _list("""
old, new, small, big, little, heavy, broken, spare, beautiful, lost, long, round, wooden, empty,
dirty, clean, strange, cheap, expensive, wet, secret, second, first, last, favourite, red, green,
blue, yellow, white, black
""")
MATERIALS = _list(
    "wood, stone, iron, glass, paper, silver, gold, wool, leather, clay, straw, steel"
)
NUMBERS = _list("""
two, three, four, five, six, seven, eight, nine, ten, eleven, twelve, thirteen, fourteen, fifteen,
twenty, thirty, forty, fifty, sixty, hundred
""")
HOURS = _list("one, two, three, four, five, six, seven, eight, nine, ten, eleven, noon, midnight")
DAYS = _list("Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday")
MONTHS = _list("""
January, February, March, April, May, June, July, August, September, October, November, December
""")
VENUES = _list("""
museum, library, bank, shop, market, zoo, post office, bakery, park, school, theatre, pool, café,
office, restaurant, castle, church, garden, hotel, town hall
""")
EVENTS = _list("""
film, concert, lesson, meeting, match, race, party, show, play, wedding, parade, lecture, festival,
game, exam, tour, train, bus, ferry, ship
""")
CONTESTS = _list("""
race, match, game, contest, prize, election, medal, cup, bet, tournament, lottery, battle, quiz,
cheese race, chess game
""")
COUNTED = _list("""
apples, eggs, books, chairs, children, cats, dogs, horses, sheep, coins, candles, windows, rooms,
ships, trees, stamps, sisters, brothers, cousins, tickets, keys, bottles, letters, flowers, stones,
birds, fish, spoons, cups, students
""")
LANGUAGES = _list("""
English, French, German, Spanish, Italian, Russian, Greek, Latin, Chinese, Japanese, Polish, Turkish
""")
CAPITALS = _pairs("""
France: Paris, Italy: Rome, Spain: Madrid, Germany: Berlin, England: London, Austria: Vienna,
Poland: Warsaw, Russia: Moscow, Greece: Athens, Portugal: Lisbon, Norway: Oslo, Sweden: Stockholm,
Finland: Helsinki, Denmark: Copenhagen, Ireland: Dublin, Hungary: Budapest, Egypt: Cairo,
Japan: Tokyo, China: Beijing, India: Delhi, Canada: Ottawa, Cuba: Havana, Peru: Lima, Kenya: Nairobi,
Turkey: Ankara, Belgium: Brussels, Scotland: Edinburgh, Iceland: Reykjavik, Bulgaria: Sofia,
Romania: Bucharest
""")
CITIES = tuple(CAPITALS.values())
TRUTHS = _list("""
The sky is blue, Grass is green, Snow is white, The sun is yellow, Ice is cold, Fire is hot,
Sugar is sweet, A lemon is sour, Night is dark, Honey is sweet, Blood is red, Coal is black,
A dog has four legs, A bird has two wings, A week has seven days, A year has twelve months,
A spider has eight legs, A hand has five fingers, A car has four wheels, A day has twenty-four hours,
Cows eat grass, Bees make honey, Birds can fly, Fish can swim, Cats catch mice, Rabbits eat carrots,
Two and two is four, One and one is two, Three and two is five, Five and five is ten
""")
OPPOSITES = _pairs("""
big: small, hot: cold, old: new, long: short, high: low, wet: dry, full: empty, good: bad,
happy: sad, fast: slow, open: closed, heavy: light, dark: bright, early: late, hard: soft, day: night,
up: down, left: right, black: white, first: last
""")
TRANSFER = (
    ("gave", "give"), ("sent", "send"), ("lent", "lend"), ("sold", "sell"), ("showed", "show"),
    ("brought", "bring"), ("handed", "hand"),
)  # fmt: skip
PLACING = (
    ("put", "put"), ("left", "leave"), ("hid", "hide"), ("found", "find"), ("saw", "see"),
    ("lost", "lose"), ("placed", "place"), ("buried", "bury"), ("dropped", "drop"),
    ("stored", "store"), ("forgot", "forget"), ("bought", "buy"),
)  # fmt: skip
KEEPING = (
    ("keeps", "keep"), ("hides", "hide"), ("stores", "store"), ("puts", "put"), ("leaves", "leave"),
    ("repairs", "repair"), ("buys", "buy"), ("sells", "sell"), ("finds", "find"),
)  # fmt: skip
DOING = (
    ("painted", "paint"), ("repaired", "repair"), ("broke", "break"), ("built", "build"),
    ("bought", "buy"), ("sold", "sell"), ("stole", "steal"), ("found", "find"), ("lost", "lose"),
    ("took", "take"), ("cleaned", "clean"), ("made", "make"), ("opened", "open"), ("saw", "see"),
    ("drew", "draw"), ("wants", "want"), ("needs", "need"), ("brought", "bring"), ("ate", "eat"),
    ("carried", "carry"), ("borrowed", "borrow"), ("wore", "wear"), ("hid", "hide"),
    ("received", "receive"), ("forgot", "forget"), ("washed", "wash"), ("threw away", "throw away"),
)  # fmt: skip
HAVING = (
    ("has", "have"), ("owns", "own"), ("holds", "hold"), ("carries", "carry"), ("keeps", "keep"),
    ("uses", "use"), ("wants", "want"), ("sells", "sell"), ("likes", "like"), ("wears", "wear"),
)  # fmt: skip
BEING = (
    ("lies", "lie"), ("hangs", "hang"), ("stands", "stand"), ("sleeps", "sleep"), ("waits", "wait"),
    ("lives", "live"), ("sits", "sit"), ("hides", "hide"), ("works", "work"), ("plays", "play"),
    ("rests", "rest"), ("stays", "stay"), ("grows", "grow"),
)  # fmt: skip
LIVING = (("lives", "live"), ("works", "work"), ("studies", "study"), ("stays", "stay"))
MEETING = (
    ("met", "meet"), ("called", "call"), ("visited", "visit"), ("helped", "help"), ("saw", "see"),
    ("thanked", "thank"), ("invited", "invite"), ("found", "find"), ("married", "marry"),
    ("followed", "follow"), ("asked", "ask"), ("taught", "teach"),
)  # fmt: skip
LOVING = (
    ("loves", "love"), ("knows", "know"), ("likes", "like"), ("helps", "help"),
    ("teaches", "teach"), ("remembers", "remember"),
)  # fmt: skip
LOSING = (
    ("lost", "lose"), ("watched", "watch"), ("missed", "miss"), ("left", "leave"),
    ("organised", "organise"), ("began", "begin"), ("saw", "see"),
)  # fmt: skip
LIKING = (
    ("likes", "like"), ("eats", "eat"), ("loves", "love"), ("wants", "want"), ("hates", "hate"),
    ("buys", "buy"), ("sells", "sell"),
)  # fmt: skip
SPEAKING = (("speaks", "speak"), ("learns", "learn"), ("teaches", "teach"), ("studies", "study"))
LABELS = _list("""
code, number, name, password, address, secret, title, colour, price, owner, keeper, captain,
secret word, favourite word, nickname, password, answer, year
""")
OPENING = (("opens", "open"), ("closes", "close"), ("shuts", "shut"))
BEGINNING = (
    ("begins", "begin"), ("starts", "start"), ("ends", "end"), ("leaves", "leave"),
    ("arrives", "arrive"),
)  # fmt: skip
COMING = (
    ("arrived", "arrive"), ("left", "leave"), ("came", "come"), ("called", "call"),
    ("woke up", "wake up"), ("went home", "go home"),
)  # fmt: skip
WINNING = (
    ("won", "win"), ("lost", "lose"), ("fell", "fall"), ("slept", "sleep"), ("laughed", "laugh"),
    ("waited", "wait"), ("sang", "sing"), ("won again", "win again"),
)  # fmt: skip
