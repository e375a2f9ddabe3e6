// How much of a token after a layer comes from each token before it; no drawing.

/** Shares that tokens take from each other by layer, 0 from themselves, and the parts of heads by receiving token. */
export function sharesOf(data, rest) {
  const size = data.tokens.length;
  return data.sums.map((layer, place) => {
    const taken = new Float64Array(size * size), heads = new Map();
    for (let at = 0; at < size * size; at += 1) taken[at] = rest[place * size * size + at] * data.unit;
    for (let to = 0; to < size; to += 1) {
      for (let at = layer.begin[to]; at < layer.begin[to + 1]; at += 1) {
        const cell = to * size + layer.key[at];
        taken[cell] += layer.share[at];
        if (!heads.has(cell)) heads.set(cell, []);
        heads.get(cell).push({ head: layer.head[at], share: layer.share[at] });
      }
      taken[to * size + to] = 0;
    }
    return { taken, heads };
  });
}

/** The links that bring at least a share of the chosen token, and how much of it is at each token before each layer. */
export function waysTo(shares, size, { token, layer, least, hidden }) {
  const passing = Array.from({ length: layer + 1 }, () => new Float64Array(size)), direct = new Float64Array(size), most = new Map(), links = [];
  passing[layer][token] = 1;
  let own = 1, all = 0;
  for (let place = layer - 1; place >= 0; place -= 1) {
    const { taken, heads } = shares[place], above = passing[place + 1], below = passing[place];
    let left = 1;
    for (let to = 0; to < size; to += 1) {
      let sum = 0;
      for (let from = 0; from < size; from += 1) {
        const local = taken[to * size + from], share = above[to] * local;
        sum += local;
        if (!(share > 0)) continue;
        below[from] += share;
        if (to === token) direct[from] += own * local;
        if (share < least && to !== token) continue;
        const parts = [...(heads.get(to * size + from) ?? [])].sort((one, other) => other.share - one.share);
        const link = { place, to, from, share, local, heads: parts.map((each) => ({ head: each.head, share: above[to] * each.share })) };
        if (share >= least && !hidden.includes(from)) links.push(link);
        const first = ({ heads: by }) => by[0]?.share ?? 0;
        if (to === token && (!most.has(from) || first(link) > first(most.get(from)))) most.set(from, link);
      }
      below[to] += above[to] * (1 - sum);
      if (to === token) left = 1 - sum;
    }
    own *= left;
  }
  direct[token] = own;
  return { links, passing, direct, most };
}
