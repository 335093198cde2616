// Words of the search of report and docs: endings and spellings that say the same; terms stand in `same.js`.
const stem = (word) => {
  word = word.replace(/([aiy])z(e|ed|er|es|ing|ation|ations)$/, "$1s$2").replace(/(behavi|col|fav|lab|neighb)our/, "$1or");
  if (word.length < 5 || /[_\d]/.test(word)) return word.length > 3 ? word.replace(/([^su])s$/, "$1") : word;
  const one = word.replace(/ies$|ied$/, "y").replace(/([^su])e?s$/, "$1").replace(/(\w{3,})(ing|ed|ly)$/, "$1");
  return one.replace(/([bdfgmnprt])\1$/, "$1").replace(/(\w{3,})e$/, "$1");
};
// What words of one root share: importance, important.
const rootOf = (word) => (word.length > 5 ? word.replace(/(ation|ition|ion|or|er|ment|al|able|ness|ity|ive|ic|at|iv|anc|enc|ant|ent)$/, "") : word);
// Stems near in meaning (of `same.js`) that are not asked for themselves.
let nearStems;
const near = (own, asked) => (nearStems ??= (globalThis.NEAR_WORDS || []).map((line) => line.map(stem))).filter((line) => line.includes(own)).flat().filter((one) => !asked.includes(one));
const SMALL = new Set(("a all an and any are as at be been but by can could did do does for from get had has have how i if in into is it its me more much my no not of " +
  "on or our should so than that the their them then there these they this to use used using want was we were what when where which who whose why will with work works would you your").split(" "));
const wordsOf = (text) => text.normalize("NFKC").toLowerCase().match(/[\p{L}\p{N}_]+/gu) || [];
const stems = (text) => wordsOf(text).map(stem);
const joined = (words) => ` ${words.join(" ")} `;
// A query, and the same in other terms of the field.
const variants = (query) => {
  const asked = joined(stems(query)), all = [query];
  (globalThis.SAME || []).forEach((terms) => {
    const said = terms.map((term) => joined(stems(term))), there = said.filter((one) => asked.includes(one)).sort((a, b) => b.length - a.length)[0];
    if (there) terms.forEach((term, k) => { if (said[k] !== there) all.push(asked.replace(there, ` ${term} `).trim()); });
  });
  return [...new Set(all)].slice(0, 8);
};
