"""Known behaviours of heads: induction, sinks, repeated tokens, pieces of words, distances.

Each is the share that some keys have of what the queries of a text give: the mean over the queries
of what these keys get, divided by the mean of what the queries give in all, which is 1 where the
measure is a share.  Over texts, means are divided likewise, as those of categories are.  What says
which keys, such as the earlier places of the same token, is made once for a batch, and shared by
heads, layers and measures.
"""
