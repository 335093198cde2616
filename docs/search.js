// Search of the docs, in place of the theme's worker: it gives the theme the same answers by other marks. Pages and their sections are ranked by
// BM25F (Robertson & Zaragoza 2009): words of titles, of what a page is also called, of headings and of the text count by field; rare words before
// common ones, the same word again and again for little. A page counts as a whole and by its best section. `words.js` and `same.js` of the reports
// have stems, terms that say the same, and words that are near in meaning, which count for a part.
const OF_PAGE = { title: 6, called: 4, lead: 2, heads: 1, asked: 1, text: 1 }, OF_SECTION = { title: 10, called: 4, text: 1 };
const SATURATED = 1.5, LONG_TITLE = 0.6, LONG_TEXT = 0.75, LEAD = 60, BEST = 2.5, FIRST = 1.3, PHRASE = 1.2, SAID = 1;
const QUESTION = 4, BEGUN = 0.5, SAME_ROOT = 0.6, NEAR = 0.2, OTHER = 0.85;

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
// What a page says that it is also called; the index of the theme has no emphasis.
const called = (html) => plain((html.match(/Also called(?:<\/em>)?:(.*?)<\/p>/s) || ["", ""])[1]);
const mean = (all, of) => all.reduce((sum, one) => sum + of(one), 0) / (all.length || 1);
// Where words stand: by word, by place, how often in each field.
const posted = (places) => {
  const all = new Map();
  places.forEach((place, k) => Object.entries(place.fields).forEach(([field, words]) => words.forEach((word) => {
    if (!all.has(word)) all.set(word, new Map());
    const of = all.get(word);
    if (!of.has(k)) of.set(k, {});
    of.get(k)[field] = (of.get(k)[field] || 0) + 1;
  })));
  return all;
};

let pages, sections, roots, often;
const indexed = (places, weights) => {
  const size = mean(places, (one) => one.fields.text.length), heads = 1 + mean(places, (one) => (one.fields.heads || []).length);
  places.forEach((one) => {
    const title = new Set(one.fields.title.filter((word) => !SMALL.has(word))).size;
    one.long = { title: 1 - LONG_TITLE + (LONG_TITLE * title) / 2.5, text: 1 - LONG_TEXT + (LONG_TEXT * one.fields.text.length) / size };
    one.long.heads = 0.25 + (0.75 * (one.fields.heads || []).length) / heads;
  });
  return { places, weights, posted: posted(places) };
};
const build = (docs) => {
  const homes = new Map();
  const all = docs.map((doc) => {
    const home = doc.location.split("#")[0], title = plain(doc.title), text = plain(doc.text), also = called(doc.text);
    const fields = { title: split(title), called: split(also), text: split(text) };
    const said = [title, ...also.split(/[,.;:()]/)].map((name) => name.trim().toLowerCase()).filter(Boolean);
    const one = { doc, fields, said, names: said.map((name) => joined(stems(name))), flat: joined(stems(text)) };
    if (!homes.has(home)) {
      one.first = true;
      const questions = (ASKED[home] || []).flatMap((one) => [one, ...one.split(/[,:]/)]).map((one) => new Set(split(one).filter((word) => !SMALL.has(word))));
      const asked = [...new Set(questions.flatMap((one) => [...one]))];
      homes.set(home, { doc, questions, sections: [], fields: { title: fields.title, called: [], heads: [], lead: fields.text.slice(0, LEAD), asked, text: [] } });
    }
    const page = homes.get(home);
    page.sections.push(one);
    page.fields.called.push(...fields.called);
    if (!one.first) page.fields.heads.push(...fields.title);
    for (const word of fields.text) page.fields.text.push(word);
    return one;
  });
  sections = indexed(all, OF_SECTION);
  pages = indexed([...homes.values()], OF_PAGE);
  roots = new Map();
  often = new Map([...pages.posted].map(([word, there]) => [word, there.size]));
  for (const word of pages.posted.keys()) roots.set(rootOf(word), [...(roots.get(rootOf(word)) || []), word]);
};

