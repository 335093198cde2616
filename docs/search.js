// Search of the docs, in place of the theme's worker: it gives the theme the same answers by other marks. A section counts by how much of
// the query it holds, rare words before common ones, and by how much of its heading the query says; then by its page as a whole. A page
// that says what it is also called is found by that as by its heading. `words.js` and `same.js` of the reports have stems and terms that say the same.
const HEAD = 2.2, OF_PAGE = 1.1, WHOLE = 1.6, FIRST = 1.25, BENT = 0.8, BEGUN = 0.55, LONG = 120, CALLED = 0.8, PHRASE = 0.35, OTHER = 0.85;

const plain = (html) => html.replace(/<[^>]+>/g, " ").replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&amp;/g, "&").replace(/&\w+;|&#\d+;/g, " ");
const split = (text) => {
  const found = [];
  for (const [word] of text.matchAll(/[\p{L}\p{N}_]+/gu)) {
    found.push(stem(word.toLowerCase()));
    const parts = word.replace(/([a-z\d])([A-Z])/g, "$1 $2").replace(/_/g, " ").toLowerCase().split(" ").filter(Boolean);
    if (parts.length > 1) found.push(...parts.map(stem));
  }
  return found;
};
// What a page says that it is also called, a text each.
const called = (html) => plain((html.match(/<em>Also called<\/em>:(.*?)<\/p>/s) || ["", ""])[1]).split(/[,.;:()]/).filter((one) => /\w/.test(one));
const counted = (words) => words.reduce((all, word) => all.set(word, (all.get(word) || 0) + 1), new Map());

let sections, known, parents, vocabulary;
const build = (docs) => {
  known = new Map(), parents = new Map();
  sections = docs.map((doc) => {
    const home = doc.location.split("#")[0];
    const one = { doc, home, text: plain(doc.text), head: counted(split(plain(doc.title))), as: plain(doc.title).toLowerCase().split(/[^\p{L}\p{N}_]+/u) };
    one.words = counted(split(one.text));
    const names = called(doc.text);
    one.called = counted(split(names.join(" ")));
    one.names = [plain(doc.title), ...names].map((name) => joined(stems(name)));
    one.flat = joined(stems(one.text));
    one.size = [...one.words.values()].reduce((sum, n) => sum + n, 0);
    if (!parents.has(home)) parents.set(home, one);
    new Set([...one.words.keys(), ...one.head.keys()]).forEach((word) => known.set(word, (known.get(word) || 0) + 1));
    return one;
  });
  vocabulary = [...known.keys()];
};
const rare = (word) => Math.log(1 + sections.length / (known.get(word) || 0.5));

// Of a word of the query: the words of the docs that it is, or begins, and how much each counts.
const meant = (word) => {
  const own = stem(word), found = new Map(known.has(own) ? [[own, 1]] : []);
  if (word.length > 2) vocabulary.forEach((one) => {
    if (one !== own && (one.startsWith(word) || (own.length > 3 && one.startsWith(own)))) found.set(one, BEGUN * Math.sqrt(own.length / one.length));
  });
  return { word, own, found, worth: found.size ? rare(known.has(own) ? own : [...found.keys()].sort((a, b) => known.get(b) - known.get(a))[0]) : rare(own) };
};
const best = (found, counts, value = () => 1) => {
  let most = 0;
  if (counts.size < found.size) counts.forEach((n, word) => { if (found.has(word)) most = Math.max(most, found.get(word) * value(n)); });
  else found.forEach((share, word) => { if (counts.has(word)) most = Math.max(most, share * value(counts.get(word))); });
  return most;
};

// How much of the query stands word by word in a heading, in what a page is also called, or in the text: 0 to 1.
const phrase = (one, query) => {
  const words = stems(query), whole = joined(words);
  if (words.length < 2) return one.names.includes(whole) ? 1 : 0;
  if (one.names.some((name) => name.includes(whole))) return 1;
  if (one.flat.includes(whole)) return 0.6;
  const said = words.filter((word) => !SMALL.has(word));
  const pairs = said.slice(1).map((word, k) => joined([said[k], word])), all = [...one.names, one.flat];
  return 0.4 * pairs.filter((pair) => all.some((text) => text.includes(pair))).length / (pairs.length || 1);
};

const ranked = (query) => {
  const all = [...new Set(query.toLowerCase().match(/[\p{L}\p{N}_]+/gu) || [])];
  const said = all.filter((word) => !SMALL.has(word));
  const asked = (said.length ? said : all).map(meant), total = asked.reduce((sum, one) => sum + one.worth, 0);
  if (!asked.length) return [];
  const pages = new Map();
  sections.forEach((one) => {
    const page = parents.get(one.home), terms = {};
    let score = 0, held = 0, headed = 0;
    asked.forEach(({ word, own, found, worth }) => {
      const said = (other) => best(found, other.head) * (other.as.includes(word) ? 1 : BENT);
      const text = best(found, one.words, (n) => n / (n + 0.4 + one.size / LONG));
      const head = Math.max(said(one), CALLED * best(found, one.called)), above = page === one ? 0 : said(page);
      terms[own] = text + head + above > 0;
      score += worth * (text + HEAD * head + OF_PAGE * above);
      held += worth * Math.max(head, above, text && best(found, one.words));
      headed += worth * head;
    });
    if (!score) return;
    let long = 0;
    one.head.forEach((n, word) => { if (!SMALL.has(word)) long += rare(word); });
    if (one === page) score *= FIRST;
    score *= (1 + PHRASE * phrase(one, query)) / total;
    score *= (held / total) ** 2 * (1 + WHOLE * Math.min(1, headed / (long || 1)) * (headed / total));
    const at = pages.get(one.home) || { hits: [], held: new Map(), boost: 1 };
    at.hits.push({ ...one.doc, score: score * (page.doc.boost || 1), terms });
    Object.entries(terms).forEach(([word, there]) => at.held.set(word, at.held.get(word) || there));
    pages.set(one.home, at);
  });
  const answers = [...pages].map(([home, { hits, held }]) => {
    hits.sort((a, b) => b.score - a.score);
    const whole = asked.reduce((sum, { own, worth }) => sum + (held.get(own) ? worth : 0), 0) / total;
    const more = hits.slice(1, 4).reduce((sum, hit, k) => sum + hit.score * 0.15 ** (k + 1), 0);
    const score = (hits[0].score + more) * (0.4 + 0.6 * whole);
    const { doc } = parents.get(home), shown = hits.slice(0, 6);
    if (!shown.some((hit) => hit.location === doc.location)) shown.push({ ...doc, score: 0, terms: hits[0].terms });
    return { score, shown };
  });
  return answers.map(({ score, shown }) => ({ score, shown, asked }));
};
// A query, and the same in other terms of the field, which count a little less.
const search = (query) => {
  const found = new Map();
  variants(query.toLowerCase()).forEach((one, k) => ranked(one).forEach((answer) => {
    const score = answer.score * (k ? OTHER : 1), { location } = answer.shown[0], home = location.split("#")[0];
    if (score > (found.get(home) || { score: 0 }).score) found.set(home, { ...answer, score });
  }));
  const answers = [...found.values()].sort((a, b) => b.score - a.score).slice(0, 30);
  return answers.map(({ shown, asked }) => shown.map((hit) => ({ ...hit, text: shortly(hit.text, asked) })));
};
const shortly = (html, asked) => {
  const words = plain(html).split(/\s+/).filter(Boolean), hit = (word) => asked.some(({ found }) => split(word).some((one) => found.has(one)));
  const from = Math.max(0, words.findIndex(hit) - 8);
  const escaped = (word) => word.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  return words.slice(from, from + 40).map((word) => (hit(word) ? `<mark>${escaped(word)}</mark>` : escaped(word))).join(" ");
};

if (typeof addEventListener === "function") addEventListener("message", ({ data }) => {
  if (data.type === 0) build(data.data.docs);
  postMessage(data.type === 0 ? { type: 1 } : { type: 3, data: { items: search(data.data) } });
});
if (typeof module === "object") module.exports = { build, search };
