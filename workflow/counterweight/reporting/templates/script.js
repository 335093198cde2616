(() => {
const $ = (s, e = document) => e.querySelector(s), $$ = (s, e = document) => [...e.querySelectorAll(s)];
const root = document.documentElement;

// Light and dark: the system's until a button was pressed.
const dark = matchMedia("(prefers-color-scheme:dark)"), button = $("#theme");
const isDark = () => root.dataset.theme ? root.dataset.theme === "dark" : dark.matches;
const label = () => button.textContent = isDark() ? "Light theme" : "Dark theme";
button.hidden = false; label(); dark.addEventListener("change", label);
button.onclick = () => {
  root.dataset.theme = isDark() ? "light" : "dark"; label();
  try { sessionStorage.setItem("theme", root.dataset.theme); } catch {}
};

// Contents: open beside the page, folded above it.
const side = $("#side"), wide = matchMedia("(min-width:64rem)");
const fold = () => side.open = wide.matches;
fold(); wide.addEventListener("change", fold);
side.addEventListener("click", e => { if (e.target.closest("a") && !wide.matches) side.open = false; });
const reveal = () => {
  const at = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let e = at; e; e = e.parentElement) if (e.tagName === "DETAILS") e.open = true;
};
addEventListener("hashchange", reveal); reveal();

// The place where one is: the last heading above the upper third.
const links = new Map($$('#list a[href^="#"]:not([aria-current])').map(a => [decodeURIComponent(a.hash.slice(1)), a]));
const spots = [...links.keys()].map(id => document.getElementById(id)).filter(Boolean);
const mark = () => {
  const now = spots.filter(e => e.getBoundingClientRect().top < innerHeight / 3).pop() || (document.body.matches(".whole") && spots[0]);
  links.forEach((a, id) => {
    if (now && now.id === id) a.setAttribute("aria-current", "location");
    else if (a.getAttribute("aria-current") === "location") a.removeAttribute("aria-current");
  });
};
if (spots.length) {
  const spy = new IntersectionObserver(mark, {rootMargin: "0px 0px -66% 0px"});
  spots.forEach(e => { spy.observe(e); });
  mark();
}
const current = $("#list [aria-current=page]"), nav = $("#contents");
if (current && wide.matches && current.offsetTop > innerHeight * .7) nav.scrollTop = current.offsetTop - innerHeight / 3;

// Search: titles of pages are known at once, the rest stands in files that are read when somebody begins; a page whose file is
// not there was not written.
const find = $("#find"), input = $("input", find), hits = $("ul", find), told = $("p", find);
const known = JSON.parse($("#places").textContent);
const entry = ([title, href, note, words, names]) => {
  // A page is also known by its study's name, that of its file.
  const study = href.includes("#") || names ? "" : href.split("/").pop().replace(".html", "");
  const head = stems(title), roots = head.map(rootOf), also = study.split("_").map(stem), text = new Set(stems(`${words} ${note} ${names}`));
  return {title, note, href, low: title.normalize("NFKC").toLowerCase(), said: `${title} ${words} ${note} ${names}`, head, roots, text, flat: [joined(head), joined(also), joined([...text])], names: [...names.split(" "), study, study.replace(/_/g, " ")]};
};
const here = location.pathname.split("/").pop();
const link = href => { const [path, hash] = href.split("#"); return hash && path.split("/").pop() === here ? "#" + hash : `${known.root}/${href}`; };
let places = known.pages.map(e => entry(e)).map(e => ({...e, href: known.files.length ? link(e.href) : e.href}));
const onPage = $$("main :is(h2,h3,h4)[id], main .terms div[id], main li[id^=claim], main figure[id], main caption[id]").map(e => {
  const title = (e.matches("div") ? $("dt", e) : e.matches("figure") ? $(".title", e) : e).textContent.replace(/#$/, "").trim().slice(0, 120);
  return entry([title, "#" + e.id, "on this page", (e.matches("h2,h3,h4") ? e.parentElement : e).textContent.slice(0, 1500).toLowerCase(), e.id.startsWith("claim-") ? e.id.slice(6) : ""]);
});
places = [...places, ...onPage];
const load = () => {
  const files = known.files.splice(0);
  files.forEach(src => {
    const script = document.createElement("script");
    script.src = src; script.onload = () => {
      places = [...(self.found || []), ...known.pages.filter(e => e[2] === "on this page")].map(e => ({...entry(e), href: link(e[1])}));
      if (input.value) input.oninput();
    };
    document.head.append(script);
  });
};
input.onfocus = load;
find.hidden = false;
// Exact names and titles first, then by how much of the query stands in title, study and text: rare words count for more, and a
// title of which more is said; other terms of the field and tables for less. A word that stands nowhere is taken for the nearest, a short
// one that is said is no part of another in a title.
const sought = q => {
  const all = q.match(/[\p{L}\p{N}_]+/gu) || [], said = all.filter(w => !SMALL.has(w));
  return (said.length ? said : all).map(w => [w, stem(w), near(stem(w), all.map(stem)), w.length > 4 || !often.has(w)]);
};
// How often each word is said; what is sought by another word counts as said.
let often = new Map(), counted = null;
const spelled = q => {
  if (counted !== places) {
    counted = places; often = new Map();
    const near = [...(self.SAME || []), ...(self.NEAR_WORDS || [])].flat();
    [...places.map(p => p.said), ...near].forEach(text => new Set(wordsOf(text)).forEach(w => often.set(w, (often.get(w) || 0) + 1)));
  }
  const there = w => SMALL.has(w) || often.has(w) || places.some(p => p.text.has(stem(w)) || p.roots.includes(rootOf(stem(w))) || p.flat.some(t => t.includes(w)));
  return q.replace(/[\p{L}\p{N}_]+/gu, w => !self.meantBy || there(w) ? w : self.meantBy(w, often));
};
const rarity = words => words.map(([w, own]) => {
  const count = places.filter(p => p.head.includes(own) || p.text.has(own)).length || places.filter(p => p.flat.some(t => t.includes(" " + w))).length;
  return Math.log(1 + places.length / (count + 1));
});
const rank = (p, {q, words, rare, total}) => {
  if (p.low === q || p.names.includes(q)) return p.low === q && p.note === "term" ? 0 : 1;
  if (p.low.startsWith(q)) return 2;
  const [title, study, text] = p.flat, begun = (t, w) => t.includes(" " + w);
  const each = words.map(([w, own, like, as]) => p.head.includes(own) ? 1 : begun(study, w) || as && begun(title, w) ? .9 : as && title.includes(w) ? .7 : p.roots.includes(rootOf(own)) ? .6 : p.text.has(own) ? .4 :
    like.some(one => p.head.includes(one)) ? .12 : begun(text, w) ? .35 : text.includes(w) ? .15 : 0);
  if (2 * each.filter(Boolean).length < words.length) return 9;
  const score = each.reduce((sum, one, k) => sum + one * rare[k], 0) / total, own = words.map(w => w[1]);
  const phrase = own.length < 2 ? 0 : title.includes(joined(stems(q))) ? .5 : title.includes(joined(own)) ? .2 : 0;
  return 8 - 5 * score - phrase - .3 * p.head.filter(w => own.includes(w)).length / (p.head.length || 1);
};
input.oninput = () => {
  load();
  const typed = input.value.toLowerCase().trim(), right = spelled(typed);
  const asked = variants(right).map(q => [q, sought(q)]).filter(([, words]) => words.length), words = asked.length ? asked[0][1] : [];
  const ways = asked.map(([q, words]) => { const rare = rarity(words); return {q, words, rare, total: rare.reduce((a, b) => a + b, 0)}; });
  const all = !words.length ? [] : places.map(p => [Math.min(...ways.map((way, k) => rank(p, way) + !!k * .6)) + /^(table|file) /.test(p.note) * .1 - /^figure /.test(p.note) * .05, p.title.length, p]).filter(r => r[0] < 8.9).sort((a, b) => a[0] - b[0] || a[1] - b[1]).map(r => r[2]);
  // A place stands once, by what fits best.
  const once = new Set(), found = all.filter(p => !once.has(p.href) && once.add(p.href)).slice(0, 20);
  find.classList.toggle("busy", words.length > 0);
  hits.replaceChildren(...found.map(p => {
    const li = document.createElement("li"), a = document.createElement("a"), small = document.createElement("small");
    a.href = p.href; a.textContent = p.title; small.textContent = p.note; a.append(small); li.append(a);
    return li;
  }));
  const other = right === typed ? "" : ` for \u201c${right}\u201d`;
  told.classList.toggle("sr", found.length > 0 && !other || !words.length);
  told.textContent = words.length ? (found.length ? `${found.length} found` : "Nothing found") + other : "";
};
find.onkeydown = e => {
  const stops = [input, ...$$("a", hits)], at = stops.indexOf(document.activeElement);
  const step = {ArrowDown: 1, ArrowUp: -1}[e.key];
  if (step && stops[at + step]) { stops[at + step].focus(); e.preventDefault(); }
  if (e.key === "Enter" && at === 0 && stops[1]) stops[1].click();
  if (e.key === "Escape") { input.value = ""; input.oninput(); input.focus(); }
};
addEventListener("keydown", e => {
  if (e.key !== "/" || e.ctrlKey || e.metaKey || e.target.closest("input,select,textarea")) return;
  e.preventDefault(); side.open = true; input.focus();
});

// Explanations on hover, focus, tap; Escape hides them.
const tip = document.createElement("div");
tip.id = "tip"; tip.setAttribute("role", "tooltip"); tip.hidden = true; document.body.append(tip);
let shown = null;
const hide = () => { tip.hidden = true; if (shown) shown.removeAttribute("aria-describedby"); shown = null; };
const show = e => {
  hide(); shown = e; tip.textContent = e.dataset.tip; tip.hidden = false;
  e.setAttribute("aria-describedby", "tip");
  const at = e.getBoundingClientRect(), box = tip.getBoundingClientRect();
  tip.style.left = Math.max(8, Math.min(at.left, root.clientWidth - box.width - 8)) + "px";
  tip.style.top = (at.bottom + box.height + 8 < innerHeight ? at.bottom + 6 : at.top - box.height - 6) + "px";
};
$$(".term").forEach(e => {
  e.dataset.tip = e.title; e.removeAttribute("title");
  let touch = false;
  e.onpointerdown = p => touch = p.pointerType === "touch" && shown !== e;
  e.onpointerenter = p => { if (p.pointerType !== "touch") show(e); };
  e.onpointerleave = p => { if (p.pointerType !== "touch") hide(); };
  e.onfocus = () => show(e); e.onblur = hide;
  e.onclick = c => { if (touch) { c.preventDefault(); show(e); } };
});
addEventListener("keydown", e => { if (e.key === "Escape") hide(); });
addEventListener("scroll", hide, {passive: true});

// Claims by paper, verdict and word.
$$(".filters").forEach(form => {
  const claims = $$("li[data-verdict]", form.parentElement), out = $("output", form);
  const text = claims.map(c => c.textContent.toLowerCase());
  form.hidden = false; form.onsubmit = () => false;
  form.oninput = () => {
    const {paper, verdict, word} = Object.fromEntries(new FormData(form));
    const words = word.toLowerCase().split(/\s+/).filter(Boolean);
    claims.forEach((c, k) => c.hidden = !!(paper && c.dataset.paper !== paper || verdict && c.dataset.verdict !== verdict || words.some(w => !text[k].includes(w))));
    $$(".paper", form.parentElement).forEach(p => p.hidden = !$("li[data-verdict]:not([hidden])", p));
    out.textContent = `${claims.filter(c => !c.hidden).length} of ${claims.length}`;
  };
  form.oninput();
});

// Tables sort by a click and are narrowed by a word; groups keep their rows, and fold in long tables.
const size = cell => {
  const text = (cell ? ($("span", cell) || cell).textContent : "").replace(/[\s,]/g, "").replace(/\u2212/g, "-");
  const found = text.match(/^[^\d\-+.]*([-+]?[\d.]+)/);
  return found ? parseFloat(found[1]) : NaN;
};
$$("main .sheet table").forEach(table => {
  const bodies = [...table.tBodies], rows = bodies.map(b => [...b.rows].filter(r => !r.matches(".group")));
  if (rows.flat().length < 3) return;
  let by = -1, turn = 0;
  $$("thead th", table).forEach((th, k) => {
    const button = document.createElement("button");
    button.type = "button"; button.className = "sort"; button.textContent = "\u2195";
    button.setAttribute("aria-label", `Sort by ${th.textContent.trim()}`);
    button.onclick = () => {
      turn = by === k ? (turn + 1) % 3 : 1; by = k;
      $$("thead th", table).forEach(e => e.removeAttribute("aria-sort"));
      if (turn) th.setAttribute("aria-sort", turn === 1 ? "descending" : "ascending");
      rows.forEach((some, b) => {
        const order = turn ? [...some].sort((x, y) => {
          const [p, q] = [size(x.cells[k]), size(y.cells[k])], sign = turn === 1 ? 1 : -1;
          if (k && !isNaN(p + q)) return sign * (q - p);
          if (k && isNaN(p) !== isNaN(q)) return isNaN(p) ? 1 : -1;
          return -sign * (x.cells[k]?.textContent || "").localeCompare(y.cells[k]?.textContent || "");
        }) : some;
        bodies[b].append(...order);
      });
    };
    th.append(button);
  });
  const groups = bodies.filter(b => $(".group th", b));
  if (groups.length > 2 && rows.flat().length > 20) groups.forEach((body, k) => {
    const th = $(".group th", body), button = document.createElement("button");
    const set = open => { body.classList.toggle("closed", !open); button.setAttribute("aria-expanded", open); };
    button.type = "button"; button.className = "folds"; button.append(...th.childNodes);
    button.append(` (${body.rows.length - 1})`);
    button.onclick = () => set(body.classList.contains("closed"));
    th.append(button); set(!k);
  });
  if (rows.flat().length < 9) return;
  const pick = document.createElement("input");
  pick.type = "search"; pick.className = "pick"; pick.placeholder = "Only rows with"; pick.setAttribute("aria-label", `Only rows of ${table.caption.textContent} with`);
  pick.oninput = () => { groups.forEach(b => { if (b.matches(".closed")) $(".folds", b).click(); }); rows.flat().forEach(r => r.hidden = !r.textContent.toLowerCase().includes(pick.value.toLowerCase())); };
  table.closest(".scroll").before(pick);
});

// Only what scrolls is a stop of the keyboard; in print all folds are open.
const watch = new ResizeObserver(all => all.forEach(({target: e}) => {
  if (e.scrollWidth > e.clientWidth + 1) e.tabIndex = 0; else e.removeAttribute("tabindex");
}));
$$(".scroll").forEach(e => watch.observe(e));
let opened = [];
addEventListener("beforeprint", () => { opened = $$("main details:not([open])"); opened.forEach(d => d.open = true); });
addEventListener("afterprint", () => opened.forEach(d => d.open = false));
})();
