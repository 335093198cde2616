// What is asked of a page that is open in a browser; see pages.py.
const probes = {
  // Elements that stick out of the page, but for what scrolls inside a region of its own.
  overflow() {
    const wide = document.documentElement.clientWidth, out = [];
    const page = document.documentElement.scrollWidth;
    if (page > wide) out.push(`page to ${page}`);
    for (const e of document.querySelectorAll("body *")) {
      const box = e.getBoundingClientRect();
      if (!box.width || !box.height || box.right <= wide + 1) continue;
      if (e.closest("svg,.scroll,.sr,.skip")) continue;
      out.push(`${e.tagName.toLowerCase()}.${e.className} to ${Math.round(box.right)}`);
    }
    return out.slice(0, 5);
  },

  // Text of figures against what it stands on: shapes below it, or the page.
  contrast() {
    const parse = c => (c.match(/[\d.]+/g) || []).map(Number);
    const luminance = colour => {
      const [r, g, b] = colour.map(v => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
      return .2126 * r + .7152 * g + .0722 * b;
    };
    const ratio = (a, b) => {
      const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p);
      return (x + .05) / (y + .05);
    };
    const over = (top, alpha, low) => top.map((v, k) => alpha * v + (1 - alpha) * low[k]);
    const shapes = ["path", "rect", "use", "circle", "polygon"], bad = [];
    for (const text of document.querySelectorAll("svg text")) {
      const box = text.getBoundingClientRect(), svg = text.closest("svg");
      if (!box.width || !text.textContent.trim()) continue;
      let ground = [255, 255, 255];
      for (let e = text; e; e = e.parentElement) {
        const c = parse(getComputedStyle(e).backgroundColor);
        if (c.length === 3 || c[3] > 0) { ground = c.slice(0, 3); break; }
      }
      const x = box.left + box.width / 2, y = box.top + box.height / 2;
      const below = document.elementsFromPoint(x, y).filter(e => e.closest("svg") === svg).reverse();
      // Not in sight, or on a picture, whose colours are its own.
      if (!below.includes(text) || below.some(e => e.tagName === "image")) continue;
      for (const shape of below) {
        if (!shapes.includes(shape.tagName)) continue;
        if (!(shape.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_FOLLOWING)) continue;
        const style = getComputedStyle(shape);
        if (style.fill === "none") continue;
        ground = over(parse(style.fill).slice(0, 3), style.fillOpacity * style.opacity, ground);
      }
      const found = ratio(parse(getComputedStyle(text).fill).slice(0, 3), ground);
      if (found < 4.5) bad.push(`${text.textContent.trim()}: ${found.toFixed(2)}`);
    }
    return bad.slice(0, 5);
  },

  // All headings as level and text; targets of all links; folds open; two frames later; height of the page.
  headings: () => [...document.querySelectorAll("h1,h2,h3,h4,h5,h6")].map(h => [+h.tagName[1], h.textContent]),
  links: () => [...document.querySelectorAll("a[href]")].map(a => a.getAttribute("href")),
  unfold: () => document.querySelectorAll("main details").forEach(d => { d.open = true; }),
  settled: () => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))),
  height: () => document.documentElement.scrollHeight,

  // Findings of axe-core in the page or a part of it, by all rules or in
  // colours alone: rule, what it asks for, where. Texts of one look on one ground have one contrast,
  // which is what takes time: it is asked of the first of each in sight in a page.
  async axe(within = null, colours = false) {
    const looks = self.looks ||= new Set(), grounds = new Map(), ask = {resultTypes: ["violations"]};
    const ground = e => {
      if (!e) return "";
      if (!grounds.has(e)) {
        const {backgroundColor, backgroundImage, opacity, position} = getComputedStyle(e);
        const own = [backgroundColor, backgroundImage, opacity, position].join(" ");
        const plain = own === "rgba(0, 0, 0, 0) none 1 static";
        grounds.set(e, ground(e.parentElement) + (plain ? "" : `>${e.tagName} ${own}`));
      }
      return grounds.get(e);
    };
    const before = looks.size;
    for (const e of (within ? document.querySelector(within) : document.body).querySelectorAll("*")) {
      const told = [...e.childNodes].some(one => one.nodeType === Node.TEXT_NODE && one.data.trim());
      const {color, fontSize, fontWeight, textShadow, display} = getComputedStyle(e);
      const look = [e.tagName, e.getAttribute("class"), color, fontSize, fontWeight, textShadow, display];
      const known = looks.size;
      const seen = (told || e.matches("input, select, textarea")) && e.checkVisibility();
      if (seen) looks.add(`${ground(e)} ${look.join(" ")}`);
      e.toggleAttribute("data-asked", looks.size > known);
    }
    const found = [];
    if (looks.size > before) {
      found.push(await axe.run("[data-asked]", {...ask, runOnly: ["color-contrast"]}));
    }
    if (!colours) {
      const rules = {"color-contrast": {enabled: false}};
      found.push(await axe.run(within ?? document, {...ask, rules}));
    }
    const violations = found.flatMap(one => one.violations);
    return violations.map(v => `${v.id} (${v.help}): ${v.nodes.slice(0, 3).map(n => n.html.slice(0, 160)).join("; ")}`);
  },
};
