// The search over heads of all models: `induction in layer > 10`, `sep > 50% and norm sep < 10%`.
import { axes } from "./head_scatter.js";

const FILLED = new Set(["in", "and", "with", "heads", "head", "the", "to", "of", "by", "that", "token", "tokens", "a"]);
const COMPARED = { ">": (a, b) => a > b, "<": (a, b) => a < b, ">=": (a, b) => a >= b, "<=": (a, b) => a <= b, "=": (a, b) => a === b };

const wordsOf = (text) => text.toLowerCase().split(/[^\p{L}\p{N}]+/u).filter((word) => word && !FILLED.has(word));

// A search as conditions and what is looked for, each a list of words.
export function parsed(text) {
  const conditions = [];
  const plain = text.split(/\band\b|,|\bin\b|\bwith\b|\bwhere\b/i).filter((part) => {
    const found = /^(.*?)(>=|<=|>|<|=)\s*([\d.]+)\s*(%?)\s*$/.exec(part);
    if (found && wordsOf(found[1]).length) {
      conditions.push({ words: wordsOf(found[1]), sign: found[2], value: Number(found[3]) / (found[4] ? 100 : 1) });
      return false;
    }
    return true;
  });
  return { wanted: plain.map(wordsOf).filter((words) => words.length), conditions };
}

// The number that words name: of those that have all of them, the one with the fewest others; by
// the weight where no measure is named.
export function named(all, words) {
  const found = axes(all)
    .map((axis, place) => ({ axis, place, own: new Set(wordsOf(`${axis.label} ${axis.name}`)) }))
    .filter(({ own }) => words.every((word) => [...own].some((each) => each.startsWith(word))));
  const others = ({ own }) => own.size;
  const exact = ({ own }) => words.filter((word) => own.has(word)).length;
  return found.sort((a, b) => exact(b) - exact(a) || others(a) - others(b) || a.place - b.place)[0]?.axis;
}

// The heads of one model that a search finds, each with the numbers that were named.
export function found(all, search) {
  const title = wordsOf(all.title), others = (words) => words.filter((word) => !title.some((each) => each.startsWith(word)));
  // What names no number as it stands may begin with the name of the model: `minilm previous`.
  const wanted = search.wanted.map((words) => ({ words, axis: named(all, words) ?? (others(words).length ? named(all, others(words)) : null) }));
  const unknown = wanted.filter(({ words, axis }) => !axis && others(words).length).map(({ words }) => words.join(" "));
  const conditions = search.conditions.map((each) => ({ ...each, axis: named(all, each.words) }));
  unknown.push(...conditions.filter(({ axis }) => !axis).map(({ words }) => words.join(" ")));
  const shown = [...wanted, ...conditions].map(({ axis }) => axis).filter((axis, place, whole) => axis && whole.indexOf(axis) === place);
  const heads = unknown.length ? [] : all.names.map((_, index) => index).filter((index) =>
    conditions.every(({ axis, sign, value }) => axis.values[index] !== null && COMPARED[sign](axis.values[index], value))
    && shown.every((axis) => axis.values[index] !== null));
  const by = wanted.find(({ axis }) => axis)?.axis ?? conditions.find(({ axis }) => axis && axis.name !== "layer")?.axis ?? shown[0];
  return { unknown, by, shown: [by, ...shown.filter((axis) => axis !== by)].filter(Boolean), heads };
}
