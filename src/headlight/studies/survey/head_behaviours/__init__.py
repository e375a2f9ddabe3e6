"""Known behaviours of heads: induction, sinks, repeated tokens, pieces of words, distances.

Each is the share of some keys in the attention of the queries of a text: the mean over the queries
of the amount that these keys receive, divided by the mean of the amount that the queries give to
all keys, which is 1 where the measure is a share.  Over texts, means are divided likewise, as for
categories.  The masks and pairs that define the keys, such as the earlier places of the same token,
are made once for a batch, and shared by heads, layers and measures.
"""
