// What a token after a layer is made of, and the ways down from it; no drawing.

/** Whether a part is large enough to be followed. */
export const isPart = (share, least) => share >= least && share > 0;

/** The parts of a token after a layer (counted from 1); of heads those that the file keeps, the largest first. */
export function partsOf(data, depth, token) {
  const layer = data.sums[depth - 1], [begin, end] = [layer.begin[token], layer.begin[token + 1]];
  const heads = [];
  for (let at = begin; at < end; at += 1) heads.push({ key: layer.key[at], head: layer.head[at], share: layer.share[at] });
  heads.sort((one, other) => other.share - one.share);
  return { residual: layer.residual[token], bias: layer.bias[token], forward: layer.forward[token], rest: layer.rest[token], heads };
}

/** The heads of a token by the token that they take from, summed. */
function byKey(heads, least, without) {
  const found = new Map();
  for (const each of heads) {
    if (without && each.key === 0) continue;
    if (!found.has(each.key)) found.set(each.key, []);
    found.get(each.key).push(each);
  }
  return [...found].map(([key, of]) => ({ key, heads: of, share: of.reduce((sum, each) => sum + each.share, 0) })).filter(({ share }) => isPart(share, least));
}

/** All nodes that are reached from the chosen one downwards, and the ways between them. */
export function routesTo(data, { token, layer, least, first }) {
  const size = data.tokens.length, nodes = new Map(), ways = [];
  let reached = new Set([token]);
  for (let depth = layer; depth >= 0; depth -= 1) {
    const next = new Set();
    for (const to of [...reached].sort((one, other) => one - other)) {
      if (!depth) { nodes.set(to, {}); continue; }
      const parts = partsOf(data, depth, to);
      nodes.set(depth * size + to, { forward: parts.forward });
      if (isPart(parts.residual, least)) { ways.push({ kind: "residual", depth, from: to, to, share: parts.residual }); next.add(to); }
      for (const { key, heads, share } of byKey(parts.heads, least, first)) { ways.push({ kind: "attention", depth, from: key, to, share, heads }); next.add(key); }
    }
    reached = next;
  }
  return { nodes, ways };
}