// Of a word of the query: the words of the docs that it is, begins, is of one root with, or is near in meaning to, and how much each counts;
// of one that nowhere stands, the word that was meant.
const meant = (word, _, asked) => {
  const own = stem(word), found = new Map();
  const add = (one, share) => { if (pages.posted.has(one) && share > (found.get(one) || 0)) found.set(one, share); };
  add(own, 1);
  (roots.get(rootOf(own)) || []).forEach((one) => add(one, SAME_ROOT));
  if (word.length > 2) for (const one of pages.posted.keys())
    if (one.startsWith(word) || (own.length > 3 && one.startsWith(own))) add(one, BEGUN * Math.sqrt(own.length / one.length));
  near(own, asked.map(stem)).forEach((one) => add(one, NEAR));
  if (!found.size) add(meantBy(own, often), BEGUN);
  return { own, found };
};
// How rare the word is among places: by the word itself, or by what is found in its stead.
const worth = ({ places, posted }, { own, found }) => {
  const there = new Set();
  (found.has(own) ? [own] : [...found.keys()]).forEach((word) => (posted.get(word) || new Map()).forEach((_, k) => there.add(k)));
  return Math.log(1 + (places.length - there.size + 0.5) / (there.size + 0.5));
};
// BM25F of each place that holds some of the query, as a share of what could be; and how much of the query it holds.
const scored = (index, asked) => {
  const all = new Map(), worths = asked.map((one) => worth(index, one)), total = worths.reduce((sum, one) => sum + one, 0);
  asked.forEach(({ own, found }, j) => {
    const most = new Map();
    found.forEach((share, word) => (index.posted.get(word) || new Map()).forEach((fields, k) => {
      const { long } = index.places[k];
      const often = Object.entries(fields).reduce((sum, [field, n]) => sum + (index.weights[field] * n) / (long[field] || 1), 0);
      most.set(k, Math.max(most.get(k) || 0, (share * often) / (SATURATED + often)));
    }));
    most.forEach((score, k) => {
      if (!all.has(index.places[k])) all.set(index.places[k], { score: 0, held: 0, terms: {} });
      const one = all.get(index.places[k]), share = worths[j] / total;
      one.score += share * score, one.held += share, one.terms[own] = true;
    });
  });
  return all;
};

// How much of the query stands word by word in a heading, in what a page is also called, or in the text: 0 to 1.
const phrase = (one, query) => {
  const words = stems(query.replace(/_/g, " ")), whole = joined(words);
  if (one.said.includes(query.trim())) return 1;
  if (words.length < 2) return 0;
  if (one.names.some((name) => name.includes(whole))) return 1;
  if (one.flat.includes(whole)) return 0.6;
  const said = words.filter((word) => !SMALL.has(word));
  const pairs = said.slice(1).map((word, k) => joined([said[k], word])), all = [...one.names, one.flat];
  return (0.4 * pairs.filter((pair) => all.some((text) => text.includes(pair))).length) / (pairs.length || 1);
};
// How much of the query a heading says, times how much of the heading that is.
const heading = ({ fields }, asked) => {
  const title = new Set(fields.title.filter((word) => !SMALL.has(word))), said = asked.filter(({ own }) => title.has(own)).length;
  return (said / asked.length) * Math.min(1, said / (title.size || 1));
};
// How near the query is to a question that the page answers: 1 where both have the same words.
const question = (page, asked) => {
  const weigh = (word) => worth(pages, { own: word, found: new Set([word]) }), whole = asked.reduce((sum, one) => sum + weigh(one.own), 0);
  return Math.max(0, ...page.questions.map((words) => {
    let said = 0, met = 0;
    asked.forEach(({ own, found }) => {
      const [word, share] = [...words].reduce((best, one) => ((found.get(one) || 0) > best[1] ? [one, found.get(one)] : best), ["", 0]);
      said += share * weigh(own), met += share * weigh(word);
    });
    return Math.sqrt((said / whole) * Math.min(1, met / [...words].reduce((sum, one) => sum + weigh(one), 0))) * (said / whole);
  }));
};
const ranked = (query) => {
  const all = [...new Set(query.match(/[\p{L}\p{N}_]+/gu) || [])], said = all.filter((word) => !SMALL.has(word));
  const asked = (said.length ? said : all).map(meant), parts = scored(sections, asked);
  return [...scored(pages, asked)].map(([page, { score, held }]) => {
    const shown = page.sections.filter((one) => parts.has(one)).map((one) => {
      const part = parts.get(one), more = (1 + PHRASE * phrase(one, query)) * (1 + SAID * heading(one, asked)) * (one.first ? FIRST : 1);
      return { ...one.doc, terms: part.terms, score: part.score * part.held * more };
    });
    shown.sort((a, b) => b.score - a.score).splice(6);
    const best = shown.length ? shown[0] : { score: 0, terms: {} };
    if (!shown.some((hit) => hit.location === page.doc.location)) shown.push({ ...page.doc, score: 0, terms: best.terms });
    return { score: (score * held + BEST * best.score) * (page.doc.boost || 1) + QUESTION * question(page, asked), shown, asked };
  });
};
// A query, and the same in other terms of the field, which count a little less.
const search = (query) => {
  const found = new Map();
  variants(query.toLowerCase()).forEach((one, k) => ranked(one).forEach((answer) => {
    const score = answer.score * (k ? OTHER : 1), home = answer.shown[0].location.split("#")[0];
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
