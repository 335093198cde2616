(() => {
const $ = (s, e = document) => e.querySelector(s), $$ = (s, e = document) => [...e.querySelectorAll(s)];
const root = document.documentElement;

// Light and dark: the reader's system decides until a button was pressed.
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
const here = $("#list [aria-current=page]"), nav = $("#contents");
if (here && wide.matches && here.offsetTop > innerHeight * .7) nav.scrollTop = here.offsetTop - innerHeight / 3;

// Search over the pages and the headings of this one.
const find = $("#find"), input = $("input", find), hits = $("ul", find), told = $("p", find);
const places = JSON.parse($("#places").textContent).map(([title, href, note, words]) => ({title, href, note, words: `${title} ${note} ${words}`.toLowerCase()}));
$$("main :is(h2,h3,h4)[id]").forEach(h => places.push({title: h.textContent, href: "#" + h.id, note: "on this page", words: h.textContent.toLowerCase()}));
find.hidden = false;
input.oninput = () => {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  const rank = p => words.every(w => p.title.toLowerCase().includes(w)) ? 0 : 1;
  const found = words.length ? places.filter(p => words.every(w => p.words.includes(w))).sort((a, b) => rank(a) - rank(b)).slice(0, 20) : [];
  find.classList.toggle("busy", words.length > 0);
  hits.replaceChildren(...found.map(p => {
    const li = document.createElement("li"), a = document.createElement("a"), small = document.createElement("small");
    a.href = p.href; a.textContent = p.title; small.textContent = p.note; a.append(small); li.append(a);
    return li;
  }));
  told.classList.toggle("sr", found.length > 0 || !words.length);
  told.textContent = words.length ? (found.length ? `${found.length} found` : "Nothing found") : "";
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

// Explanations on hover, focus and tap; Escape hides them.
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

// Only what scrolls is a stop of the keyboard; in print all folds are open.
const watch = new ResizeObserver(all => all.forEach(({target: e}) => {
  if (e.scrollWidth > e.clientWidth + 1) e.tabIndex = 0; else e.removeAttribute("tabindex");
}));
$$(".scroll").forEach(e => watch.observe(e));
let opened = [];
addEventListener("beforeprint", () => { opened = $$("main details:not([open])"); opened.forEach(d => d.open = true); });
addEventListener("afterprint", () => opened.forEach(d => d.open = false));
})();
