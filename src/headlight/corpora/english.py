"""Closed classes of English words, for texts without parts of speech."""

PRONOUNS = frozenset({
    "i", "me", "my", "mine", "myself", "we", "us", "our", "ours", "ourselves",
    "you", "your", "yours", "yourself", "yourselves", "thou", "thee", "thy", "thine", "thyself",
    "ye", "he", "him", "his", "himself", "she", "her", "hers", "herself",
    "it", "its", "itself", "they", "them", "their", "theirs", "themselves", "em", "'em", "’em",
    "'s", "’s", "oneself", "who", "whom", "whose", "which", "what", "whoever", "whomever",
    "whatever", "this", "that", "these", "those",
    "someone", "somebody", "something", "anyone", "anybody", "anything", "everyone", "everybody",
    "everything", "nobody", "nothing",
})  # fmt: skip
"""Words that are pronouns when they head a mention."""

PREPOSITIONS = frozenset({
    "about", "above", "across", "after", "against", "along", "alongside", "amid", "amidst", "among",
    "amongst", "around", "as", "at", "before", "behind", "below", "beneath", "beside", "besides",
    "between", "beyond", "by", "concerning", "despite", "down", "during", "except", "for", "from",
    "in", "inside", "into", "like", "near", "of", "off", "on", "onto", "opposite", "out", "outside",
    "over", "past", "per", "since", "than", "through", "throughout", "till", "to", "toward",
    "towards", "under", "underneath", "unlike", "until", "unto", "up", "upon", "versus", "via",
    "with", "within", "without",
})  # fmt: skip

RELATIVES = frozenset({
    "that", "which", "who", "whom", "whose", "when", "where", "whereby", "wherein", "why",
})  # fmt: skip
"""Words that begin a relative clause."""

CONJUNCTIONS = frozenset({"and", "or", "nor", "&"})
